#!/bin/sh
# The files for hosted services: workflows, issue forms and the citation, against their schemas, and the workflows for
# what makes them unsafe. Where actionlint is installed, it has its say, too; hosted CI always asks it.
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
fi
