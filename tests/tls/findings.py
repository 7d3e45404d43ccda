#!/usr/bin/env python3
"""Judges what testssl.sh wrote (--jsonfile): findings.py FILE ... Prints what is not in order, what
is exempt and why, and last "T-47: N findings, M medium or above, grade G". Exit status 1 when
anything is of medium severity or above, a check could not be made, something older than TLS 1.2 is
spoken, HSTS is missing, or the grade is below A.

testssl.sh 3.0 gives no grade: then it is worked out here as in the SSL Server Rating Guide (version
2009r) of SSL Labs, from the findings. Later versions give one, and that counts."""
import json
import re
import sys

# Findings about the test and not about the daemon: exactly this id, severity and text.
EXEMPT = [
    ("cert_revocation", "HIGH", r"Neither CRL nor OCSP URI provided",
     "the CA was made a minute ago and publishes nothing; what a certificate names is up to its CA"),
    ("engine_problem", "WARN", r"No engine or GOST support via engine with your .*openssl",
     "the openssl that testssl was given has no GOST; it says nothing about the daemon"),
    ("secure_client_renego", "HIGH", r"VULNERABLE, DoS threat",
     "testssl 3.0 takes a connection that is closed cleanly for one that renegotiated; run has seen it closed"),
]

# What must have been looked at, and what it must say: an absent row is a failure.
REQUIRED = [
    ("SSLv2", r"not offered"),
    ("SSLv3", r"not offered"),
    ("TLS1", r"not offered"),
    ("TLS1_1", r"not offered"),
    ("TLS1_2", r"offered"),
    ("TLS1_3", r"offered with final"),
]
HSTS = re.compile(r"HSTS(_time)?$")
HSTS_DAYS = 180  # what SSL Labs and testssl take for long

BAD = ["MEDIUM", "HIGH", "CRITICAL", "FATAL"]
UNMADE = ["WARN"]  # "a check could not be made"

GRADES = ["A+", "A", "A-", "B", "C", "D", "E", "F", "M", "T"]

# The guide's caps: the grade is no better than this unless the row is there and fits.
CAPS = [
    ("SSLv2", r"not offered", "F"),
    ("SSLv3", r"not offered", "B"),
    ("TLS1", r"not offered", "B"),
    ("TLS1_1", r"not offered", "B"),
    ("TLS1_2", r"offered", "C"),
    ("TLS1_3", r"offered", "A-"),
    ("PFS", r"offered", "B"),
    ("cipherlist_NULL", r"not offered", "F"),
    ("cipherlist_aNULL", r"not offered", "F"),
    ("cipherlist_EXPORT", r"not offered", "F"),
    ("cipherlist_LOW", r"not offered", "F"),
    ("cipherlist_3DES_IDEA", r"not offered", "C"),
    ("cipherlist_STRONG", r"offered", "B"),
    ("heartbleed", r"not vulnerable", "F"),
    ("CCS", r"not vulnerable", "F"),
    ("ticketbleed", r"not vulnerable|no session ticket", "F"),
    ("ROBOT", r"not vulnerable", "F"),
    ("secure_renego", r"supported", "F"),
    ("CRIME_TLS", r"not vulnerable", "C"),
    ("POODLE_SSL", r"not vulnerable", "C"),
    ("SWEET32", r"not vulnerable", "C"),
    ("FREAK", r"not vulnerable", "F"),
    ("DROWN", r"not vulnerable", "F"),
    ("LOGJAM", r"not vulnerable", "F"),
    ("RC4", r"not vulnerable", "C"),
    ("cert_trust", r"Ok", "M"),
    ("cert_chain_of_trust", r"passed", "T"),
]


def fits(rows, name, pattern):
    """Whether testssl tells of this, and all it tells of it fits."""
    texts = [row["finding"].strip() for row in rows if row["id"] == name]
    return bool(texts) and all(re.match(pattern, text) for text in texts)


def exemption(row):
    for name, severity, pattern, why in EXEMPT:
        if row["id"] == name and row["severity"] == severity and re.fullmatch(pattern, row["finding"]):
            return why
    return None


def hsts_is_long(rows):
    return any(HSTS.match(row["id"]) and days and int(days[1]) >= HSTS_DAYS
               for row in rows for days in [re.match(r"(\d+) days", row["finding"])])


