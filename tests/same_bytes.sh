#!/bin/sh
# Stored evidence, analysed by each of the builds, twice: every report must be the same to the byte,
# whatever compiled it. $@: build folders.
set -eu
evidence=$(dirname "$0")/data/evidence.jsonl
work=$(mktemp -d "${TMPDIR:-/tmp}/sweetspot-bytes.XXXXXX")
trap 'rm -rf "$work"' EXIT

"${1:?two or more build folders}/sweetspot" analyze "$evidence" >"$work/first"
for build in "$@"; do
    "$build/sweetspot" analyze - <"$evidence" >"$work/other"
    cmp "$work/first" "$work/other" || {
        echo "same_bytes: the reports of $build differ from those of $1" >&2
        exit 1
    }
done
echo "same_bytes: $(wc -l <"$work/first") reports, $(wc -c <"$work/first") bytes, the same in $*"
