#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks links, tables and spelling of README.md, the other pages of the root, of doc/, examples/ and of packages:
check_documents.py [--links] [ROOT]

Links: each relative link and picture names a file that is there, each anchor a heading of its page. Sphinx
checks the same of the manual's pages, but not of README.md and its neighbours, of links that leave doc/, and
of pictures in raw HTML. Tables: no row stands apart from its table, behind an empty line. Spelling: hunspell
with its English dictionaries, American and British, knows each word, or doc/words.txt has it. Code is left
out, and so are names: words with digits, underscores or capitals inside. Without hunspell or its dictionaries
spelling is not checked, and a line says so. With --links spelling is left out: of an installed tree, which
has no list of words. Prints FILE:LINE: what is wrong. Exit code 1: something is. tests/documents_test.sh
shows that it can be.
"""

import glob
import os
import re
import subprocess
import sys

LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)|(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
WORD = re.compile(r"[\w'’]+")
NAME = re.compile(r"\d|_|.[A-Z]|[^\x00-\x7f’]")


def prose(path):
    """The lines of a page as (number, text), without blocks of code and comments."""
    fence, comment, was_blank, in_indented = None, False, True, False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            mark = re.match(r"\s*(```+|~~~+)", line)
            if fence or mark:
                if not fence:
                    fence = mark.group(1)
                elif mark and mark.group(1).startswith(fence) and not line.strip().strip("`~"):
                    fence = None
                was_blank = True
                continue
            in_indented = line.startswith("    ") and (was_blank or in_indented)
            was_blank = not line.strip()
            if in_indented:
                continue
            line = re.sub(r"<!--.*?-->", "", line)
            if comment or "<!--" in line:
                comment = "-->" not in line
                continue
            yield number, line.rstrip("\n")


def without_code(text):
    """A line with its inline code blanked."""
    return re.sub(r"(`+)(?:(?!\1).)+\1", " ", text)


def anchor(heading):
    """The anchor that GitHub and MyST give a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def anchors_of(path, known={}):
    """All anchors of a page; a heading that occurs again has -1, -2, … behind it."""
    if path not in known:
        known[path] = set()
        for _, line in prose(path):
            if match := HEADING.match(line):
                name, copies = anchor(match.group(1)), 0
                while name + (f"-{copies}" if copies else "") in known[path]:
                    copies += 1
                known[path].add(name + (f"-{copies}" if copies else ""))
    return known[path]


def broken_links(path):
    """(line, sentence) of each link of a page that leads nowhere."""
    for number, line in prose(path):
        for target in (a or b for a, b in LINK.findall(without_code(line))):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            file, _, name = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(there):
                yield number, f"the link {target} names no file"
            elif name and (not there.endswith(".md") or name not in anchors_of(there)):
                yield number, f"the link {target} names no heading"


def stray_rows(path):
    """(line, sentence) of each row that no head of a table stands above."""
    lines = list(prose(path))
    for i, (number, line) in enumerate(lines):
        if line.startswith("|") and (i == 0 or not lines[i - 1][1].startswith("|")):
            if i + 1 == len(lines) or not re.match(r"\|[ :|-]+\|$", lines[i + 1][1]):
                yield number, "a row outside of a table"


def words_of(path):
    """{word: its first line} of a page."""
    found = {}
    for number, line in prose(path):
        text = re.sub(r"\]\([^)]*\)|<[^>]*>|https?://\S+|\$?\w*[/.]\w+[\w/.]*", " ", without_code(line))
        for word in WORD.findall(text):
            word = re.sub(r"['’]s?$", "", word.strip("'’_"))
            if len(word) > 1 and not NAME.search(word):
                found.setdefault(word, number)
    return found


FOLDERS = (".github", "doc", "examples", "loops", "network", "interop", "serve", "tools")
DICTIONARIES = ["hunspell", "-l", "-i", "utf-8", "-d", "en_US,en_GB"]


def can_spell():
    """Whether hunspell and its dictionaries are there."""
    try:
        return subprocess.run(DICTIONARIES, input="word", capture_output=True, encoding="utf-8").returncode == 0
    except FileNotFoundError:
        return False


def unknown(words, word_list):
    """Those of the words that neither a dictionary nor the list has."""
    with open(word_list, encoding="utf-8") as file:
        own = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    asked = sorted({word for word in words if word not in own and word.lower() not in own})
    found = subprocess.run(DICTIONARIES, input="\n".join(asked), capture_output=True, encoding="utf-8", check=True)
    return set(found.stdout.split())


def main(root, has_words):
    pages = sorted(glob.glob(f"{root}/*.md") + [page for folder in FOLDERS
                                               for page in glob.glob(f"{root}/{folder}/**/*.md", recursive=True)])
    found = [(page, *problem) for page in pages for problem in [*broken_links(page), *stray_rows(page)]]
    if has_words and can_spell():
        words = {page: words_of(page) for page in pages}
        wrong = unknown({word for of_page in words.values() for word in of_page}, f"{root}/doc/words.txt")
        found += [(page, number, f"'{word}' is misspelled, or a term that doc/words.txt lacks")
                  for page, of_page in words.items() for word, number in of_page.items() if word in wrong]
    elif has_words:
        print("hunspell or a dictionary of it is missing: spelling is not checked")
    for page, number, sentence in sorted(found):
        print(f"{os.path.relpath(page, root)}:{number}: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    roots = [word for word in sys.argv[1:] if word != "--links"]
    sys.exit(main(os.path.abspath(roots[0] if roots else "."), "--links" not in sys.argv))
