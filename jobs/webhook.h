#pragma once
/* A webhook's definition (api.md §5), checked. No I/O but sealing. */
#include "server/json.h"
#include "server/secrets.h"
#include "server/store_rows.h"

struct webhook {
    const char *url;            /* a literal, or NULL */
    const cJSON *url_reference; /* a reference, or NULL */
    const char *format;         /* json, slack */
    const cJSON *events;        /* array of texts */
    const cJSON *secret;        /* reference, or NULL */
    bool all_jobs;
    cJSON *tree; /* owned */
};

/* Takes tree over and fills *out; every fault is added. Returns 0 when there was none. */
MUST_CHECK int webhook_read(cJSON *tree, const struct secrets *secrets, struct webhook *out,
                            struct json_faults *faults);
void webhook_fini(struct webhook *webhook);

/* Fills the row's definition (what may be shown: a literal URL redacted) and url_sealed. */
MUST_CHECK int webhook_to_row(const struct webhook *webhook, const char *name,
                              const struct secrets *secrets, struct webhook_row *out,
                              struct err *err);

/* Reads a stored definition (url may be the redacted one). ERR_STORE when unreadable. */
MUST_CHECK int webhook_load(const char *definition, struct webhook *out, struct err *err);

/* True when the webhook names this event itself, not by "*". */
bool webhook_lists(const struct webhook *webhook, const char *event);

/* True when this webhook wants an event of a job whose notify list is `notify` (array or NULL). */
bool webhook_wants(const struct webhook *webhook, const char *name, const char *event,
                   const cJSON *notify);
