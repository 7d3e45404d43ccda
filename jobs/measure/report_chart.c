/* The curve of a sweep as a picture: speed over the first swept number, one line for each
 * combination of the other settings. */
#include "jobs/measure/doc.h"
#include "jobs/measure/html.h"
#include "jobs/measure/report_page.h"
#include "jobs/measure/report_text.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MAX 6 /* as many colours can be told apart */
#define TICKS_MAX 12
#define DRAWABLE 1e15 /* a number beyond is a fault of somebody's, and no place in a picture */

/* In the units of the picture; a phone shows it a little smaller, a desk a little larger. */
#define WIDTH 440.0
#define HEIGHT 270.0
#define LEFT 50.0
#define RIGHT 426.0
#define TOP 26.0
#define BOTTOM 222.0

struct point {
    double x, rate, low, high; /* low, high: NaN when not known */
    bool is_chosen;
};

struct series {
    const char *name; /* borrowed from the label; "" when there is one only */
    struct point *points;
    size_t count;
};

struct chart {
    const char *option; /* what x is, borrowed from a label; its first option_length bytes */
    size_t option_length;
    struct series series[SERIES_MAX];
    size_t series_count;
    size_t point_count;
    size_t left_out;     /* points of more series */
    double default_rate; /* NaN: none, or several */
    double x_min, x_max, y_max, y_step;
};

/* --- what is drawn --------------------------------------------------------------------------- */

/* The label of an arm begins with "BUFFERCOUNT=50"; the rest, behind ", ", names its series. */
static const char *series_name(const char *label)
{
    const char *comma = strstr(label, ", ");
    return comma ? comma + 2 : "";
}

static struct series *find_series(struct chart *chart, const char *name)
{
    for (size_t i = 0; i < chart->series_count; i++)
        if (strcmp(chart->series[i].name, name) == 0)
            return &chart->series[i];
    if (chart->series_count == SERIES_MAX)
        return NULL;
    chart->series[chart->series_count] = (struct series){.name = name};
    return &chart->series[chart->series_count++];
}

static bool has_band(const struct point *point)
{
    return isfinite(point->low) && point->low >= 0 && point->high < DRAWABLE;
}

static void take_point(struct chart *chart, const char *label, const struct point *point,
                       size_t points_max)
{
    struct series *series = find_series(chart, series_name(label));
    chart->left_out += series == NULL;
    if (!series)
        return;
    if (!series->points)
        series->points = mem_alloc(points_max, sizeof *series->points);
    series->points[series->count++] = *point;
    chart->point_count++;
    chart->option = label;
    chart->option_length = strcspn(label, "=");
    chart->x_min = fmin(chart->x_min, point->x);
    chart->x_max = fmax(chart->x_max, point->x);
    chart->y_max = fmax(chart->y_max, has_band(point) ? point->high : point->rate);
}

static int by_x(const void *left, const void *right)
{
    const struct point *one = left;
    const struct point *other = right;
    return (one->x > other->x) - (one->x < other->x);
}

/* A step of 1, 2 or 5 that divides the height into at most five. */
static double step_of(double max)
{
    static const double factors[] = {1, 2, 5};
    double unit = pow(10, floor(log10(max / 5)));
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (unit * factors[i] * 5 >= max * 0.999)
            return unit * factors[i];
    return unit * 10;
}

static void take_row(struct chart *chart, const cJSON *report, const cJSON *row, size_t points_max,
                     int *defaults)
{
    const char *arm = doc_text_of(row, "arm");
    const char *label = doc_text_of(text_arm(report, arm), "label");
    const char *chosen = doc_text_of(json_member(report, "recommendation"), "arm");
    struct point point = {.x = doc_number_of(row, "x"),
                          .rate = doc_number_of(row, "rate_mib_s"),
                          .low = doc_number_of(row, "low"),
                          .high = doc_number_of(row, "high"),
                          .is_chosen = chosen && arm && strcmp(chosen, arm) == 0};
    if (!label || !(point.rate > 0 && point.rate < DRAWABLE))
        return;
    if (point.x > 0 && point.x < DRAWABLE) {
        take_point(chart, label, &point, points_max);
    } else if (strncmp(label, "default", strlen("default")) == 0) {
        chart->default_rate = point.rate;
        (*defaults)++;
    }
}

