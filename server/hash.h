#pragma once
/* SHA-256 of texts (by GnuTLS): fingerprints of bodies, tags of documents. Threads: any. */

#define HASH_HEX_SIZE 65 /* 64 digits and the NUL */

/* Writes the SHA-256 of text in hexadecimal, small letters; returns out. */
const char *hash_hex(const char *text, char out[HASH_HEX_SIZE]);
