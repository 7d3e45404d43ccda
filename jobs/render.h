#pragma once
/* What each receiver is sent: one renderer a format, with its limits in a table
 * (facts of each receiver stand beside its row). Pure. */
#include "server/err.h"

/* NULL-terminated names, for the field table of webhooks. */
extern const char *const render_formats[];

/* The body for a receiver from an event's payload (jobs/event.c). The caller frees it.
 * ERR_STORE when the payload is unreadable, ERR_INPUT for an unknown format. */
MUST_CHECK int render_event(const char *format, const char *payload, const char *delivery_id,
                            char **out_body, struct err *err);
