/* GET /metrics: the Prometheus text format. No job ids, names of databases or texts of people
 * among the labels: their number must stay small. */
#include "api/handlers.h"
#include "api/http_events.h"
#include "api/http_inner.h"
#include "api/metrics_text.h"
#include "api/process.h"
#include "api/request.h"
#include "jobs/jobs.h"
#include "server/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- families out of the store, one row each ------------------------------------------------ */

struct family {
    enum store_count count;
    const char *name, *type;
    const char *labels[2]; /* of the texts; NULL: none */
    double factor;         /* of the number */
    const char *help;
};

/* clang-format off */
static const struct family families[] = {
    {COUNT_JOBS,       "sweetspot_jobs",                               "gauge",   {"state"},             1, "Jobs that have not ended."},
    {COUNT_ENDED,      "sweetspot_jobs_finished_total",                "counter", {"kind", "outcome"},   1, "Jobs that ended, by kind and final state."},
    {COUNT_INTENTS,    "sweetspot_intents_open",                       "gauge",   {NULL},                1, "Changes on instances that are not undone yet."},
    {COUNT_UNDONE,     "sweetspot_reconcile_undone_total",             "counter", {"kind"},              1, "Changes on instances that were undone, by what they were."},
    {COUNT_INSTANCES,  "sweetspot_instance_up",                        "gauge",   {"instance"},          1, "1 while an instance's jobs may run; 0 while it refuses the login or is not reached."},
    {COUNT_RATES,      "sweetspot_backup_throughput_bytes_per_second", "gauge",   {"instance"},    1048576, "What the last report with a rate recommends, else its default."},
    {COUNT_DELIVERIES, "sweetspot_webhook_deliveries_total",           "counter", {"kind", "outcome"},   1, "Deliveries that are over, by the webhook's format."},
};
/* clang-format on */

/* The states that a gauge shows even when nothing is in them. */
static const char *const live_states[] = {"queued", "waiting", "running"};

struct scrape {
    struct buf out;
    const struct family *family; /* whose rows come */
    double live[3];              /* jobs by live_states */
    double oldest_ms;
    double ended, ended_s; /* of the histogram of durations, so far */
    bool paused;
};

static void see_row(void *ctx, const struct store_count_row *row)
{
    struct scrape *scrape = ctx;
    const struct family *family = scrape->family;
    struct metrics_label labels[2] = {{family->labels[0], row->texts[0]},
                                      {family->labels[1], row->texts[1]}};
    metrics_sample(&scrape->out, family->name, "", labels, row->numbers[0] * family->factor);
}

static void see_state(void *ctx, const struct store_count_row *row)
{
    struct scrape *scrape = ctx;
    for (size_t i = 0; i < JSON_COUNT(live_states); i++)
        if (strcmp(row->texts[0], live_states[i]) == 0)
            scrape->live[i] = row->numbers[0];
}

static void see_oldest(void *ctx, const struct store_count_row *row)
{
    ((struct scrape *)ctx)->oldest_ms = row->numbers[0];
}

#define DURATION "sweetspot_job_duration_seconds"

static void see_duration(void *ctx, const struct store_count_row *row)
{
    struct scrape *scrape = ctx;
    char bound[32] = "+Inf";
    if (!isinf(row->numbers[0]))
        (void)snprintf(bound, sizeof bound, "%.15g", row->numbers[0]);
    struct metrics_label labels[2] = {{"le", bound}, {NULL, NULL}};
    scrape->ended += row->numbers[1];
    scrape->ended_s += row->numbers[2];
    metrics_sample(&scrape->out, DURATION, "_bucket", labels, scrape->ended);
}

