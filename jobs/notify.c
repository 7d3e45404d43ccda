#include "jobs/notify.h"
#include "jobs/render.h"
#include "jobs/sign.h"
#include "jobs/webhook.h"
#include "server/clock.h"
#include "server/lock.h"
#include "server/log.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DUE_BATCH 16
#define IDLE_NS ((int64_t)60 * 1000000000)
#define STORE_PAUSE_MS 5000
#define RETRY_AFTER_LONGEST_S 86400 /* a receiver that asks for a year is not obeyed */

/* Pauses before the second, third … try; after the last one it is dead. */
static const int64_t pauses_ms[] = {5000, 30000, 120000, 600000, 3600000, 21600000, 86400000};

struct notify {
    struct jobs_parts parts;
    pthread_t thread;
    struct lock lock; /* guards the members below */
    struct wait wake;
    bool woken;
    bool ending;
};

struct due_work {
    int64_t now_ms;
    struct delivery_row *rows;
    size_t count;
    int64_t next_ms;
};

static int due_work(struct db *db, void *arg, struct err *err)
{
    struct due_work *work = arg;
    if (store_delivery_due(db, work->now_ms, DUE_BATCH, &work->rows, &work->count, err) < 0)
        return -1;
    return store_delivery_next(db, &work->next_ms, err);
}

static int webhook_work(struct db *db, void *arg, struct err *err)
{
    struct webhook_row *row = arg;
    char *name = row->name;
    row->name = NULL;
    int rc = store_webhook_get(db, name, row, err);
    free(name);
    return rc;
}

struct update_work {
    const struct delivery_row *row;
    bool disable;
};

static int update_work(struct db *db, void *arg, struct err *err)
{
    const struct update_work *work = arg;
    if (work->disable && store_webhook_disable(db, work->row->webhook, err) < 0)
        return -1;
    return store_delivery_update(db, work->row, err);
}

/* --- one delivery -------------------------------------------------------------------------- */

static int url_of(const struct jobs_parts *parts, const struct webhook *webhook,
                  const struct webhook_row *row, char **out_url, struct err *err)
{
    if (row->url_sealed)
        return secrets_unseal(parts->secrets, row->url_sealed, row->name, out_url, err);
    int rc = secrets_resolve(parts->secrets, webhook->url_reference, out_url, err);
    if (rc < 0 && err->code == ERR_REFUSED)
        err->code = ERR_SYSTEM; /* the daemon may be given it yet: tried again */
    return rc;
}

static int post(const struct jobs_parts *parts, const struct webhook *webhook, const char *url,
                const struct delivery_row *row, struct egress_answer *answer, struct err *err)
{
    char *body = NULL;
    char *secret = NULL;
    struct signature signature = {0};
    int rc = render_event(webhook->format, row->payload, row->id, &body, err);
    bool is_signed = rc == 0 && strcmp(webhook->format, "json") == 0;
    if (is_signed && webhook->secret)
        rc = secrets_resolve(parts->secrets, webhook->secret, &secret, err);
    if (rc == 0 && is_signed)
        rc = sign_delivery(row->id, clock_wall_ms() / 1000, body, secret, &signature, err);
    if (rc == 0) {
        struct egress_request request = {.url = url,
                                         .content_type = "application/json",
                                         .body = body,
                                         .body_length = strlen(body),
                                         .headers = (const char *const *)signature.headers,
                                         .header_count = signature.count};
        rc = egress_post(parts->egress, &request, answer, err);
    }
    signature_fini(&signature);
    secrets_free(secret);
    free(body);
    return rc;
}

static int attempt(const struct jobs_parts *parts, const struct delivery_row *row,
                   struct egress_answer *answer, struct err *err)
{
    struct webhook_row stored = {.name = mem_copy(row->webhook)};
    struct webhook webhook = {0};
    char *url = NULL;
    int rc = store_read(parts->store, webhook_work, &stored, err);
    if (rc == 0 && stored.disabled)
        rc = err_set(err, ERR_REFUSED, 0, "the webhook is disabled");
    if (rc == 0)
        rc = webhook_load(stored.definition, &webhook, err);
    if (rc == 0)
        rc = url_of(parts, &webhook, &stored, &url, err);
    if (rc == 0)
        rc = post(parts, &webhook, url, row, answer, err);
    secrets_free(url);
    webhook_fini(&webhook);
    webhook_row_fini(&stored);
    return rc;
}

/* Any 2xx; receivers that say 200 with an error text in the body do not do so for a valid body. */
static bool is_delivered(const struct egress_answer *answer)
{
    return answer->status >= 200 && answer->status < 300;
}

static bool may_be_retried(const struct notify_try *done)
{
    if (done->rc < 0)
        return done->err.code == ERR_UNREACHABLE || done->err.code == ERR_TIMEOUT ||
               done->err.code == ERR_STORE || done->err.code == ERR_SYSTEM;
    return done->answer.status !=
           410; /* api.md §5: a 404 or a redirect may be a mistake of a day */
}

