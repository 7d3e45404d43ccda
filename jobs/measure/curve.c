#include "jobs/measure/curve.h"

#include "jobs/measure/stats.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>

#define POINTS_LEAST 5  /* three parameters, and two to see that they do not fit */
#define FREEDOM_LEAST 3 /* else the noise is hardly known */
#define FIT_ALPHA 0.05  /* chance of refusing a curve that is of the family */
#define CELLS 40        /* of a grid over depth and bend, each way */
#define ZOOMS 3         /* grids, each over what the one before left */

/* Logarithms of depth (0 and 1) and bend: from flat to a hundredth of the height at the smallest
 * x, from a bend of 1/5 to 5. */
static const double widest[2][2] = {{-8, 5}, {-1.6, 1.6}};

struct search {
    const struct curve_point *points;
    size_t count;
    double *log_u; /* per point */
    double *shape; /* per point: room for the curve less its height */
    double weight; /* sum of n */
    double box[2][2];
    double squares[CELLS][CELLS]; /* left by each candidate */
    double least;                 /* of all squares seen */
};

static double value_at(const struct search *search, int which, int cell)
{
    const double *ends = search->box[which];
    return ends[0] + (ends[1] - ends[0]) * cell / (CELLS - 1);
}

static void shape_of(struct search *search, int depth, int bend)
{
    double log_depth = value_at(search, 0, depth);
    double k = exp(value_at(search, 1, bend));
    for (size_t i = 0; i < search->count; i++)
        search->shape[i] = -log1p(exp(log_depth - k * search->log_u[i]));
}

/* Weighted squares left at the height that suits this shape best. */
static double squares_of(const struct search *search)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < search->count; i++)
        sum += search->points[i].n * (search->points[i].y - search->shape[i]);
    double height = sum / search->weight;
    for (size_t i = 0; i < search->count; i++) {
        double off = search->points[i].y - search->shape[i] - height;
        squares += search->points[i].n * off * off;
    }
    return squares;
}

static void fill(struct search *search)
{
    for (int i = 0; i < CELLS; i++)
        for (int j = 0; j < CELLS; j++) {
            shape_of(search, i, j);
            search->squares[i][j] = squares_of(search);
            search->least = fmin(search->least, search->squares[i][j]);
        }
}

/* Draws the box in around what is still possible, with a cell to spare. */
static void zoom(struct search *search, double allowed)
{
    int first[2] = {CELLS - 1, CELLS - 1};
    int last[2] = {0, 0};
    for (int i = 0; i < CELLS; i++)
        for (int j = 0; j < CELLS; j++) {
            const int at[2] = {i, j};
            for (int k = 0; k < 2 && search->squares[i][j] <= allowed; k++) {
                first[k] = at[k] < first[k] ? at[k] : first[k];
                last[k] = at[k] > last[k] ? at[k] : last[k];
            }
        }
    for (int k = 0; k < 2; k++) {
        double low = value_at(search, k, first[k] > 0 ? first[k] - 1 : 0);
        double high = value_at(search, k, last[k] < CELLS - 1 ? last[k] + 1 : CELLS - 1);
        search->box[k][0] = low;
        search->box[k][1] = high;
    }
}

static void collect(struct search *search, double allowed, double *out_least)
{
    for (size_t p = 0; p < search->count; p++)
        out_least[p] = INFINITY;
    for (int i = 0; i < CELLS; i++)
        for (int j = 0; j < CELLS; j++) {
            if (!(search->squares[i][j] <= allowed))
                continue;
            double top = -INFINITY;
            shape_of(search, i, j);
            for (size_t p = 0; p < search->count; p++)
                top = fmax(top, search->shape[p]);
            for (size_t p = 0; p < search->count; p++)
                out_least[p] = fmin(out_least[p], top - search->shape[p]);
        }
}

static void start(struct search *search, const struct curve_point *points, size_t count)
{
    double least_x = INFINITY;
    search->points = points;
    search->count = count;
    search->least = INFINITY;
    search->log_u = mem_alloc(count, sizeof *search->log_u);
    search->shape = mem_alloc(count, sizeof *search->shape);
    for (size_t i = 0; i < count; i++)
        least_x = fmin(least_x, points[i].x);
    for (size_t i = 0; i < count; i++) {
        search->log_u[i] = log(points[i].x / least_x);
        search->weight += points[i].n;
    }
    for (int k = 0; k < 2; k++)
        for (int end = 0; end < 2; end++)
            search->box[k][end] = widest[k][end];
}

bool curve_gaps(const struct curve_point *points, size_t count, double variance, double freedom,
                double confidence, double *out_least)
{
    if (count < POINTS_LEAST || !(freedom >= FREEDOM_LEAST) || !(variance > 0))
        return false;
    struct search search = {0};
    double t = stats_t_quantile(confidence, freedom);
    double reach = t * t * variance;
    start(&search, points, count);
    for (int i = 0; i < ZOOMS; i++) {
        if (i > 0) /* a coarse grid has not met the best yet */
            zoom(&search, search.least + (i == 1 ? 9 : 2) * reach);
        fill(&search);
    }
    double spare = (double)count - 3;
    bool fits = stats_f_tail(search.least / spare / variance, spare, freedom) >= FIT_ALPHA;
    if (fits)
        collect(&search, search.least + reach, out_least);
    free(search.log_u);
    free(search.shape);
    return fits;
}