static int add_families(struct db *db, struct scrape *scrape, struct err *err)
{
    for (size_t i = 0; i < JSON_COUNT(families); i++) {
        const struct family *family = &families[i];
        bool is_jobs = family->count == COUNT_JOBS;
        scrape->family = family;
        metrics_family(&scrape->out, family->name, family->type, family->help);
        if (store_count(db, family->count, is_jobs ? see_state : see_row, scrape, err) < 0)
            return -1;
        for (size_t state = 0; is_jobs && state < JSON_COUNT(live_states); state++) {
            struct metrics_label labels[2] = {{"state", live_states[state]}, {NULL, NULL}};
            metrics_sample(&scrape->out, family->name, "", labels, scrape->live[state]);
        }
    }
    return 0;
}

static int count_work(struct db *db, void *arg, struct err *err)
{
    struct scrape *scrape = arg;
    if (add_families(db, scrape, err) < 0)
        return -1;
    metrics_family(&scrape->out, DURATION, "histogram",
                   "Ended jobs, from their start to their end.");
    if (store_count(db, COUNT_DURATIONS, see_duration, scrape, err) < 0)
        return -1;
    metrics_sample(&scrape->out, DURATION, "_sum", NULL, scrape->ended_s);
    metrics_sample(&scrape->out, DURATION, "_count", NULL, scrape->ended);
    if (store_paused_get(db, &scrape->paused, err) < 0)
        return -1;
    return store_count(db, COUNT_OLDEST, see_oldest, scrape, err);
}

/* --- the rest ------------------------------------------------------------------------------- */

static void add_gauge(struct buf *out, const char *name, const char *help, double value)
{
    metrics_family(out, name, "gauge", help);
    metrics_sample(out, name, "", NULL, value);
}

static void add_workers(struct buf *out, struct jobs *jobs)
{
    struct metrics_label busy[2] = {{"state", "busy"}, {NULL, NULL}};
    struct metrics_label free_ones[2] = {{"state", "free"}, {NULL, NULL}};
    metrics_family(out, "sweetspot_workers", "gauge", "Threads that carry jobs.");
    metrics_sample(out, "sweetspot_workers", "", busy, jobs_busy(jobs));
    metrics_sample(out, "sweetspot_workers", "", free_ones, jobs_free(jobs));
}

static void add_build(struct buf *out)
{
    struct metrics_label labels[2] = {{"version", SWEETSPOT_VERSION}, {NULL, NULL}};
    metrics_family(out, "sweetspot_build_info", "gauge", "Always 1.");
    metrics_sample(out, "sweetspot_build_info", "", labels, 1);
}

static void add_rest(struct req *req, struct scrape *scrape)
{
    struct buf *out = &scrape->out;
    double waited_ms = scrape->oldest_ms > 0 ? (double)clock_wall_ms() - scrape->oldest_ms : 0;
    add_gauge(out, "sweetspot_queue_oldest_seconds",
              "How long the oldest job has waited that has not started; 0: none waits.",
              waited_ms > 0 ? waited_ms / 1000 : 0);
    add_gauge(out, "sweetspot_paused", "1 while no job may start (POST /v1/mode).", scrape->paused);
    add_gauge(out, "sweetspot_store_healthy", "1 while the results database can be written.",
              store_is_healthy(req->parts->store));
    add_gauge(out, "sweetspot_event_streams", "Streams of events that are open.",
              events_count(req->http->events));
    add_workers(out, req->parts->jobs);
    add_build(out);
    metrics_histogram(out, "sweetspot_http_request_duration_seconds",
                      "From a request's head to its answer; long polls count whole.",
                      &req->http->times);
    metrics_histogram(out, "sweetspot_store_fsync_seconds",
                      "Commits of the results database, their flush included.",
                      store_commits(req->parts->store));
    process_add_metrics(out);
}

void metrics_get(struct req *req)
{
    struct err err;
    struct scrape scrape = {0};
    if (store_read(req->parts->store, count_work, &scrape, &err) < 0) {
        problem_err(req, &err);
    } else {
        add_rest(req, &scrape);
        req_answer_text(req, 200, MEDIA_METRICS, buf_take(&scrape.out));
    }
    buf_fini(&scrape.out);
}
