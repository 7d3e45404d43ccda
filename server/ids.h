#pragma once
/* Identifiers: UUIDv7 (RFC 9562), which sort by time and are unique within this process even
 * inside one millisecond, and random bytes from GnuTLS. Threads: any. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDS_TEXT_SIZE 37 /* "0193a1b2-....", with the NUL */

/* Writes a fresh UUIDv7 in lower case; every later call sorts after it. Returns out. */
const char *ids_new(char out[IDS_TEXT_SIZE]);

/* True when text has the form of a UUID in lower case. */
bool ids_is_valid(const char *text);

/* Fills bytes with random data fit for keys; aborts when there is none. */
void ids_random_bytes(void *bytes, size_t length);

/* A random number below 2^53, which JSON can carry exactly. */
int64_t ids_random_seed(void);
