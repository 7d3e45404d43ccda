#include "api/live.h"
#include "api/event_text.h"
#include "jobs/jobs.h"
#include "jobs/state.h"
#include "server/log.h"
#include "server/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct told {
    char job[JOB_ID_SIZE];
    int arm, percent;
    int64_t version; /* of its publishing; 0: not yet */
    struct buf text; /* the event; empty: what was published last still stands */
};

struct told_list {
    struct told items[JOBS_RUNNING_MAX];
    size_t count;
};

struct live {
    struct jobs *jobs;
    struct store *store;
    struct job_running *running; /* JOBS_RUNNING_MAX; live_look's */
    struct told_list *seen;      /* live_look's; taken over by live_publish */
    struct told_list *shown;
    int64_t version;
    atomic_bool is_anew; /* what stands is to be told once more: it is not shown now */
};

struct live *live_new(struct jobs *jobs, struct store *store)
{
    struct live *live = mem_alloc(1, sizeof *live);
    live->jobs = jobs;
    live->store = store;
    live->running = mem_alloc(JOBS_RUNNING_MAX, sizeof *live->running);
    live->seen = mem_alloc(1, sizeof *live->seen);
    live->shown = mem_alloc(1, sizeof *live->shown);
    return live;
}

static void empty(struct told_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        buf_fini(&list->items[i].text);
    list->count = 0;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    empty(live->seen);
    empty(live->shown);
    free(live->seen);
    free(live->shown);
    free(live->running);
    free(live);
}

static struct told *find(struct told_list *list, const char *job)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].job, job) == 0)
            return &list->items[i];
    return NULL;
}

/* --- looking --------------------------------------------------------------------------------- */

struct reading {
    const struct job_running *running;
    struct buf *out;
};

static int read_work(struct db *db, void *arg, struct err *err)
{
    const struct reading *reading = arg;
    struct job_row row = {0};
    if (store_job_get(db, reading->running->id, &row, err) < 0)
        return -1;
    if (job_state_by_name(row.state) == JOB_RUNNING) /* else its end is told by itself */
        event_text_add_live(&row, &reading->running->current, reading->out);
    job_row_fini(&row);
    return 0;
}

/* A trial that says nothing of itself is told by what is stored alone. */
static bool says_anything(const struct job_running *running)
{
    return running->current.arm >= 0 && running->current.percent >= 0;
}

static void see(struct live *live, const struct job_running *running, const struct told *before)
{
    struct err err;
    struct told *now = &live->seen->items[live->seen->count];
    *now = (struct told){.arm = running->current.arm, .percent = running->current.percent};
    memcpy(now->job, running->id, sizeof now->job);
    struct reading reading = {running, &now->text};
    bool is_new = !before || before->arm != now->arm || before->percent != now->percent;
    if (is_new && store_read(live->store, read_work, &reading, &err) < 0)
        log_event(LOG_LEVEL_WARN, "progress_unread", "job=%s error=%s", now->job,
                  log_quote(err.msg));
    if (!is_new || now->text.length > 0) /* else with the next look */
        live->seen->count++;
}

/* What live_look read last is compared with what it reads now; what is shown is not looked at,
 * since it is guarded. */
void live_look(struct live *live)
{
    struct told_list *before = mem_alloc(1, sizeof *before);
    *before = *live->seen;
    live->seen->count = 0;
    bool is_anew = atomic_exchange(&live->is_anew, false);
    size_t count = jobs_running(live->jobs, live->running, JOBS_RUNNING_MAX);
    for (size_t i = 0; i < count; i++)
        if (says_anything(&live->running[i]))
            see(live, &live->running[i], is_anew ? NULL : find(before, live->running[i].id));
    empty(before);
    free(before);
}

/* --- showing --------------------------------------------------------------------------------- */

static void drop(struct told_list *list, struct told *told)
{
    buf_fini(&told->text);
    *told = list->items[--list->count];
}

static bool show(struct live *live, struct told *seen)
{
    struct told *shown = find(live->shown, seen->job);
    if (seen->text.length == 0)
        return false;
    if (shown)
        drop(live->shown, shown);
    shown = &live->shown->items[live->shown->count++];
    *shown = *seen;
    shown->version = ++live->version;
    seen->text = (struct buf){0};
    return true;
}

bool live_publish(struct live *live)
{
    bool is_new = false;
    for (size_t i = live->shown->count; i-- > 0;) /* its trial is over */
        if (!find(live->seen, live->shown->items[i].job))
            drop(live->shown, &live->shown->items[i]);
    for (size_t i = 0; i < live->seen->count; i++)
        is_new |= show(live, &live->seen->items[i]);
    return is_new;
}

void live_forget(struct live *live, const char *job)
{
    struct told *shown = find(live->shown, job);
    if (!shown)
        return;
    drop(live->shown, shown);
    atomic_store(&live->is_anew, true);
}

void live_clear(struct live *live)
{
    empty(live->shown);
    atomic_store(&live->is_anew, true);
}

static bool is_due(const struct told *told, const char *job, int64_t seen)
{
    return told->version > seen && (*job == '\0' || strcmp(told->job, job) == 0);
}

bool live_has(const struct live *live, const char *job, int64_t seen)
{
    for (size_t i = 0; i < live->shown->count; i++)
        if (is_due(&live->shown->items[i], job, seen))
            return true;
    return false;
}

void live_take(const struct live *live, const char *job, int64_t *seen, struct buf *out)
{
    for (size_t i = 0; i < live->shown->count; i++) {
        const struct told *told = &live->shown->items[i];
        if (is_due(told, job, *seen))
            buf_add_bytes(out, buf_text(&told->text), told->text.length);
    }
    *seen = live->version;
}
