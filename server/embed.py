#!/usr/bin/env python3
"""Turns a file into a C text constant: embed.py INPUT OUTPUT NAME."""
import sys


def main():
    source, target, name = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    with open(target, "w", encoding="ascii") as out:
        out.write(f"extern const char {name}[];\n\n")
        out.write(f"const char {name}[] =\n")
        for line in lines:
            out.write('    "' + "".join(escaped(byte) for byte in line.encode()) + '"\n')
        out.write("    ;\n")


def escaped(byte):
    """A byte of a C string; octal, since a hexadecimal escape would swallow digits after it."""
    character = chr(byte)
    if character in '"\\?' or byte < 0x20 or byte > 0x7E:
        return f"\\{byte:03o}"
    return character


main()
