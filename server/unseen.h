#pragma once
/* Characters that show nothing, or change how what is around them shows: they may come in any name
 * from outside and must reach no terminal, log or chat as they are. One list for all. Pure. */
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `at` (not at the end of the text), and whether it is such a one: C0 and
 * C1 controls and DEL, line separators and bidi controls (U+2028 to U+202E, U+2066 to U+2069,
 * U+200E, U+200F, U+061C), no width (U+00AD, U+200B to U+200D, U+2060 to U+2064, U+FEFF), tags
 * (U+E0000 to U+E007F), and a byte that is no UTF-8, which is 1 long. New line and tab count: who
 * wants them asks first. */
size_t unseen_step(const char *at, bool *out_unseen);
