#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The software bill of materials of a release, as SPDX 2.3 in JSON: sbom.py VERSION CREATED [FILE…] >
octet-VERSION.spdx.json.

What Octet is built with is the table of THIRD_PARTY.md and nothing else. The files of the release come with
their checksums. CREATED is the time of the release's commit, so that two runs give equal bytes.
"""

import hashlib
import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
RELATIONS = {"compiled in": "STATIC_LINK", "linked": "DYNAMIC_LINK", "needed by": "DEPENDS_ON",
             "tests only": "TEST_DEPENDENCY_OF"}
LICENCES = {"libpng-2.0", "IJG", "MIT", "Zlib", "BSL-1.0", "BSD-3-Clause", "Apache-2.0"}


def third_party():
    """(name, version, licence, how it becomes part of a binary) of each library; cells with several names
    have a value each, or one."""
    with open(os.path.join(ROOT, "THIRD_PARTY.md")) as file:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in file
                if line.startswith("|")][2:]
    for names, versions, licences, how, _ in rows:
        names, versions, licences = (re.split(", *", cell) for cell in (names, versions, licences))
        for i, name in enumerate(names):
            version = versions[i if len(versions) == len(names) else 0]
            licence = [licences[i]] if len(names) > 1 and len(licences) == len(names) else licences
            assert set(licence) <= LICENCES, f"THIRD_PARTY.md: {name}: {licence} is no SPDX licence"
            yield name, version, " AND ".join(licence), how


def identifier(*words):
    return "SPDXRef-" + re.sub("[^A-Za-z0-9.-]+", "-", "-".join(words))


def main():
    version, created, *paths = sys.argv[1:]
    octet = identifier("Package", "octet")
    packages = [{"SPDXID": octet, "name": "octet", "versionInfo": version, "licenseConcluded": "Apache-2.0",
                 "licenseDeclared": "Apache-2.0",
                 "copyrightText": "Copyright 2026 The Octet developers", "downloadLocation": "NOASSERTION",
                 "filesAnalyzed": False}]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": octet}]
    for name, its_version, licence, how in third_party():
        own = identifier("Package", name, its_version)
        packages.append({"SPDXID": own, "name": name, "versionInfo": its_version, "licenseConcluded": licence,
                         "licenseDeclared": licence,
                         "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
                         "filesAnalyzed": False, "comment": how})
        kind = next(kind for word, kind in RELATIONS.items() if word in how)
        ends = (own, octet) if kind.endswith("_OF") else (octet, own)
        relations.append({"spdxElementId": ends[0], "relationshipType": kind, "relatedSpdxElement": ends[1]})
    files = []
    for path in sorted(paths, key=os.path.basename):
        with open(path, "rb") as file:
            content = file.read()
        own = identifier("File", os.path.basename(path))
        files.append({"SPDXID": own, "fileName": os.path.basename(path), "licenseConcluded": "NOASSERTION",
                      "copyrightText": "NOASSERTION",
                      "checksums": [{"algorithm": name,
                                     "checksumValue": hashlib.new(name.lower(), content).hexdigest()}
                                    for name in ("SHA1", "SHA256")]})
        relations.append({"spdxElementId": own, "relationshipType": "GENERATED_FROM", "relatedSpdxElement": octet})
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": f"octet-{version}",
               "documentNamespace": f"https://spdx.org/spdxdocs/octet-{version}-"
                                    f"{hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]}",
               "creationInfo": {"created": created, "creators": ["Tool: octet-sbom"]},
               "packages": packages, "files": files, "relationships": relations}, sys.stdout, indent=1)
    print()


main()
