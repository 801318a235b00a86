"""What needs an extra says so where it is missing, and is imported only where it is used."""

import subprocess
import sys

import pytest

PACKAGES = ["gymnasium", "matplotlib", "cvxpy", "stable_baselines3"]


def run(code, without=()):
    """Runs code in a Python that lacks some packages."""
    missing = f"import sys; sys.modules.update(dict.fromkeys({list(without)}))"
    done = subprocess.run([sys.executable, "-c", f"{missing}\n{code}"], capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("import appropo.gym", "gymnasium"),
        ("from appropo import wrappers", "gymnasium"),
        ("ap.gym", "gymnasium"),
        ("ap.wrappers", "gymnasium"),
        ("ap.solve('mars-rover').plot()", "plot"),
        ("ap.Custom.from_cvxpy(None, [])", "cvxpy"),
        ("ap.oracles.SB3(None).bind(0)", "sb3"),
    ],
)
def test_a_missing_extra_is_named(code, extra):
    said = run(f"import appropo as ap\n{code}", without=PACKAGES)
    assert said.splitlines()[-1].startswith("ModuleNotFoundError: ") and f"install appropo[{extra}]" in said


def test_nothing_is_imported_before_it_is_used():
    used = f"print([name for name in {PACKAGES} if name in sys.modules])"
    assert run(f"import appropo as ap\n{used}\nap.gym.World('mars-rover')\nap.wrappers\n{used}").splitlines() == [
        "[]",
        "['gymnasium']",
    ]
    assert "has no attribute 'gim'" in run("import appropo as ap\nap.gim")
