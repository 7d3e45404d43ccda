#include "session.h"
#include "others.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void sim_session_log(struct session *s, const char *text)
{
    struct sim *sim = s->sim;

    pthread_mutex_lock(&sim->lock);
    sim->statements =
        sim_realloc(sim->statements, (size_t)(sim->statement_count + 1) * sizeof(char *));
    sim->statements[sim->statement_count++] = sim_dup(text);
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
    if (sim->print_statements)
        (void)fprintf(stderr, "[%d] %s\n", s->spid, text);
}

static void count_attention(struct session *s)
{
    sim_session_log(s, "(attention)");
    pthread_mutex_lock(&s->sim->lock);
    s->sim->attentions++;
    pthread_cond_broadcast(&s->sim->changed);
    pthread_mutex_unlock(&s->sim->lock);
}

/* The peer is gone. */
static enum wake lose_peer(struct session *s)
{
    struct sim_fault fault;

    s->wire.broken = true;
    s->orphan = sim_fault_hit(s->sim, SIM_IGNORE_CLOSE, s->statement ? s->statement : "", &s->arena,
                              &fault);
    s->closing = !s->orphan;
    return s->orphan ? WAKE_SIGNAL : WAKE_CLOSED;
}

/* Reads what came while a request runs: only an attention or the end may. */
static enum wake read_interruption(struct session *s)
{
    struct bytes body = {0};
    struct sim_fault fault;
    uint8_t type = 0;
    char byte = 0;

    if (!s->wire.tls && recv(s->wire.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return lose_peer(s);
    int rc = wire_receive(&s->wire, &body, &type);
    sim_bytes_fini(&body);
    if (rc || type != PACKET_ATTENTION)
        return lose_peer(s);
    bool ignored = sim_fault_hit(s->sim, SIM_IGNORE_ATTENTION, s->statement ? s->statement : "",
                                 &s->arena, &fault);
    count_attention(s);
    if (ignored)
        return WAKE_SIGNAL;
    s->attention = true;
    return WAKE_ATTENTION;
}

enum wake sim_session_wait(struct session *s, int64_t until_us)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = s->orphan ? -1 : s->wire.fd, .events = POLLIN},
                                {.fd = s->wake_fd, .events = POLLIN}};
        int64_t left = until_us - sim_mono_us();
        struct timespec wait = {.tv_sec = left > 0 ? left / 1000000 : 0,
                                .tv_nsec = left > 0 ? left % 1000000 * 1000 : 0};
        if (s->attention)
            return WAKE_ATTENTION;
        if (s->closing)
            return WAKE_CLOSED;
        if (s->wire.broken && !s->orphan)
            return lose_peer(s);
        if (!s->orphan && wire_has_input(&s->wire))
            return read_interruption(s);
        int n = ppoll(fds, 2, &wait, NULL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return WAKE_TIMEOUT;
        if (fds[0].revents)
            return read_interruption(s);
        uint64_t count = 0;
        (void)!read(s->wake_fd, &count, sizeof(count));
        return WAKE_SIGNAL;
    }
}

bool sim_session_should_stop(struct session *s)
{
    pthread_mutex_lock(&s->sim->lock);
    bool killed = s->killed || s->sim->stopping;
    pthread_mutex_unlock(&s->sim->lock);
    if (killed)
        s->closing = true;
    if (s->attention || s->closing)
        return true;
    enum wake w = WAKE_SIGNAL;
    while (w == WAKE_SIGNAL)
        w = sim_session_wait(s, 0);
    return w != WAKE_TIMEOUT;
}

void sim_session_reset(struct session *s)
{
    for (int i = 0; i < s->prepared_count; i++) {
        free(s->prepared[i].text);
        free(s->prepared[i].parameters);
    }
    s->prepared_count = 0;
    s->no_count = s->xact_abort = s->implicit = false;
    s->flag_count = 0;
    s->row_count = 0;
    s->error = 0;
    while (s->transactions)
        sim_transaction(s, "ROLLBACK", NULL);
    pthread_mutex_lock(&s->sim->lock);
    memset(s->waits, 0, sizeof(s->waits));
    sim_applocks_end_locked(s, true);
    pthread_mutex_unlock(&s->sim->lock);
}

/* Behind ALL_HEADERS, or -1 when its length is wrong. */
static ptrdiff_t behind_headers(const struct bytes *body)
{
    if (body->len < 4)
        return -1;
    size_t n = body->data[0] | (size_t)body->data[1] << 8 | (size_t)body->data[2] << 16 |
               (size_t)body->data[3] << 24;
    return n < 4 || n > body->len ? -1 : (ptrdiff_t)n;
}

