#pragma once
/* What history.c (rows) and history_series.c (figures) share. Pure. */
#include "jobs/measure/history.h"

/* One backup. Single precision resolves a tenth of a millionth: less than a report shows. */
struct history_sample {
    float mib;        /* backup_size */
    float device_mib; /* compressed_backup_size */
    uint32_t seconds; /* as recorded, at least 1 */
    uint32_t minute;  /* when it began, since 1970 in UTC */
};

/* All backups of one type of one database. */
struct history_series {
    char *database; /* heap */
    enum history_type type;
    struct history_sample *samples;
    size_t count;
    size_t capacity;
    size_t short_count; /* those that began and ended within a second */
};

/* A series as api.md §4 gives it; sorts its samples. The caller frees it. */
cJSON *history_series_to_json(struct history_series *series, double confidence);
