#include "api/metrics_text.h"

#include <math.h>
#include <stdio.h>

void metrics_family(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_number(struct buf *out, double value)
{
    if (isnan(value))
        buf_add(out, "NaN");
    else if (isinf(value))
        buf_add(out, value > 0 ? "+Inf" : "-Inf");
    else
        buf_format(out, "%.15g", value);
}

static void add_value(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            buf_add(out, "\\n");
        else if (*text == '"' || *text == '\\')
            buf_format(out, "\\%c", *text);
        else
            buf_add_char(out, *text);
    }
}

void metrics_sample(struct buf *out, const char *name, const char *suffix,
                    const struct metrics_label labels[2], double value)
{
    buf_format(out, "%s%s", name, suffix);
    for (int i = 0; labels && i < 2 && labels[i].name; i++) {
        buf_format(out, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
        add_value(out, labels[i].value ? labels[i].value : "");
        buf_add(out, "\"");
    }
    buf_add(out, labels && labels[0].name ? "} " : " ");
    add_number(out, value);
    buf_add(out, "\n");
}

void metrics_histogram(struct buf *out, const char *name, const char *help,
                       const struct histogram *histogram)
{
    double count = 0;
    metrics_family(out, name, "histogram", help);
    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        char bound[32] = "+Inf";
        if (i < HISTOGRAM_BOUNDS)
            (void)snprintf(bound, sizeof bound, "%.15g", histogram_bounds[i]);
        struct metrics_label labels[2] = {{"le", bound}, {NULL, NULL}};
        count = (double)histogram_up_to(histogram, i);
        metrics_sample(out, name, "_bucket", labels, count);
    }
    metrics_sample(out, name, "_sum", NULL, (double)histogram->sum_ns / 1e9);
    metrics_sample(out, name, "_count", NULL, count);
}
