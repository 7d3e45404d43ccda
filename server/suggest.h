#pragma once
/* "did you mean …?": the nearest of some known words to a mistyped one. Threads: any. */
#include <stddef.h>

struct suggest {
    const char *wrong; /* borrowed */
    const char *best;  /* borrowed; NULL while nothing was near enough */
    size_t distance;   /* of best */
};

#define SUGGEST_FOR(word) ((struct suggest){.wrong = (word)})

/* Offers one known word. It is near enough when at most a third of the letters differ, counting a
 * wrong, missing, extra or swapped letter as one; upper and lower case are alike. */
void suggest_offer(struct suggest *suggest, const char *known);
