"""The bill of materials of the program as CycloneDX JSON: each crate with licence and checksum, and what uses what.

It is made of `cargo metadata` and Cargo.lock alone, so that the same commit gives the same file.

Usage: release/sbom.py PACKAGE TARGET > FILE
"""

import json
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def main():
    root_name, target = sys.argv[1:]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    data = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    lock = tomllib.loads(Path("Cargo.lock").read_text())
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root = next(package["id"] for package in data["packages"] if package["name"] == root_name)
    # What is needed to build and to run, and not what only tests use.
    used, waiting, arrows = set(), [root], {}
    while waiting:
        one = waiting.pop()
        if one in used:
            continue
        used.add(one)
        kinds = {dep["pkg"] for dep in nodes[one]["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])}
        arrows[one] = sorted(kinds)
        waiting.extend(kinds)

    def component(package):
        checksum = checksums.get((package["name"], package["version"]))
        licence = package["license"] and package["license"].replace("/", " OR ").replace("  ", " ")
        return {
            "type": "application" if package["id"] == root else "library",
            "bom-ref": reference(package),
            "name": package["name"],
            "version": package["version"],
            **({"description": " ".join(package["description"].split())} if package["description"] else {}),
            **({"licenses": [{"expression": licence}]} if licence else {}),
            **({"hashes": [{"alg": "SHA-256", "content": checksum}]} if checksum else {}),
            "purl": reference(package),
        }

    order = sorted(used, key=lambda one: reference(packages[one]))
    content = {
        "metadata": {"component": component(packages[root])},
        "components": [component(packages[one]) for one in order if one != root],
        "dependencies": [
            {"ref": reference(packages[one]), "dependsOn": [reference(packages[to]) for to in arrows[one]]}
            for one in order
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    print(json.dumps({**head, **content}, indent=1))


if __name__ == "__main__":
    main()
