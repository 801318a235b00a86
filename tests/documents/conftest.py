import pytest

# Where two processes run the tests, these pages take longer than all else together.
LONGEST = (
    "docs/reproduce.md",
    "docs/gallery/lander.md",
    "README.md",
    "docs/python/your-environment.md",
    "docs/python/diversity.md",
)


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="write what is printed into README.md and docs/")


def pytest_collection_modifyitems(items):
    """What takes longest is begun first, so that no process waits for another at the end."""
    places = {f"test_a_page_does_what_it_shows[{page}]": place for place, page in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.name, len(LONGEST)))


@pytest.fixture
def update(request):
    return request.config.getoption("--update")