# --- the grade -----------------------------------------------------------------------------------

def protocol_score(rows):
    points = {"SSLv2": 0, "SSLv3": 80, "TLS1": 90, "TLS1_1": 95, "TLS1_2": 100, "TLS1_3": 100}
    spoken = [points[name] for name in points if fits(rows, name, r"offered")]
    return (max(spoken) + min(spoken)) / 2 if spoken else 0


def key_score(rows):
    """The weakest key; elliptic ones count as RSA of the same strength."""
    as_rsa = {"224": 2048, "256": 3072, "384": 7680, "521": 15360}
    bits = []
    for row in rows:
        size = re.match(r"(RSA|EC|EdDSA) (\d+) bits", row["finding"]) if row["id"] == "cert_keySize" else None
        if size:
            bits.append(int(size[2]) if size[1] == "RSA" else as_rsa.get(size[2], 3072))
    weakest = min(bits, default=0)
    return next((points for least, points in [(4096, 100), (2048, 90), (1024, 80), (512, 40), (1, 20)]
                 if weakest >= least), 0)


def cipher_score(rows):
    """Each cipher has a row: "x1302 NAME KEX BITS? CIPHER BITS NAME"."""
    bits = [int(row["finding"].split()[-2]) for row in rows if re.fullmatch(r"cipher_x[0-9a-f]+", row["id"])]
    points = [100 if n >= 256 else 80 if n >= 128 else 20 if n > 0 else 0 for n in bits]
    return (max(points) + min(points)) / 2 if points else 0


def grade(rows):
    """Returns the grade and what holds it down."""
    for row in rows:
        if row["id"] == "overall_grade":
            return row["finding"], [f"testssl: {r['finding']}" for r in rows if r["id"].startswith("grade_cap")]
    score = 0.3 * protocol_score(rows) + 0.3 * key_score(rows) + 0.4 * cipher_score(rows)
    best = next((g for least, g in [(80, "A"), (65, "B"), (50, "C"), (35, "D"), (20, "E")] if score >= least), "F")
    caps = [(cap, name) for name, pattern, cap in CAPS if not fits(rows, name, pattern)]
    if best == "A" and not caps and hsts_is_long(rows):
        best = "A+"
    worst = max([best] + [cap for cap, _ in caps], key=GRADES.index)
    return worst, [f"score {score:.0f} of 100"] + [f"{name} caps it at {cap}" for cap, name in caps]


# --- the whole -----------------------------------------------------------------------------------

def judge(rows):
    """Returns the faults, as sentences, and how many findings are of medium severity or above."""
    faults = []
    medium = 0
    for row in rows:
        told = f"{row['severity']} {row['id']}: {row['finding']}"
        if row["severity"] in BAD + UNMADE:
            why = exemption(row)
            if why:
                print(f"  exempt: {told} ({why})")
                continue
            medium += row["severity"] in BAD
            faults.append(told)
        elif row["severity"] == "LOW":
            print(f"  {told}")
    for name, pattern in REQUIRED:
        if not fits(rows, name, pattern):
            texts = [row["finding"] for row in rows if row["id"] == name]
            faults.append(f"{name}: {', '.join(texts) or 'was not looked at'}")
    if not hsts_is_long(rows):
        faults.append(f"HSTS is missing, or shorter than {HSTS_DAYS} days")
    return faults, medium


def main(paths):
    total = medium = 0
    failed = False
    worst = "A+"
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        key = next((row["finding"] for row in rows if row["id"] == "cert_keySize"), "?")
        print(f"{len(rows)} findings, certificate {key}")
        faults, bad = judge(rows)
        mark, reasons = grade(rows)
        print(f"  grade {mark} ({'; '.join(reasons)})")
        if GRADES.index(mark) > GRADES.index("A"):
            faults.append(f"grade {mark}")
        for fault in faults:
            print(f"  NOT IN ORDER: {fault}")
        failed = failed or bool(faults)
        total += len(rows)
        medium += bad
        worst = max(worst, mark, key=GRADES.index)
    print(f"T-47: {total} findings, {medium} medium or above, grade {worst}")
    return 1 if failed or not paths else 0


sys.exit(main(sys.argv[1:]))
