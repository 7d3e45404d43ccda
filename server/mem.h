#pragma once
/* Memory that cannot fail: when there is none the process ends, and the store's promises
 * (what was accepted is on disk) hold as after any crash. Free with free(). */
#include "server/err.h"

#include <stddef.h>

/* Zeroed memory of count elements; aborts when there is none or the product overflows. */
void *mem_alloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));

/* Grows an array to hold at least `needed` elements of `size` bytes; *capacity is updated,
 * new elements are zeroed. Returns the array, which may have moved. */
void *mem_grow(void *array, size_t *capacity, size_t needed, size_t size);

/* A copy of text; NULL gives NULL. The caller frees it. */
char *mem_copy(const char *text);

/* A formatted string of any length. The caller frees it. */
char *mem_format(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((returns_nonnull));

/* Frees *text and puts a copy of the new text there (NULL for NULL). */
void mem_replace(char **text, const char *new_text);
