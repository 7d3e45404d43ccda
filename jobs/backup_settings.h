#pragma once
/* What an arm of a backup kind sends, read from its settings. Pure: reports need it too. */
#include "server/json.h"
#include "server/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* What an arm of a backup kind sends. Texts are borrowed from the arm and the definition. */
struct backup_settings {
    const char *database;
    const char *folders[LIMIT_STRIPES]; /* full paths, or the one "NUL" */
    size_t folder_count;
    int files;               /* stripes, round the folders in turn */
    int64_t buffercount;     /* 0: not sent */
    int64_t maxtransfersize; /* bytes, 0: not sent */
    int64_t blocksize;       /* bytes, 0: not sent */
    const char *compression; /* default, off, on, an algorithm */
    bool tell_peak;          /* the most that its files took goes into trial->peak_bytes */
};

/* Reads an arm's settings (api.md §4 "Arms"); targets: the array that names are looked up in, and
 * extra: one more target (confirm_on) or NULL. False when the target is not there. */
bool backup_settings_read(const cJSON *settings, const cJSON *targets, const cJSON *extra,
                          struct backup_settings *out);

bool backup_is_nul(const struct backup_settings *settings);

/* Frees the array and its paths. Accepts NULL. */
void backup_paths_free(char **paths, int count);
