#pragma once
/* How many requests may be held: long polls and streams of events, for minutes or for ever, each on
 * a connection of its own. A quarter of the connections is never theirs, so that however many wait,
 * others get in. Who finds no room is answered at once. Threads: any. */
#include "api/http_inner.h"

/* True: one more is held, until holding_drop. */
bool holding_take(struct http *http);
void holding_drop(struct http *http);
