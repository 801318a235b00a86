import pytest


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="write what is printed into README.md and docs/")


@pytest.fixture
def update(request):
    return request.config.getoption("--update")
