#!/usr/bin/env bash
# Links and spelling of the pages: documents_test.sh ROOT. First that scripts/check_documents.py finds what is wrong
# on a page made up, then that it finds nothing in ROOT.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$1"

wrong=$(mktemp -d)
trap 'rm -rf "$wrong"' EXIT
mkdir "$wrong/doc"
echo requantization >"$wrong/doc/words.txt"
cat >"$wrong/README.md" <<'PAGE'
# One heading: `code` & more

Right: [here](#one-heading-code--more), [there](doc/NAME.md#second), [twice](doc/NAME.md#second-1),
![the picture](doc/words.txt), requantization, colour and color, `no_wurd`, AVX512.

    indented wurd [no](link.md)

Wrong: [file](doc/NO_NAME.md), [heading](doc/NAME.md#third), [own](#nowhere), ![one](none.svg), <img src="none.png">.
Also wrong: a requantizzation.

| head | of a table |
| --- | --- |
| a | row |

| a row | behind an empty line |
PAGE
printf '# Page\n\n## Second\n\n## Second\n\n```text\nwurd\n```\n\n[up](../README.md#page)\n' >"$wrong/doc/NAME.md"

if found=$(scripts/check_documents.py "$wrong"); then
    echo "documents_test.sh: a page with mistakes passes" >&2
    exit 1
fi
expected="README.md:8: the link #nowhere names no heading
README.md:8: the link doc/NAME.md#third names no heading
README.md:8: the link doc/NO_NAME.md names no file
README.md:8: the link none.png names no file
README.md:8: the link none.svg names no file"
if ! grep -q 'spelling is not checked' <<<"$found"; then
    expected+="
README.md:9: 'requantizzation' is misspelled, or a term that doc/words.txt lacks"
fi
expected+="
README.md:15: a row outside of a table
doc/NAME.md:11: the link ../README.md#page names no heading"
diff <(grep -v 'spelling is not checked' <<<"$found") <(echo "$expected")

scripts/check_documents.py .
