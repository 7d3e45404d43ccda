#include "jobs/notify.h"
#include "jobs/render.h"
#include "jobs/sign.h"
#include "jobs/webhook.h"
#include "server/clock.h"
#include "server/lock.h"
#include "server/log.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENDERS 32                       /* receivers that may be slow at the same time */
#define DUE_BATCH ((int64_t)2 * SENDERS) /* those under way are among them */
#define IDLE_MS 60000
#define STORE_PAUSE_NS ((int64_t)5 * 1000000000)
#define RETRY_AFTER_LONGEST_S 86400 /* a receiver that asks for a year is not obeyed */

/* Pauses before the second, third … try; after the last one it is dead. */
static const int64_t pauses_ms[] = {5000, 30000, 120000, 600000, 3600000, 21600000, 86400000};

/* One delivery under way. */
struct sender {
    struct notify *notify;
    pthread_t thread;
    struct delivery_row row; /* the thread's while it runs */
    bool started;            /* only the notify thread asks */
    bool done;               /* guarded by notify->lock */
};

struct notify {
    struct jobs_parts parts;
    pthread_t thread;
    struct sender senders[SENDERS];
    struct lock lock; /* guards the members below, and `done` of the senders */
    struct wait wake;
    bool woken;
    bool ending;
    int64_t paused_until_ns; /* a store that fails must not make us flood the receivers */
};

struct due_work {
    struct delivery_row *rows;
    size_t count;
};

/* The head of each webhook's deliveries, also of what is due later. */
static int due_work(struct db *db, void *arg, struct err *err)
{
    struct due_work *work = arg;
    return store_delivery_due(db, INT64_MAX, DUE_BATCH, &work->rows, &work->count, err);
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
    int rc = row->url_sealed
                 ? secrets_unseal(parts->secrets, row->url_sealed, row->name, out_url, err)
                 : secrets_resolve(parts->secrets, webhook->url_reference, out_url, err);
    if (rc < 0 && err->code == ERR_REFUSED)
        err->code = ERR_SYSTEM; /* the daemon may be given it, or its key, yet: tried again */
    return rc;
}

/* Discord says nothing of a message that it did not keep, unless it is asked to wait for it. */
static char *url_for(const struct webhook *webhook, const char *url)
{
    if (strcmp(webhook->format, "discord") != 0 || strstr(url, "wait="))
        return mem_copy(url);
    size_t path = strcspn(url, "#");
    return mem_format("%.*s%cwait=true", (int)path, url, memchr(url, '?', path) ? '&' : '?');
}

static int post(const struct jobs_parts *parts, const struct webhook *webhook, const char *url,
                const struct delivery_row *row, struct egress_answer *answer, struct err *err)
{
    char *body = NULL;
    char *secret = NULL;
    struct signature signature = {0};
    int rc =
        render_event(webhook->format, row->payload, row->id, parts->config->public_url, &body, err);
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
    if (rc == 0) {
        char *asked = url_for(&webhook, url);
        rc = post(parts, &webhook, asked, row, answer, err);
        secrets_free(asked);
    }
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
    bool is_redirect = done->answer.status >= 300 && done->answer.status < 400;
    char *said = mem_format("the receiver answered %ld%s", done->answer.status,
                            is_redirect ? "; redirects are not followed" : "");
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
    if (done.rc < 0 && done.err.code == ERR_CANCELLED)
        return true; /* we stop: nothing was said of the receiver */
    done.ended_at = clock_wall_ms();
    struct update_work update = {.row = row, .disable = notify_settle(row, &done)};
    egress_answer_fini(&done.answer);
    log_event(strcmp(row->state, "delivered") == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "delivery",
              "id=%s webhook=%s state=%s attempts=%" PRId64 " status=%" PRId64, row->id,
              row->webhook, row->state, row->attempts, row->last_status);
    if (store_write(notify->parts.store, update_work, &update, &err) == 0)
        return true;
    if (err.code == ERR_NOT_FOUND)
        return true; /* its webhook was deleted meanwhile, or it was asked for anew */
    log_event(LOG_LEVEL_ERROR, "delivery_not_stored", "error=%s", log_quote(err.msg));
    return false;
}

/* --- the senders --------------------------------------------------------------------------- */

