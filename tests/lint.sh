#!/bin/sh
# The checks of the sources, in the order of how fast they tell. $1: a build folder of clang.
set -eu
build=${1:?a build folder with compile_commands.json}
failed=0

folders=
for folder in server jobs api tests; do
    [ ! -d "$folder" ] || folders="$folders $folder"
done

# files PATTERN [FOLDER ...]: the matching files there, or everywhere.
files() {
    pattern=$1
    shift
    # shellcheck disable=SC2086 # one word a folder
    [ $# -gt 0 ] || set -- $folders
    find "$@" -name node_modules -prune -o -name "$pattern" -print | sort
}

# Takes what a search found: fails, and shows it, when that is anything.
refuse() {
    found=$(cat)
    [ -n "$found" ] || return 0
    printf '%s:\n%s\n' "$1" "$found" >&2
    return 1
}

echo "lint: format" >&2
files '*.[ch]' | xargs -r clang-format-14 --dry-run -Werror || failed=1

echo "lint: bans and arrows" >&2
banned='strcpy|strcat|strncpy|strncat|sprintf|vsprintf|strtok|gets|atoi|atof|localtime|gmtime|ctime|rand|alloca|system'
files '*.[ch]' | xargs -r grep -nE "(^|[^A-Za-z0-9_])($banned)\\(" |
    refuse "banned functions (snprintf, buf.h, strtol, localtime_r … instead)" || failed=1
files '*.[ch]' | xargs -r grep -nE 'TODO|FIXME' | refuse "unfinished; file an issue instead" || failed=1
files '*.[ch]' | xargs -r wc -l | awk '$2 != "total" && $1 > 500' |
    refuse "more than 500 lines" || failed=1
files '*.h' | xargs -r grep -L '^#pragma once' | refuse "no #pragma once" || failed=1

# Calls go one way: api, jobs, server.
files '*.[ch]' server | grep -vE '^server/(main|daemon)\.c$' |
    xargs -r grep -nE '#include "(jobs|api)/' | refuse "server/ must not know jobs/ or api/" || failed=1
files '*.[ch]' | grep '^jobs/' | xargs -r grep -nE '#include "api/' /dev/null |
    refuse "jobs/ must not know api/" || failed=1
files '*.[ch]' | grep -v '^tests/' | xargs -r grep -nE '#include "tests/' |
    refuse "only tests know tests" || failed=1

# Everything that a measured instance is sent goes through the allow-list.
files '*.[ch]' jobs api | grep -vE '^jobs/send\.c$' |
    xargs -r grep -nE '(^|[^a-z_])mssql_(query|execute|stream)\(' |
    refuse "only jobs/send.c talks to an instance" || failed=1

# Each outside library's header stands in its own module: HEADER FILES
while read -r header modules; do
    files '*.[ch]' | grep -vE '^tests/' | xargs -r grep -nE "#include <$header" |
        grep -vE "^($modules):" | refuse "<$header> belongs to $modules" || failed=1
done <<'END'
cjson/ server/json\.h
curl/ server/egress[a-z_]*\.[ch]|api/cli/http\.c
gnutls/ server/(ids|key_ring|hash)[a-z_]*\.[ch]|jobs/sign\.c|api/tls\.c
microhttpd\.h api/(http|request|tls)[a-z_]*\.[ch]
sqlite3\.h server/db_sqlite[a-z_]*\.[ch]
(sql|sqlext|sqltypes|sqlucode|odbcinst)\.h server/mssql[a-z_]*\.[ch]
END

echo "lint: shell" >&2
shellcheck run .ci/run tests/*.sh tests/contract/run tests/pages/run tests/tls/run || failed=1

[ "$failed" = 0 ] || exit 1

echo "lint: clang-tidy" >&2
# __NO_CTYPE: else tolower() is a macro with blocks of its own, which count as nesting
python3 -c '
import json, os, sys
for entry in json.load(open(sys.argv[1] + "/compile_commands.json")):
    print(os.path.relpath(os.path.join(entry["directory"], entry["file"])))' "$build" |
    grep -v "^$build/" | sort -u | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p "$build" --quiet \
    --extra-arg=-D__NO_CTYPE 2>"$build/tidy.err" || {
    grep -v ' warnings\{0,1\} generated' "$build/tidy.err" >&2
    exit 1
}

echo "lint: cppcheck" >&2
# the macro: cppcheck does not read the system's headers
# shellcheck disable=SC2086 # one word a folder
cppcheck -q -j "$(nproc)" --std=c11 --enable=warning,performance,portability --inline-suppr \
    --suppressions-list=.cppcheck --error-exitcode=1 -D__linux__ \
    '-DcJSON_ArrayForEach(item, list)=while ((item = next_of(list)))' \
    -I . $folders
