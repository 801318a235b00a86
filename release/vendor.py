"""Vendors what the Python extension is built of, so that an sdist builds with no network.

Cargo wants every package of the lock file to be there. Those that no platform builds for the extension (optional parts
of dependencies, what only tests use) are there by their manifest alone: they would be two thirds of the whole.

Usage: release/vendor.py FOLDER    in the root of a copy of the sources; writes FOLDER and .cargo/config.toml
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], check=True, capture_output=True, text=True).stdout


def built():
    """The names and versions of all that is built for the extension somewhere."""
    which = ("--package", "appropo-py", "--edges", "normal,build", "--target", "all")
    lines = cargo("tree", "--locked", *which, "--prefix", "none", "--no-dedupe", "--format", "{p}").splitlines()
    return {tuple(line.split()[:2]) for line in lines if line}


def main():
    folder = Path(sys.argv[1])
    config = cargo("vendor", "--locked", "--versioned-dirs", str(folder))
    Path(".cargo").mkdir(exist_ok=True)
    Path(".cargo/config.toml").write_text(config)
    wanted, kept = built(), 0
    for crate in sorted(folder.iterdir()):
        package = tomllib.loads((crate / "Cargo.toml").read_text())["package"]
        if (package["name"], f"v{package['version']}") in wanted:
            kept += 1
            continue
        checksum = json.loads((crate / ".cargo-checksum.json").read_text())
        for path in sorted(crate.rglob("*"), reverse=True):
            if path.is_dir():
                path.rmdir()
            elif path.name not in ("Cargo.toml", ".cargo-checksum.json") or path.parent != crate:
                path.unlink()
        manifest = (crate / "Cargo.toml").read_text()
        # Targets that the manifest names must be there.
        named = [table["path"] for table in targets(tomllib.loads(manifest))]
        for name in named or ["src/lib.rs"]:
            (crate / name).parent.mkdir(parents=True, exist_ok=True)
            (crate / name).write_text("")
        (crate / ".cargo-checksum.json").write_text(json.dumps({**checksum, "files": {}}))
    print(f"vendored {kept} crates, and the manifests of {sum(1 for _ in folder.iterdir()) - kept} that are not built")


def targets(manifest):
    """The tables of a manifest that name a source file."""
    for kind in ("lib", "bin", "example", "test", "bench"):
        tables = manifest.get(kind, [])
        yield from (table for table in (tables if isinstance(tables, list) else [tables]) if "path" in table)
    build = manifest["package"].get("build")
    if isinstance(build, str):
        yield {"path": build}


if __name__ == "__main__":
    main()
