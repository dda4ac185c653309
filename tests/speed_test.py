#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/speed.py with commands whose times are written down here: which rows it calls slower, what it leaves out,
its exit code, and its probabilities against a table of Student's t. No time is measured. speed_test.py SOURCE"""

import json
import os
import re
import subprocess
import sys
import tempfile

source = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
sys.path.insert(0, os.path.join(source, "scripts"))
import speed  # noqa: E402

# (t, degrees of freedom): the value that Student's t exceeds with this probability
for t, freedom, chance in ((6.3138, 1, 0.05), (2.9200, 2, 0.05), (2.3534, 3, 0.05), (2.1318, 4, 0.05),
                           (4.0321, 5, 0.005), (2.0096, 49, 0.025), (1.6602, 100, 0.05), (0.0, 7, 0.5),
                           (-2.1318, 4, 0.95)):
    assert abs(speed.beyond(t, freedom) - chance) < 2e-5, (t, freedom, speed.beyond(t, freedom))
assert speed.by_holm([0.01, None, 0.04, 0.02]) == [0.03, None, 0.04, 0.04]
assert speed.by_holm([0.9, 0.8]) == [1.0, 1.0]

# A command that gives its n-th run the n-th line of a file: {row: (microseconds, peak)}.
COMMAND = """#!/usr/bin/env python3
import json, os, sys
here = os.path.splitext(sys.argv[0])[0]
assert sys.argv[1] == "bench" and sys.argv[2:4] == ["--shapes", "a b.csv"], sys.argv
with open(here + ".json") as file:
    runs = json.load(file)
count = os.path.getsize(here + ".count") if os.path.exists(here + ".count") else 0
open(here + ".count", "a").write(".")
with open(sys.argv[sys.argv.index("--csv") + 1], "w") as file:
    print("table,name,threads,caches,microseconds,peak_gops", file=file)
    for name, (time, peak) in runs[count % len(runs)].items():
        print("layers", name, 1, "warm", time, peak, sep=",", file=file)
"""


def measured(old, new, *options, lists=1):
    """Exit code and table of commands with these runs."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("old", "new")]
        for path, runs in zip(paths, (old, new)):
            with open(path, "w") as file:
                file.write(COMMAND)
            os.chmod(path, 0o755)
            with open(path + ".json", "w") as file:
                json.dump(runs, file)
        done = subprocess.run([os.path.join(source, "scripts", "speed.py"), *options, *paths,
                               *["--shapes 'a b.csv'"] * lists], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def row(table, name):
    return next(line for line in table.splitlines() if line.startswith(f"layers {name} "))


PEAK = 100
noise = [100, 101, 99, 100.5, 99.5, 100]
old = [{"same": (t, PEAK), "slower": (t, PEAK), "faster": (t, PEAK), "hit": (t, PEAK)} for t in noise]
new = [{"same": (t, PEAK), "slower": (1.05 * t, PEAK), "faster": (0.9 * t, PEAK), "hit": (t, PEAK)}
       for t in noise[2:] + noise[:2]]
for run in new[:2]:
    run["hit"] = (200, 0.5 * PEAK)  # while something else ran

code, table = measured(old, new, "--rounds", "12")
assert code == 1, table
assert row(table, "slower").endswith("12 of 12  SLOWER") and " 0.952 " in row(table, "slower"), table
assert row(table, "same").endswith("12 of 12") and row(table, "faster").endswith("12 of 12"), table
assert row(table, "hit").endswith(" 8 of 12") and "SLOWER" not in row(table, "hit"), table
code, table = measured(old, new, "--report", "--rounds", "12")
assert code == 0 and "SLOWER" in table, table
code, table = measured(old, old, "--rounds", "6")
assert code == 0 and "SLOWER" not in table and "geometric mean of old/new: 1.000 (4 rows" in table, table

# A single long time is a disturbance though the peak beside it is not low; all times longer are a slower build.
code, table = measured(old, old[:5] + [{**old[5], "hit": (150, PEAK)}], "--rounds", "12")
assert code == 0 and row(table, "hit").endswith("10 of 12"), table
code, table = measured(old, [{**run, "hit": (150 + i, PEAK)} for i, run in enumerate(old)], "--rounds", "12")
assert code == 1 and row(table, "hit").endswith("12 of 12  SLOWER"), table

# Too few rounds are left: no verdict. A bound in seconds ends after the fourth round.
for run in new[:4]:
    run["hit"] = (200, 0.5 * PEAK)
code, table = measured(old, new, "--seconds", "0.001", "--report")
assert code == 0 and row(table, "same").endswith(" 4 of 4"), table
half = [{"hit": (100, PEAK if i < 3 else 0.5 * PEAK)} for i in range(5)]
code, table = measured(half, half, "--rounds", "5")
assert code == 0 and row(table, "hit").endswith("3 of 5  too disturbed"), table

code, table = measured(old, new, "--rounds", "3")
assert code == 2 and "--rounds is 3, allowed: 4 and more" in table, table
code, table = measured([{"a": (1, 1)}], [{"b": (1, 1)}], "--rounds", "4")
assert code == 1 and "no row in common" in table, table
code, table = measured(old, new, "--rounds", "4", lists=2)
assert code == 1 and re.search("the row 'layers [a-z]+' is in two lists", table), table
done = subprocess.run([os.path.join(source, "scripts", "speed.sh"), "no-such-commit"], capture_output=True, text=True)
assert done.returncode == 2 and "BASE is 'no-such-commit', allowed: a commit" in done.stderr, done
print("speed: probabilities, slower rows, disturbed samples, refusals")
