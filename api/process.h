#pragma once
/* What this process takes of its machine, under the names every Prometheus client uses. Reads
 * /proc. Threads: any. */
#include "server/buf.h"

/* Appends the families process_*; what cannot be read is left out. */
void process_add_metrics(struct buf *out);
