#!/usr/bin/env python3
"""Counts test cases in meson's testlog.json files: what cmocka says it passed and failed. A program
that says nothing, or dies before it does, counts as one, and so does a missing log. Prints
"N passed, N failed"."""
import json
import os
import re
import sys

passed = failed = 0
for path in sys.argv[1:]:
    if not os.path.exists(path):
        failed += 1
        continue
    with open(path, encoding="utf-8") as log:
        programs = [json.loads(line) for line in log]
    for program in programs:
        output = program.get("stdout", "") + program.get("stderr", "")
        good = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test", output))
        bad = sum(int(n) for n in re.findall(r"\[  FAILED  \] (\d+) test", output))
        is_good = program["result"] in ("OK", "SKIP", "EXPECTEDFAIL")
        passed += good if good or not is_good or program["result"] == "SKIP" else 1
        failed += bad if bad or is_good else 1
print(f"{passed} passed, {failed} failed")
