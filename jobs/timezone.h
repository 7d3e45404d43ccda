#pragma once
/* One zone of the system's time zone database, read from its TZif file (RFC 9636). libc's own TZ
 * is one for the whole process and cannot serve instances in several zones. The type is struct
 * zone because <sys/time.h> has struct timezone. It never changes once open. Threads: any. */
#include "server/err.h"

#include <stddef.h>
#include <stdint.h>

struct zone;

/* Which moment a local time means that occurs twice. */
enum timezone_pick { TIMEZONE_FIRST, TIMEZONE_LAST };

/* Reads the zone NAME ("Europe/Berlin"); UTC needs no file. ERR_INPUT: this cannot be a zone's
 * name; ERR_NOT_FOUND: this machine has no such zone; ERR_SYSTEM: its file cannot be read or is
 * damaged. */
MUST_CHECK int timezone_open(const char *name, struct zone **out_zone, struct err *err);

/* The same from the bytes of a TZif file of version 2 or later, which may be hostile. ERR_SYSTEM
 * names what is wrong with them. */
MUST_CHECK int timezone_parse(const void *bytes, size_t length, struct zone **out_zone,
                              struct err *err);

/* Seconds that the zone's clocks are ahead of UTC (east is positive) at this moment, more than
 * -25 h and less than 26 h. Moments some 34,000 years away count as that far. */
int timezone_offset(const struct zone *zone, int64_t utc_s);

/* The moment (UTC seconds) at which the zone's clocks show local_s, the seconds from
 * 1970-01-01T00:00 to that date and time as a calendar counts them. A time that is skipped gives
 * the moment at which the gap ends. */
int64_t timezone_to_utc(const struct zone *zone, int64_t local_s, enum timezone_pick pick);

/* Accepts NULL. */
void timezone_close(struct zone *zone);
