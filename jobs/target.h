#pragma once
/* Where backups go (api.md §4): {"name", "paths", "files"}, and the words for compression. What
 * every kind that backs up checks in the same way. Pure. */
#include "jobs/instance.h"
#include "server/json.h"

#include <stdbool.h>

/* Checks one target; with_files: whether it may say how many files (not where a list of them is
 * swept). Adds faults below pointer. */
void target_check(const cJSON *tree, const struct instance *instance, const char *pointer,
                  bool with_files, struct json_faults *faults);

/* Why a folder below none of allow.paths, or one with "..", is refused, and what to write. */
const char *target_path_advice(const char *path);

/* Checks a list of them: each, and that no two have one name. */
void target_check_list(const cJSON *targets, const struct instance *instance, const char *pointer,
                       bool with_files, struct json_faults *faults);

/* True when it discards: its one path is "NUL". */
bool target_is_nul(const cJSON *target);

/* For the schemas of kinds: a target, a word for compression, the name of a database. */
extern const struct json_field target_shape;
extern const struct json_field compression_shape;
extern const struct json_field database_shape;

/* default, off, on, MS_XPRESS, QAT_DEFLATE, ZSTD. */
bool compression_is_known(const char *word);

/* All of them, comma-separated, for messages. */
const char *compression_names(void);
