#pragma once
/* What each receiver is sent: one row a format, with its limits in a table (facts of each receiver
 * stand beside its row). Nothing from outside becomes a mention, a link or markup. Pure. */
#include "server/err.h"

/* NULL-terminated names, for the field table of webhooks. */
extern const char *const render_formats[];

/* The body for a receiver from an event's payload (jobs/event.c). public_url: where people reach
 * us, or ""; the caller frees *out_body. ERR_STORE when the payload is unreadable, ERR_INPUT for an
 * unknown format. */
MUST_CHECK int render_event(const char *format, const char *payload, const char *delivery_id,
                            const char *public_url, char **out_body, struct err *err);