/* Milliseconds until the next try. */
static int64_t pause_after(const struct notify_try *done, int64_t tries)
{
    int64_t pause = pauses_ms[tries - 1];
    if (done->rc < 0 || done->answer.retry_after_s <= 0)
        return pause;
    int64_t asked_s = done->answer.retry_after_s < RETRY_AFTER_LONGEST_S
                          ? done->answer.retry_after_s
                          : RETRY_AFTER_LONGEST_S;
    return asked_s * 1000 > pause ? asked_s * 1000 : pause;
}

bool notify_settle(struct delivery_row *row, const struct notify_try *done)
{
    int64_t tries = ++row->attempts;
    row->last_status = done->rc == 0 ? done->answer.status : 0;
    if (done->rc == 0 && is_delivered(&done->answer)) {
        mem_replace(&row->state, "delivered");
        mem_replace(&row->last_error, NULL);
        return false;
    }
    char *said = mem_format("the receiver answered %ld", done->answer.status);
    mem_replace(&row->last_error, done->rc < 0 ? done->err.msg : said);
    free(said);
    if (may_be_retried(done) && tries <= (int64_t)JSON_COUNT(pauses_ms))
        row->next_at = done->ended_at + pause_after(done, tries);
    else
        mem_replace(&row->state, "dead");
    return done->rc == 0 && done->answer.status == 410;
}

/* False when how it went could not be stored: then the same delivery is due again. */
static bool deliver(struct notify *notify, struct delivery_row *row)
{
    struct err err = {0};
    struct notify_try done = {.answer.retry_after_s = -1};
    done.rc = attempt(&notify->parts, row, &done.answer, &done.err);
    done.ended_at = clock_wall_ms();
    struct update_work update = {.row = row, .disable = notify_settle(row, &done)};
    egress_answer_fini(&done.answer);
    log_event(strcmp(row->state, "delivered") == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "delivery",
              "id=%s webhook=%s state=%s attempts=%" PRId64 " status=%" PRId64, row->id,
              row->webhook, row->state, row->attempts, row->last_status);
    if (store_write(notify->parts.store, update_work, &update, &err) == 0)
        return true;
    if (err.code == ERR_NOT_FOUND)
        return true; /* its webhook was deleted meanwhile, and the delivery with it */
    log_event(LOG_LEVEL_ERROR, "delivery_not_stored", "error=%s", log_quote(err.msg));
    return false;
}

/* --- the thread ---------------------------------------------------------------------------- */

static bool is_ending(struct notify *notify)
{
    lock_take(&notify->lock);
    bool ending = notify->ending;
    lock_drop(&notify->lock);
    return ending;
}

/* Delivers what is due; the moment (wall ms) when something is due next, 0 for none. */
static int64_t deliver_due(struct notify *notify)
{
    struct due_work work = {.now_ms = clock_wall_ms()};
    struct err err = {0};
    if (store_read(notify->parts.store, due_work, &work, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "outbox_unreadable", "error=%s", log_quote(err.msg));
    bool stored = true;
    for (size_t i = 0; i < work.count; i++) {
        if (stored && !is_ending(notify))
            stored = deliver(notify, &work.rows[i]);
        delivery_row_fini(&work.rows[i]);
    }
    free(work.rows);
    if (!stored) /* a store that fails must not make us flood the receivers */
        return clock_wall_ms() + STORE_PAUSE_MS;
    return work.count > 0 ? work.now_ms : work.next_ms;
}

static void *notify_thread(void *arg)
{
    struct notify *notify = arg;
    while (!is_ending(notify)) {
        int64_t next_ms = deliver_due(notify);
        int64_t wait_ns = next_ms ? (next_ms - clock_wall_ms()) * 1000000 : IDLE_NS;
        int64_t until = clock_mono_ns() + (wait_ns < IDLE_NS ? wait_ns : IDLE_NS);
        lock_take(&notify->lock);
        while (!notify->woken && !notify->ending && clock_mono_ns() < until)
            wait_until(&notify->wake, &notify->lock, until);
        notify->woken = false;
        lock_drop(&notify->lock);
    }
    return NULL;
}

int notify_start(const struct jobs_parts *parts, struct notify **out, struct err *err)
{
    struct notify *notify = mem_alloc(1, sizeof *notify);
    notify->parts = *parts;
    lock_init(&notify->lock);
    wait_init(&notify->wake);
    int failed = pthread_create(&notify->thread, NULL, notify_thread, notify);
    if (failed) {
        wait_fini(&notify->wake);
        lock_fini(&notify->lock);
        free(notify);
        return err_set(err, ERR_SYSTEM, failed, "start the notifier: %s", strerror(failed));
    }
    (void)pthread_setname_np(notify->thread, "notify"); /* only for people */
    *out = notify;
    return 0;
}

void notify_stop(struct notify *notify)
{
    if (!notify)
        return;
    lock_take(&notify->lock);
    notify->ending = true;
    wait_wake_all(&notify->wake);
    lock_drop(&notify->lock);
    (void)pthread_join(notify->thread, NULL);
    wait_fini(&notify->wake);
    lock_fini(&notify->lock);
    free(notify);
}

void notify_wake(struct notify *notify)
{
    if (!notify)
        return;
    lock_take(&notify->lock);
    notify->woken = true;
    wait_wake_all(&notify->wake);
    lock_drop(&notify->lock);
}
