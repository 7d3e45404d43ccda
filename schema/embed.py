#!/usr/bin/env python3
"""Turns the SQL files into C: embed.py OUT_HEADER OUT_SOURCE FILE...

FILE is DIALECT/store.sql (named statements) or DIALECT/NNNN_what.sql (a migration). Every dialect
must have the same names; only names that begin with a dialect's own name exist in it alone.
"""
import os
import re
import sys

MARK = re.compile(r"-- (name|part): ([a-z][a-z0-9_]*)$")
MIGRATION = re.compile(r"(\d{4})_\w+\.sql$")


def fail(path, message):
    sys.exit(f"{path}: {message}")


def read_sections(path):
    """(kind, name, lines) of each marked section; text before the first mark is a preface."""
    sections = []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            mark = MARK.match(line)
            if mark:
                sections.append((mark.group(1), mark.group(2), []))
            elif sections:
                sections[-1][2].append(line)
    return sections


def read_statements(path):
    """The texts of store.sql by name, without comments, parts filled in."""
    parts, statements = {}, {}
    for kind, name, lines in read_sections(path):
        if name in statements or name in parts:
            fail(path, f"{name} stands there twice")
        if kind == "name" and not lines[0].startswith("-- "):
            fail(path, f"{name} has no comment that says why")
        text = "\n".join(line for line in lines if line.strip() and not line.startswith("--"))
        try:
            text = re.sub(r"\{(\w+)\}", lambda match: parts[match.group(1)], text)
        except KeyError as missing:
            fail(path, f"{name} includes the unknown part {missing}")
        if kind == "part":
            parts[name] = text
        elif text.count(";") != 1 or not text.endswith(";"):
            fail(path, f"{name} must be one statement that ends with a semicolon")
        else:
            statements[name] = text
    return statements


def read_migrations(paths):
    """Texts in order; their numbers count from 1 without a gap."""
    texts = []
    for path in sorted(paths, key=os.path.basename):
        if int(MIGRATION.search(path).group(1)) != len(texts) + 1:
            fail(path, f"the next migration is number {len(texts) + 1:04}")
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def c_string(text):
    lines = text.replace("\\", "\\\\").replace('"', '\\"').splitlines()
    return "\n        ".join(f'"{line}\\n"' for line in lines)


def belongs_elsewhere(name, dialect, dialects):
    return any(name.startswith(other + "_") for other in dialects if other != dialect)


def write_header(path, names):
    with open(path, "w", encoding="utf-8") as out:
        out.write("#pragma once\n/* Made by schema/embed.py. */\nenum sql_id {\n")
        out.writelines(f"    SQL_{name.upper()},\n" for name in names)
        out.write("    SQL_COUNT, /* how many there are */\n};\n")


def write_source(path, names, dialects):
    with open(path, "w", encoding="utf-8") as out:
        out.write('/* Made by schema/embed.py. */\n#include "server/db_driver.h"\n')
        for dialect, (statements, migrations) in dialects.items():
            out.write(f"\nstatic const char *const {dialect}_migrations[] = {{\n")
            out.writelines(f"    {c_string(text)},\n" for text in migrations)
            out.write(f"}};\n\nconst struct sql_dialect sql_{dialect} = {{\n")
            out.write(f"    .migrations = {dialect}_migrations,\n")
            out.write(f"    .migration_count = {len(migrations)},\n    .statements = {{\n")
            for name in names:
                if name in statements:
                    text = c_string(statements[name])
                    out.write(f'        [SQL_{name.upper()}] = {{"{name}",\n        {text}}},\n')
            out.write("    },\n};\n")


def main(header, source, files):
    dialects = {}
    for folder in dict.fromkeys(os.path.dirname(path) for path in files):
        inside = [path for path in files if os.path.dirname(path) == folder]
        store = [path for path in inside if os.path.basename(path) == "store.sql"]
        if len(store) != 1:
            fail(folder, "a dialect has one store.sql")
        migrations = [path for path in inside if MIGRATION.search(path)]
        dialects[os.path.basename(folder)] = (read_statements(store[0]), read_migrations(migrations))
    names = list(dict.fromkeys(name for texts, _ in dialects.values() for name in texts))
    for dialect, (statements, _) in dialects.items():
        missing = [name for name in names if name not in statements
                   and not belongs_elsewhere(name, dialect, dialects)]
        if missing:
            fail(dialect, f"store.sql lacks {', '.join(missing)}")
    write_header(header, names)
    write_source(source, names, dialects)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
