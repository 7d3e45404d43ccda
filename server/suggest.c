#include "server/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define WORD_BYTES 64 /* longer words get no suggestion */

static bool alike(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment (Damerau-Levenshtein without edits of edits), row by row: rows[0] is
 * the row in work, rows[1] and rows[2] the two before it. */
static size_t distance_of(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t rows[3][WORD_BYTES + 1] = {0};
    for (size_t j = 0; j <= b_bytes; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        memcpy(rows[2], rows[1], sizeof rows[2]);
        memcpy(rows[1], rows[0], sizeof rows[1]);
        rows[0][0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            size_t best = rows[1][j - 1] + !alike(a[i - 1], b[j - 1]);
            best = smaller(best, smaller(rows[1][j], rows[0][j - 1]) + 1);
            if (i > 1 && j > 1 && alike(a[i - 1], b[j - 2]) && alike(a[i - 2], b[j - 1]))
                best = smaller(best, rows[2][j - 2] + 1);
            rows[0][j] = best;
        }
    }
    return rows[0][b_bytes];
}

void suggest_offer(struct suggest *suggest, const char *known)
{
    size_t wrong_bytes = strlen(suggest->wrong);
    size_t known_bytes = strlen(known);
    if (wrong_bytes > WORD_BYTES || known_bytes > WORD_BYTES)
        return;
    size_t distance = distance_of(suggest->wrong, wrong_bytes, known, known_bytes);
    size_t longer = wrong_bytes > known_bytes ? wrong_bytes : known_bytes;
    if (distance > (longer + 2) / 3 || distance == longer)
        return;
    if (suggest->best && distance >= suggest->distance)
        return;
    suggest->best = known;
    suggest->distance = distance;
}
