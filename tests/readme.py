#!/usr/bin/env python3
"""Types README's six calls as they stand, against programs of this build, and compares what comes
with what README shows: the same text but for ids, times and numbers. README's base address is the
only thing that is replaced. Usage: readme.py SOURCE BUILD [--print]"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

source, build = sys.argv[1:3]
END = "--end-of-output--"
MASKS = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
    (r"< 0\.0+1", "N"),
    (r"(?<![A-Za-z0-9_=-])-?\d+(\.\d+)?", "N"),
]


def masked(text):
    for pattern, word in MASKS:
        text = re.sub(pattern, word, text)
    return text.strip()


def start(name, *args, **more):
    """Starts a program of the build; the rest of its line "NAME ready on …"."""
    program = subprocess.Popen([f"{build}/{name}", *args], stdout=subprocess.PIPE, text=True, **more)
    line = program.stdout.readline()
    assert line.startswith(f"{name} ready on "), line
    return program, line.split()[-1]


def calls_of_readme():
    """Pairs of a shell block and the output block that follows it."""
    with open(f"{source}/README.md", encoding="utf-8") as readme:
        text = readme.read()
    blocks = re.findall(r"```sh\n(# \d\..*?)```\n```(?:json|text)\n(.*?)```", text, re.S)
    assert len(blocks) == 6, f"README shows {len(blocks)} calls"
    return blocks


def type_them(url, blocks, folder):
    script = "\n".join(f"{shell}\necho; echo {END}" for shell, _ in blocks)
    script = f"api={url}/v1\n" + re.sub(r"^api=.*\n", "", script, flags=re.M)
    done = subprocess.run(["bash", "-eu"], input=script, cwd=folder, timeout=240, text=True,
                          stdout=subprocess.PIPE, check=False)
    return done.stdout.split(END)[:-1]


def compare(blocks, outputs):
    passed = 0
    for number, (_, shown) in enumerate(blocks, 1):
        real = outputs[number - 1] if number <= len(outputs) else ""
        if masked(shown) == masked(real):
            passed += 1
            continue
        print(f"call {number} gives something else than README shows:")
        print("\n".join(difflib.unified_diff(masked(shown).split("\n"), masked(real).split("\n"),
                                             "README", "now", lineterm="", n=1)))
    return passed


def main():
    blocks = calls_of_readme()
    environment = dict(os.environ, SWEETSPOT_SECRET_DEMO="Sweetspot-1")
    programs = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            simulator, address = start("mssqlsim", "--listen", "127.0.0.1:0")
            programs.append(simulator)
            daemon, url = start("sweetspotd", "--config", "/dev/null", "--listen", "127.0.0.1:0",
                                "--state-dir", f"{folder}/state", "--log-level", "warn",
                                env=environment)
            programs.append(daemon)
            host, port = address.rsplit(":", 1)
            instance = (f'{{"host": "{host}", "port": {port}, "login": "sa", "environment": "test",'
                        ' "password": {"env": "SWEETSPOT_SECRET_DEMO"}}')
            subprocess.run(["curl", "-sf", "-X", "PUT", "-o", "/dev/null", "--json", instance,
                            f"{url}/v1/instances/demo"], check=True)
            outputs = type_them(url, blocks, folder)
        finally:
            for program in reversed(programs):
                program.terminate()
            statuses = [program.wait(timeout=60) for program in programs]
    if "--print" in sys.argv:
        for output in outputs:
            print(output.strip() + "\n----")
    passed = compare(blocks, outputs)
    failed = len(blocks) - passed + sum(status != 0 for status in statuses)
    print(f"[  PASSED  ] {passed} test(s).")
    if failed:
        print(f"programs ended with {statuses}\n[  FAILED  ] {failed} test(s), listed above:")
    sys.exit(1 if failed else 0)


main()
