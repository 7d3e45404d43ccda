#pragma once
/* SHA-256 of texts (by GnuTLS): fingerprints of bodies, tags of documents, tokens; and a quick hash
 * that promises nothing. Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#define HASH_HEX_SIZE 65 /* 64 digits and the NUL */

/* Writes the SHA-256 of text in hexadecimal, small letters; returns out. */
const char *hash_hex(const char *text, char out[HASH_HEX_SIZE]);

/* Whether two such texts are equal; takes as long wherever they differ. */
bool hash_equal(const char *one, const char *other);

#define HASH_BASE64_SIZE 45 /* 44 characters and the NUL */

/* The same in base64, as Content-Security-Policy wants it; returns out. */
const char *hash_base64(const char *text, char out[HASH_BASE64_SIZE]);

/* For tables in memory (FNV-1a): anybody can make two texts that have the same. */
uint64_t hash_spread(const char *text);
