"""What a newcomer does with the files of a release: installs them away from the sources and runs the README's examples.

    crates    an empty Cargo project, `cargo add --path` of the packaged library, the README's Rust example with its
              output; then the other packaged crates beside it, as they need each other
    sdist     a fresh virtual environment, Rust, and no network: the README's Python example and release/smoke.py
    wheels    the same with the wheel for this machine, and no Rust on the path

Usage: python3 release/try.py [crates] [sdist] [wheels]     what is in dist/; all by default
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.documents import pages  # noqa: E402

DIST = ROOT / "dist"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
CRATES = ["appropo", "appropo-file", "appropo-run", "appropo-experiments", "appropo-cli"]


def run(*command, **options):
    print("release:", *command, file=sys.stderr, flush=True)
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def readme(language):
    """The README's example in a language."""
    return next(block for block in pages.blocks(ROOT / "README.md") if block.language == language)


def crates(place):
    for name in CRATES:
        shutil.unpack_archive(DIST / f"crates/{name}-{VERSION}.crate", place, "gztar")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release-trial"
    # Those that are not published yet are found beside each other.
    patches = [f"--config=patch.crates-io.{name}.path='{place}/{name}-{VERSION}'" for name in CRATES]
    project = place / "first"
    run("cargo", "new", "--quiet", "--vcs", "none", project)
    run("cargo", "add", "--quiet", "--path", f"../appropo-{VERSION}", cwd=project)
    example = readme("rust")
    (project / "src/main.rs").write_text(example.text)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    done = run("cargo", "run", "--quiet", "--release", cwd=project, env=environment, stdout=subprocess.PIPE)
    print(done.stdout, end="")
    pages.compare(ROOT / "README.md", example, done.stdout, "the example in Rust", False)
    for name in CRATES[1:]:
        run("cargo", *patches, "add", "--quiet", "--path", f"../{name}-{VERSION}", cwd=project)
    run("cargo", *patches, "check", "--quiet", "--release", cwd=project, env=environment)


def python_example(python, path, place):
    """The README's Python example and the smoke test, by a Python, with a search path, in an empty folder."""
    place.mkdir()
    (place / "example.py").write_text(readme("python").text)
    environment = {**os.environ, "PATH": path}
    done = run(python, "example.py", cwd=place, env=environment, stdout=subprocess.PIPE)
    print(done.stdout, end="")
    assert "<Result: feasible at level 0.95" in done.stdout, "the README's example found nothing"
    assert (place / "report.html").is_file(), "the README's example wrote no report"
    run(python, ROOT / "release/smoke.py", cwd=place, env=environment)


def environment_with(place, *packages):
    """The Python of a fresh virtual environment with some packages."""
    run(sys.executable, "-m", "venv", place / "venv")
    python = place / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return python


def sdist(place):
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())
    python = environment_with(
        place, *needs["build-system"]["requires"], *needs["project"]["optional-dependencies"]["gymnasium"]
    )
    # A network of its own with nothing in it, where the system allows that; Cargo is offline in any case.
    alone = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True).returncode:
        alone = []
    path = f"{place}/venv/bin:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CARGO_NET_OFFLINE": "true", "CARGO_HOME": str(place / "cargo")}
    environment.pop("CARGO_TARGET_DIR", None)
    pip = [python, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps"]
    run(*alone, *pip, DIST / f"appropo-{VERSION}.tar.gz", env=environment)
    python_example(python, path, place / "work")


def wheels(place):
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())
    python = environment_with(place, *needs["project"]["optional-dependencies"]["gymnasium"])
    pip = [python, "-m", "pip", "install", "--no-index", "--no-deps", "--only-binary=:all:"]
    run(*pip, "--find-links", DIST, "appropo")
    path = f"{place}/venv/bin:/usr/bin:/bin"
    if found := shutil.which("rustc", path=path):
        print(f"release: Rust is on every path of this machine ({found})", file=sys.stderr)
    python_example(python, path, place / "work")


def main():
    steps = {"crates": crates, "sdist": sdist, "wheels": wheels}
    for name in sys.argv[1:] or steps:
        with tempfile.TemporaryDirectory() as place:
            steps[name](Path(place).resolve())
        print(f"release: {name}: works", file=sys.stderr)


if __name__ == "__main__":
    main()