static void transaction_request(struct session *s, const struct bytes *body, size_t at)
{
    unsigned kind = at + 2 <= body->len ? body->data[at] | (unsigned)body->data[at + 1] << 8 : 0;
    const char *verb = kind == 5 ? "BEGIN" : kind == 7 ? "COMMIT" : kind == 8 ? "ROLLBACK" : NULL;
    bool follow = false;

    if (kind == 9) { /* savepoint */
        sim_reply_done(s, DONE_TOKEN, 0, 0xFD, 0);
    } else if (!verb) {
        sim_raise(s, 3902, 1, NULL);
        sim_reply_done(s, DONE_TOKEN, DONE_ERROR, 0, 0);
    } else {
        if (kind != 5 && at + 3 <= body->len) { /* name, then flags: 1 = begin another one */
            size_t flags = at + 3 + (size_t)body->data[at + 2];
            follow = flags < body->len && body->data[flags] & 1;
        }
        sim_transaction(s, verb, NULL);
        if (follow)
            sim_transaction(s, "BEGIN", NULL);
        sim_reply_done(s, DONE_TOKEN, 0, kind == 5 ? 0xD4 : kind == 7 ? 0xD5 : 0xD2, 0);
    }
    sim_reply_finish(s);
}

static void request(struct session *s, const struct bytes *body, uint8_t type)
{
    ptrdiff_t at = behind_headers(body);
    struct sim *sim = s->sim;

    if (type == PACKET_ATTENTION) {
        struct sim_fault fault;
        count_attention(s);
        if (sim_fault_hit(sim, SIM_IGNORE_ATTENTION, "", &s->arena, &fault))
            return;
        sim_reply_done(s, DONE_TOKEN, DONE_ATTENTION, 0, 0);
        sim_reply_finish(s);
        return;
    }
    if (at < 0 || (type != PACKET_BATCH && type != PACKET_RPC && type != PACKET_TRANSACTION)) {
        s->closing = true;
        return;
    }
    pthread_mutex_lock(&sim->lock);
    s->request_us = sim_now_us_locked(sim);
    sim_moments_run_locked(sim, 0, 0);
    pthread_mutex_unlock(&sim->lock);
    if (s->wire.reset_asked) {
        sim_session_reset(s);
        sim_reply_env_binary(s, 18, "", 0);
    }
    if (type == PACKET_BATCH)
        sim_run_batch(
            s, sim_utf8_from_utf16(&s->arena, body->data + at, (body->len - (size_t)at) / 2));
    else if (type == PACKET_RPC)
        sim_run_rpc(s, body, (size_t)at);
    else
        transaction_request(s, body, (size_t)at);
}

static void talk(struct session *s)
{
    struct bytes body = {0};
    uint8_t type = 0;
    bool login_only = false;

    uint8_t first = 0;
    if (recv(s->wire.fd, &first, 1, MSG_PEEK) != 1)
        return;
    if (first == 0x16) { /* TDS 8: TLS before anything else */
        if (s->sim->encryption == SIM_TLS_NONE || wire_tls_start(&s->wire, s->sim->identity, true))
            return;
        s->encrypted = s->strict = true;
    }
    if (wire_receive(&s->wire, &body, &type) || type != PACKET_PRELOGIN ||
        sim_prelogin(s, &body, &login_only))
        goto out;
    if (wire_receive(&s->wire, &body, &type) || type != PACKET_LOGIN)
        goto out;
    if (login_only)
        wire_tls_end(&s->wire);
    if (sim_login(s, &body))
        goto out;
    while (!s->closing && !s->wire.broken && !wire_receive(&s->wire, &body, &type)) {
        request(s, &body, type);
        sim_arena_fini(&s->arena);
    }
out:
    sim_bytes_fini(&body);
}

static void drop_temporary_locked(struct session *s)
{
    struct sim_db *db = sim_db_by_id_locked(s->sim, 2);
    for (int i = db ? db->table_count - 1 : -1; i >= 0; i--)
        if (db->tables[i]->owner_spid == s->spid)
            sim_table_drop_locked(db, db->tables[i]);
}

void *sim_session_run(void *pointer)
{
    struct session *s = pointer;
    struct sim *sim = s->sim;

    talk(s);
    while (s->transactions)
        sim_transaction(s, "ROLLBACK", NULL);
    s->wire.pending.len = 0;
    pthread_mutex_lock(&sim->lock);
    wire_close(&s->wire); /* under the lock: sim_stop may be about to shut it down */
    drop_temporary_locked(s);
    sim_applocks_end_locked(s, true);
    for (struct session **p = &sim->sessions; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    s->next = sim->ended;
    sim->ended = s;
    s->ready = false;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
    return NULL;
}

void sim_session_free(struct session *s)
{
    if (s->wire.fd >= 0)
        wire_close(&s->wire);
    (void)close(s->wake_fd);
    for (int i = 0; i < s->prepared_count; i++) {
        free(s->prepared[i].text);
        free(s->prepared[i].parameters);
    }
    free(s->prepared);
    free(s->login);
    free(s->host);
    free(s->program);
    free(s->database);
    free(s->interface);
    free(s->sql_text);
    sim_arena_fini(&s->arena);
    free(s);
}
