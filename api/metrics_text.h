#pragma once
/* The Prometheus text format 0.0.4, written so that it cannot be wrong: a family's HELP and TYPE
 * come once, before its samples, and label values are escaped. Pure. */
#include "server/buf.h"
#include "server/histogram.h"

struct metrics_label {
    const char *name; /* NULL: no label */
    const char *value;
};

/* Begins a family; type: counter, gauge, histogram. The name is kept for its samples. */
void metrics_family(struct buf *out, const char *name, const char *type, const char *help);

/* One sample: suffix is "", "_bucket", "_sum" or "_count". Not finite is NaN, +Inf or -Inf. */
void metrics_sample(struct buf *out, const char *name, const char *suffix,
                    const struct metrics_label labels[2], double value);

/* A family that is one histogram. */
void metrics_histogram(struct buf *out, const char *name, const char *help,
                       const struct histogram *histogram);
