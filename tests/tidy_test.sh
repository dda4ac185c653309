#!/usr/bin/env bash
# scripts/tidy.sh fails where it should, in a repository of three commits: a silence that nothing breaks would prove
# nothing. Usage: tidy_test.sh SOURCE_DIRECTORY
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source=$(cd "$1" && pwd)
command -v clang-tidy-diff >/dev/null || { echo "clang-tidy is missing"; exit 77; }
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test \
    GIT_COMMITTER_EMAIL=test@example.org
unset OCTET_TIDY_BASE
git init -q
cp "$source/.clang-tidy" .
mkdir src

commit() {
    printf '%s\n' "$@" >src/a.cpp
    git add . && git commit -q -m change
}
tidy() { OCTET_TIDY_SOURCE=$directory "$source/scripts/tidy.sh" >said 2>&1; }
must_find() {
    ! tidy || { cat said; echo "tidy.sh passes, though it should find $1"; exit 1; }
    grep -q "$1" said || { cat said; echo "tidy.sh does not name $1"; exit 1; }
}
must_pass() { tidy || { cat said; echo "tidy.sh fails $1"; exit 1; }; }

commit 'int *BadOldName() { return 0; }' # before the base: nobody's change
commit 'int *BadOldName() { return 0; }' '' 'int one() { return 1; }'
must_pass "for a line that did not change"
commit 'int *BadOldName() { return 0; }' '' 'int one() { return 1; }' '' 'int *two() { return 0; }'
must_find modernize-use-nullptr
commit 'int *BadOldName() { return 0; }' '' 'int one() { return 1; }' '' 'int NewName() { return 2; }'
must_find readability-identifier-naming
commit 'int one() { return 1; }' 'int two() { return missing; }'
must_find 'undeclared identifier'
commit 'int one() { return 1; }'
must_pass "once all is mended"
