#!/bin/sh
# The documentation site, in target/site: the book with search, the notebooks with their outputs, and the references of both
# languages. Nothing is fetched once site/requirements.txt is installed and the crates are there.
#
# Usage: site/build.sh            build it
#        site/build.sh check      look at what was built: links, and every page in Chromium at two widths
# It needs the package in target/venv: crates/appropo-py/tests/run.sh build.
# Exit status: 0 all is well, 1 something is wrong, 3 no set-up.
set -eu

cd "$(dirname "$0")/.."
. tests/environment.sh
site=$target/site

if [ "${1-}" = check ]; then
    exec python site/check.py "$site"
fi

tools=$target/site-venv
if ! cmp -s site/requirements.txt "$tools/requirements.txt"; then
    echo "site: installing site/requirements.txt in $tools" >&2
    python3 -m venv --clear "$tools" >&2 || exit 3
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --requirement site/requirements.txt >&2 || exit 3
    cp site/requirements.txt "$tools/requirements.txt"
fi

version=$(sed -n 's/^version = "\([0-9]*\.[0-9]*\).*/\1/p' Cargo.toml | head -n 1)
SITE_SOURCE=$target/site-source SITE_OUTPUT=$site/$version
export SITE_SOURCE SITE_OUTPUT
python site/source.py "$SITE_SOURCE"
cargo doc --quiet --offline --no-deps --lib --package appropo --package appropo-file --package appropo-run
# The site's links to the Rust reference are checked with the site, so it is there before.
rm -rf "$SITE_OUTPUT"
cp -r "$target/doc" "$SITE_SOURCE/reference/rust"
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --quiet --strict --config-file site/mkdocs.yml

# All versions that are there, the newest first, for the selector; the front door leads to the newest.
python - "$site" <<'PYTHON'
import json, sys
from pathlib import Path

site = Path(sys.argv[1])
names = sorted((p.name for p in site.iterdir() if (p / "index.html").exists()), key=lambda v: [*map(int, v.split("."))])[::-1]
versions = [{"version": v, "title": v, "aliases": ["latest"] if v == names[0] else []} for v in names]
(site / "versions.json").write_text(json.dumps(versions))
to = f"{names[0]}/index.html"
(site / "index.html").write_text(
    f'<!doctype html><meta charset="utf-8"><title>appropo</title><meta http-equiv="refresh" content="0; url={to}">'
    f'<a href="{to}">The documentation of appropo</a>\n'
)
PYTHON
echo "$SITE_OUTPUT/index.html"