static void *sender_thread(void *arg)
{
    struct sender *sender = arg;
    struct notify *notify = sender->notify;
    bool stored = deliver(notify, &sender->row);
    lock_take(&notify->lock);
    sender->done = true;
    if (!stored)
        notify->paused_until_ns = clock_mono_ns() + STORE_PAUSE_NS;
    notify->woken = true;
    wait_wake_all(&notify->wake);
    lock_drop(&notify->lock);
    return NULL;
}

static void sender_join(struct sender *sender)
{
    (void)pthread_join(sender->thread, NULL);
    delivery_row_fini(&sender->row);
    sender->started = false;
}

/* Frees the places of those that are done; how many work on. */
static size_t reap(struct notify *notify)
{
    size_t working = 0;
    for (size_t i = 0; i < SENDERS; i++) {
        struct sender *sender = &notify->senders[i];
        if (!sender->started)
            continue;
        lock_take(&notify->lock);
        bool done = sender->done;
        lock_drop(&notify->lock);
        if (done)
            sender_join(sender);
        else
            working++;
    }
    return working;
}

static void pause_all(struct notify *notify)
{
    lock_take(&notify->lock);
    notify->paused_until_ns = clock_mono_ns() + STORE_PAUSE_NS;
    lock_drop(&notify->lock);
}

/* Takes the row over and begins to deliver it; it stays due when no thread can be had. */
static void begin(struct notify *notify, struct delivery_row *row)
{
    char name[16];
    size_t i = 0;
    while (notify->senders[i].started)
        i++;
    struct sender *sender = &notify->senders[i];
    *sender = (struct sender){.notify = notify, .row = *row, .started = true};
    *row = (struct delivery_row){0};
    int failed = pthread_create(&sender->thread, NULL, sender_thread, sender);
    if (failed) {
        log_event(LOG_LEVEL_ERROR, "sender_not_started", "error=%s", log_quote(strerror(failed)));
        delivery_row_fini(&sender->row);
        sender->started = false;
        pause_all(notify);
        return;
    }
    (void)snprintf(name, sizeof name, "sender-%zu", i + 1);
    (void)pthread_setname_np(sender->thread, name); /* only for people */
}

static bool is_under_way(const struct notify *notify, const char *webhook)
{
    for (size_t i = 0; i < SENDERS; i++)
        if (notify->senders[i].started && strcmp(notify->senders[i].row.webhook, webhook) == 0)
            return true;
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

/* Begins what is due and has room; the moment (wall ms) when something is due next, 0 for none. */
static int64_t deliver_due(struct notify *notify)
{
    struct due_work work = {0};
    struct err err = {0};
    int64_t next_ms = 0;
    size_t working = reap(notify);
    if (store_read(notify->parts.store, due_work, &work, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "outbox_unreadable", "error=%s", log_quote(err.msg));
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < work.count; i++) {
        struct delivery_row *row = &work.rows[i];
        bool waits = is_under_way(notify, row->webhook) || working == SENDERS;
        if (!waits && row->next_at > now_ms && next_ms == 0)
            next_ms = row->next_at; /* the first of them is the earliest */
        if (!waits && row->next_at <= now_ms) {
            begin(notify, row);
            working++;
        }
        delivery_row_fini(row);
    }
    free(work.rows);
    return next_ms;
}

/* When to look again at the latest, monotonic. */
static int64_t look(struct notify *notify)
{
    lock_take(&notify->lock);
    int64_t paused_until_ns = notify->paused_until_ns;
    lock_drop(&notify->lock);
    if (clock_mono_ns() < paused_until_ns)
        return paused_until_ns;
    int64_t next_ms = deliver_due(notify);
    int64_t wait_ms = next_ms ? next_ms - clock_wall_ms() : IDLE_MS;
    return clock_mono_ns() + (wait_ms < IDLE_MS ? wait_ms : IDLE_MS) * 1000000;
}

static void *notify_thread(void *arg)
{
    struct notify *notify = arg;
    while (!is_ending(notify)) {
        int64_t until = look(notify);
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
    egress_abort(notify->parts.egress);
    (void)pthread_join(notify->thread, NULL);
    for (size_t i = 0; i < SENDERS; i++)
        if (notify->senders[i].started)
            sender_join(&notify->senders[i]);
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
