#pragma once
/* What each fuzz target is: any bytes come in, and whatever does not hold ends the program. Built
 * plainly, a target feeds itself (feed.c): `build/tests/fuzz_NAME [INPUTS [SEED]]`, a short form is
 * among the tests. With `CC=clang meson setup build-fuzz -Dfuzz=true` it is libFuzzer's:
 * `build-fuzz/tests/fuzz_NAME -max_total_time=1800 FOLDER tests/fuzz/corpus/NAME`, where what it
 * finds on the way goes to FOLDER. */
#include <stddef.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
