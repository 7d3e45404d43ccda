#pragma once
/* A registered SQL Server instance: its definition as api.md §2 gives it, checked. Pure, but that
 * instance_read looks whether this machine knows the time zones. */
#include "server/json.h"
#include "server/secrets.h"

#include <stdbool.h>
#include <stdint.h>

/* Everything a job may use of an instance or of the server's disk: api.md's "limits". */
struct limits {
    int64_t buffer_memory_mib;
    int64_t min_free_disk_mib;
    int64_t job_minutes;
    int64_t read_mib;
    int64_t written_mib;
};

struct instance {
    const char *host; /* borrowed from tree, like every text here */
    int64_t port;
    const char *login;
    const cJSON *password; /* a reference, see server/secrets.h */
    const char *encryption;
    const char *ca_file; /* NULL: the server is not authenticated */
    bool verify_host;
    const char *environment;
    const cJSON *lanes;   /* array of texts, or NULL */
    const cJSON *windows; /* array, the text "always", or NULL */
    struct limits limits;
    const cJSON *trace_flags; /* allow.trace_flags: array or NULL */
    const cJSON *paths;       /* allow.paths: array or NULL */
    bool custom_sql;
    const char *custom_login;
    const cJSON *custom_password;
    const cJSON *labels;
    cJSON *tree; /* owned */
};

/* True for 1..64 of a-z 0-9 . _ - (instances and webhooks). */
bool instance_name_is_valid(const char *name);

/* Takes tree over (also on failure) and fills *out, defaults included; every fault is added below
 * "". Returns 0 when there was none. instance_fini frees. */
MUST_CHECK int instance_read(cJSON *tree, const struct secrets *secrets, struct instance *out,
                             struct json_faults *faults);
void instance_fini(struct instance *instance);

/* The definition with all defaults written out, as it is stored and shown. The caller frees it. */
cJSON *instance_to_json(const struct instance *instance);

/* Reads what instance_to_json wrote (from the store). A text that is not readable is ERR_STORE. No
 * I/O: a time zone that went missing keeps its windows shut, not the instance from being read. */
MUST_CHECK int instance_load(const char *definition, struct instance *out, struct err *err);

/* True when the environment is production. */
bool instance_is_production(const struct instance *instance);