/* False when there is nothing to draw. */
static bool collect(const cJSON *report, struct chart *chart)
{
    const cJSON *rows = json_member(report, "curve");
    const cJSON *row = NULL;
    int defaults = 0;
    *chart = (struct chart){.x_min = INFINITY, .default_rate = NAN};
    cJSON_ArrayForEach(row, rows)
        take_row(chart, report, row, (size_t)cJSON_GetArraySize(rows), &defaults);
    if (defaults != 1)
        chart->default_rate = NAN;
    if (!(chart->x_max > chart->x_min))
        return false;
    chart->y_max =
        isfinite(chart->default_rate) ? fmax(chart->y_max, chart->default_rate) : chart->y_max;
    chart->y_step = step_of(chart->y_max);
    chart->y_max = ceil(chart->y_max / chart->y_step) * chart->y_step;
    for (size_t i = 0; i < chart->series_count; i++)
        qsort(chart->series[i].points, chart->series[i].count, sizeof(struct point), by_x);
    return true;
}

static void chart_fini(struct chart *chart)
{
    for (size_t i = 0; i < chart->series_count; i++)
        free(chart->series[i].points);
}

/* --- places ---------------------------------------------------------------------------------- */

/* Settings are tried in proportions, so that equal ones lie equally far apart. */
static double x_at(const struct chart *chart, double x)
{
    double share = log(x / chart->x_min) / log(chart->x_max / chart->x_min);
    return LEFT + 14 + share * (RIGHT - LEFT - 28);
}

static double y_at(const struct chart *chart, double rate)
{
    return BOTTOM - rate / chart->y_max * (BOTTOM - TOP);
}

/* --- drawing --------------------------------------------------------------------------------- */

static void draw_y_axis(struct buf *out, const struct chart *chart)
{
    int steps = (int)lround(chart->y_max / chart->y_step);
    for (int i = 0; i <= steps; i++) {
        double y = y_at(chart, i * chart->y_step);
        buf_format(out,
                   "<line class=\"%s\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" />"
                   "<text class=\"tick end\" x=\"%.0f\" y=\"%.1f\">%.6g</text>\n",
                   i ? "grid" : "axis", LEFT, y, RIGHT, y, LEFT - 6, y + 4, i * chart->y_step);
    }
    buf_format(out, "<text class=\"tick\" x=\"4\" y=\"14\">MiB/s</text>\n");
}

/* A tick at each setting that was measured, where there is room for its number. */
static void draw_x_axis(struct buf *out, const struct chart *chart)
{
    double taken[TICKS_MAX];
    size_t count = 0;
    for (size_t s = 0; s < chart->series_count; s++)
        for (size_t i = 0; i < chart->series[s].count && count < TICKS_MAX; i++) {
            double x = x_at(chart, chart->series[s].points[i].x);
            size_t other = 0;
            while (other < count && fabs(taken[other] - x) > 24 + 3 * log10(chart->x_max))
                other++;
            if (other < count)
                continue;
            taken[count++] = x;
            buf_format(out, "<text class=\"tick middle\" x=\"%.1f\" y=\"%.0f\">%.10g</text>\n", x,
                       BOTTOM + 17, chart->series[s].points[i].x);
        }
    buf_format(out, "<text class=\"tick middle\" x=\"%.0f\" y=\"%.0f\">", (LEFT + RIGHT) / 2,
               BOTTOM + 38);
    char *option = mem_format("%.*s", (int)chart->option_length, chart->option);
    html_add_text(out, option, HTML_LINE);
    free(option);
    buf_add(out, "</text>\n");
}

static void draw_default(struct buf *out, const struct chart *chart)
{
    if (!isfinite(chart->default_rate))
        return;
    double y = y_at(chart, chart->default_rate);
    buf_format(out,
               "<line class=\"default\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" />"
               "<text class=\"tick end\" x=\"%.0f\" y=\"%.1f\">default</text>\n",
               LEFT, y, RIGHT, y, RIGHT, y + 15);
}

