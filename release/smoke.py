"""That an installed package works with nothing but NumPy beside it: `python release/smoke.py` away from the sources."""

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import appropo as ap

# An extension that is not made for it gives a free-threaded Python its lock back.
assert not (sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled()), "the extension wants the lock"

problem = ap.Problem(
    env="mars-rover",
    constraints=[ap.measure("failure") <= 0.2, ap.measure("reward") >= -0.17],
    discount=0.99,
)
planned = ap.solve(problem)
assert planned.verdict == "feasible" and planned.measurements["failure"] <= 0.2 + 1e-6, planned
assert abs(ap.maximize(problem, "reward").value - -0.11100520) < 1e-6
learnt = ap.solve("cart-pole", samples=20_000)
assert learnt.samples > 0 and learnt.policy.predict([0.0, 0.0, 0.0, 0.0])
with tempfile.TemporaryDirectory() as place:
    folder = Path(place) / "run"
    planned.save(folder)
    assert "verified: feasible" in ap.load(folder).verify()
    for command in (["--version"], ["verify", str(folder)], ["report", str(folder)]):
        subprocess.run([sys.executable, "-m", "appropo", *command], check=True, stdout=subprocess.DEVNULL)
    assert (folder / "report.html").is_file()
print(f"appropo {ap.__version__} works on Python {sys.version.split()[0]}, {sys.platform}")
