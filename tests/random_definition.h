#pragma once
/* Definitions of jobs made at random, of every kind, with hostile names, paths and values. The same
 * seed makes the same ones. */
#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/* The allow.paths that the paths are made for and against. */
extern const char *const random_allowed[];
extern const size_t random_allowed_count;

void random_start(uint64_t first);

/* One more; the caller deletes it. */
cJSON *random_definition(void);
