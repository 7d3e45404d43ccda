#pragma once
/* Legal ranges of backup options by version and device, and the memory rule, as tables with their
 * sources (domain.md §1). Pure. */
#include "server/err.h"
#include "server/json.h"

#include <stdbool.h>
#include <stdint.h>

/* What is known of an instance. Unknown numbers are -1, unknown texts NULL. */
struct server_facts {
    int major;          /* 9 = 2005 … 17 = 2025 */
    int engine_edition; /* SERVERPROPERTY('EngineEdition'): 2 Standard, 3 Enterprise, 4 Express … */
    int64_t edition_id;
    bool windows;
    char *version;  /* "16.0.4100.1", heap */
    char *edition;  /* heap */
    char *platform; /* "Linux" or "Windows", heap */
    char *host_name;
    int64_t cpu_count;
    int64_t memory_mib;
    int64_t started_at; /* wall ms in the server's own clock; to see restarts */
    bool simulated;     /* @@VERSION says that it is a simulator */
};
void server_facts_fini(struct server_facts *facts);
cJSON *server_facts_to_json(const struct server_facts *facts);
void server_facts_from_json(const cJSON *tree, struct server_facts *out);

enum device_kind { DEVICE_NUL, DEVICE_DISK };

/* Faults that need no server: each value of the lists against the widest legal range of any
 * version for this device. value is bytes or a count. */
const char *guard_buffercount(int64_t value); /* NULL: legal; else the rule */
const char *guard_maxtransfersize(int64_t value, enum device_kind device);
const char *guard_blocksize(int64_t value);

/* What this server cannot do: algorithm words by version and edition, compression by edition
 * (domain.md 1.1, 1.2). NULL: legal; else the rule, naming version or edition. */
const char *guard_compression(const char *word, const struct server_facts *facts);

/* The third part of the version ("15.0.4043.16": 4043); -1 unknown. */
int64_t guard_build(const struct server_facts *facts);

/* How compressed backups of encrypted databases (TDE) get smaller on this build (domain.md 1.5). */
enum guard_tde {
    GUARD_TDE_UNKNOWN,
    GUARD_TDE_NEVER,           /* before 2016, or with the faults before 2016 SP1 CU4 */
    GUARD_TDE_LARGE_TRANSFERS, /* with MAXTRANSFERSIZE above 65536 */
    GUARD_TDE_BY_ITSELF,       /* 2019 CU5 and later raise it themselves */
};
enum guard_tde guard_tde(int major, int64_t build); /* build below 1: unknown */

/* What follows for a backup that hardly gets smaller; NULL: nothing. A sentence. */
const char *guard_tde_advice(const struct server_facts *facts);

/* Stripes that a backup of so many bytes needs as Azure block blobs: one holds 50,000 blocks of
 * MAXTRANSFERSIZE (0: the default, 1 MiB), else error 3063 (domain.md 2.2). At least 1. */
int64_t guard_blob_stripes(int64_t bytes, int64_t maxtransfersize);

/* Sets of buffers: 1 plain, 3 compressed or compression "default" (domain.md 1.4). */
int guard_buffer_sets(const char *compression);

/* BUFFERCOUNT x MAXTRANSFERSIZE x sets in MiB, in 64-bit with overflow check (INFINITY then);
 * maxtransfersize 0 ("default") counts 1 MiB; NaN when buffercount is 0 ("default"). */
double guard_buffer_memory_mib(int64_t buffercount, int64_t maxtransfersize,
                               const char *compression);