static void draw_band(struct buf *out, const struct chart *chart, const struct series *series)
{
    buf_add(out, "<polygon class=\"band\" points=\"");
    for (size_t i = 0; i < series->count; i++)
        if (has_band(&series->points[i]))
            buf_format(out, "%.1f,%.1f ", x_at(chart, series->points[i].x),
                       y_at(chart, series->points[i].high));
    for (size_t i = series->count; i-- > 0;)
        if (has_band(&series->points[i]))
            buf_format(out, "%.1f,%.1f ", x_at(chart, series->points[i].x),
                       y_at(chart, series->points[i].low));
    buf_add(out, "\" />\n<polyline class=\"line\" points=\"");
    for (size_t i = 0; i < series->count; i++)
        buf_format(out, "%.1f,%.1f ", x_at(chart, series->points[i].x),
                   y_at(chart, series->points[i].rate));
    buf_add(out, "\" />\n");
}

static void draw_points(struct buf *out, const struct chart *chart, const struct series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        const struct point *point = &series->points[i];
        double x = x_at(chart, point->x);
        double y = y_at(chart, point->rate);
        if (has_band(point))
            buf_format(out,
                       "<line class=\"whisker\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" />",
                       x, y_at(chart, point->low), x, y_at(chart, point->high));
        buf_format(out, "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" />\n", x, y);
        if (point->is_chosen)
            buf_format(out,
                       "<circle class=\"ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\" />"
                       "<text class=\"sweet middle\" x=\"%.1f\" y=\"%.1f\">%.10g</text>\n",
                       x, y, x, fmax(y - 13, 12), point->x);
    }
}

/* What is seen, for who does not see it. */
static void describe(struct buf *out, const struct chart *chart)
{
    for (size_t s = 0; s < chart->series_count; s++) {
        const struct series *series = &chart->series[s];
        html_add_text(out, series->name, HTML_LINE);
        buf_add(out, *series->name ? ": " : "");
        for (size_t i = 0; i < series->count; i++)
            buf_format(out, "%s%.10g gives %.4g MiB/s%s", i ? ", " : "", series->points[i].x,
                       series->points[i].rate, series->points[i].is_chosen ? " (recommended)" : "");
        buf_add(out, ". ");
    }
    if (isfinite(chart->default_rate))
        buf_format(out, "The default gives %.4g MiB/s.", chart->default_rate);
}

static void draw(struct buf *out, const struct chart *chart)
{
    buf_format(out,
               "<svg viewBox=\"0 0 %.0f %.0f\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
               "aria-labelledby=\"curve-title curve-description\">\n<title id=\"curve-title\">"
               "Speed of the settings</title>\n<desc id=\"curve-description\">",
               WIDTH, HEIGHT);
    describe(out, chart);
    buf_add(out, "</desc>\n");
    draw_y_axis(out, chart);
    draw_x_axis(out, chart);
    draw_default(out, chart);
    for (size_t i = 0; i < chart->series_count; i++) {
        buf_format(out, "<g class=\"series-%zu\">\n", i + 1);
        draw_band(out, chart, &chart->series[i]);
        draw_points(out, chart, &chart->series[i]);
        buf_add(out, "</g>\n");
    }
    buf_add(out, "</svg>\n");
}

static void add_legend(struct buf *out, const struct chart *chart)
{
    if (chart->series_count < 2)
        return;
    buf_add(out, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < chart->series_count; i++) {
        buf_format(out,
                   "<li class=\"series-%zu\"><svg class=\"key\" viewBox=\"0 0 32 8\" "
                   "xmlns=\"http://www.w3.org/2000/svg\" aria-hidden=\"true\"><line class=\"line\" "
                   "x1=\"0\" y1=\"4\" x2=\"32\" y2=\"4\" /></svg>",
                   i + 1);
        html_add_foreign(out, *chart->series[i].name ? chart->series[i].name : "alone");
        buf_add(out, "</li>\n");
    }
    buf_add(out, "</ul>\n");
}

void chart_curve(struct buf *out, const cJSON *report)
{
    struct chart chart;
    if (collect(report, &chart)) {
        buf_add(out, "<figure class=\"chart\">\n");
        draw(out, &chart);
        add_legend(out, &chart);
        buf_add(out, "<figcaption>Medians of the counted runs; bands and lines: their intervals.");
        if (chart.left_out > 0)
            buf_format(out, " %zu more %s in the table.", chart.left_out,
                       chart.left_out == 1 ? "setting stands" : "settings stand");
        buf_add(out, "</figcaption>\n</figure>\n");
    }
    chart_fini(&chart);
}
