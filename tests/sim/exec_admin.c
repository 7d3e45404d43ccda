/* exec_admin.c: statements about the session: SET, USE, PRINT, WAITFOR, transactions … */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "catalog.h"
#include "others.h"

bool sim_set_language(struct session *s, const char *name)
{
    int lcid = sim_language_find(name);

    if (!lcid)
        return sim_raise_text(
            s, 2740, 16, 1,
            sim_arena_printf(
                &s->arena,
                "SET LANGUAGE failed because '%s' is not an official language name or a "
                "language alias on this SQL Server.",
                name));
    const char *old = sim_language_name(s->language);
    s->language = lcid;
    sim_reply_env(s, 2, sim_language_name(lcid), old);
    sim_raise(s, 5703, 1, sim_language_name(lcid), NULL);
    return true;
}

bool sim_use_database(struct session *s, const char *name)
{
    const char *real = NULL;

    if (!sim_database_open(s, name, &real))
        return false;
    pthread_mutex_lock(&s->sim->lock);
    const char *old = sim_arena_dup(&s->arena, s->database);
    sim_replace(&s->database, real);
    pthread_mutex_unlock(&s->sim->lock);
    sim_reply_env(s, 1, real, old);
    sim_raise(s, 5701, s->ready ? 1 : 2, real, NULL);
    return true;
}

void sim_transaction(struct session *s, const char *verb, const char *name)
{
    uint64_t descriptor = 0x3600000000U + (uint64_t)s->spid;
    bool begin = !strcmp(verb, "BEGIN"), commit = !strcmp(verb, "COMMIT");

    if (!strcmp(verb, "SAVE") || (name && !commit && !begin)) /* a savepoint keeps everything */
        return;
    if (begin) {
        if (s->transactions++ == 0)
            sim_reply_env_binary(s, 8, &descriptor, 8);
        return;
    }
    if (!s->transactions) {
        sim_raise(s, commit ? 3902 : 3903, 1, NULL);
        return;
    }
    if (commit && --s->transactions)
        return;
    s->transactions = 0;
    pthread_mutex_lock(&s->sim->lock);
    sim_undo_end_locked(s, !commit);
    sim_applocks_end_locked(s, false);
    pthread_mutex_unlock(&s->sim->lock);
    sim_reply_env_binary(s, commit ? 9 : 10, &descriptor, 8);
}

bool sim_hold(struct session *s)
{
    struct sim *sim = s->sim;

    pthread_mutex_lock(&sim->lock);
    unsigned before = sim->releases;
    sim->held++;
    s->held = true;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
    bool going = true, released = false;
    wire_flush(&s->wire);
    while (going && !released) {
        enum wake w = sim_session_wait(s, sim_mono_us() + 1000000);
        pthread_mutex_lock(&sim->lock);
        released = sim->releases != before;
        bool stopping = sim->stopping || s->killed;
        pthread_mutex_unlock(&sim->lock);
        going = w != WAKE_ATTENTION && w != WAKE_CLOSED && !stopping;
    }
    pthread_mutex_lock(&sim->lock);
    sim->held--;
    s->held = false;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
    return going;
}

bool sim_sleep(struct session *s, int64_t us)
{
    struct sim *sim = s->sim;
    int64_t start = sim_mono_us();
    int64_t until = start + (int64_t)((double)us * sim->time_scale);
    enum wake w = WAKE_SIGNAL;

    while (w == WAKE_SIGNAL)
        w = sim_session_wait(s, until);
    int64_t waited = sim_mono_us() - start;
    if (w == WAKE_TIMEOUT && waited < us) {
        pthread_mutex_lock(&sim->lock);
        sim->skipped_us += us - waited;
        pthread_mutex_unlock(&sim->lock);
    }
    return w == WAKE_TIMEOUT;
}

static bool run_option(struct frame *f, const struct stmt *st)
{
    static const char *const known[] = {"ANSI_NULLS",
                                        "ANSI_WARNINGS",
                                        "ANSI_PADDING",
                                        "ANSI_NULL_DFLT_ON",
                                        "ANSI_NULL_DFLT_OFF",
                                        "ANSI_DEFAULTS",
                                        "ARITHABORT",
                                        "ARITHIGNORE",
                                        "CONCAT_NULL_YIELDS_NULL",
                                        "QUOTED_IDENTIFIER",
                                        "NUMERIC_ROUNDABORT",
                                        "TEXTSIZE",
                                        "LOCK_TIMEOUT",
                                        "DATEFORMAT",
                                        "DATEFIRST",
                                        "ROWCOUNT",
                                        "TRANSACTION ISOLATION LEVEL",
                                        "CURSOR_CLOSE_ON_COMMIT",
                                        "DEADLOCK_PRIORITY",
                                        "STATISTICS",
                                        "NOEXEC",
                                        "PARSEONLY",
                                        "FMTONLY",
                                        "SHOWPLAN_ALL",
                                        "IDENTITY_INSERT",
                                        "CONTEXT_INFO",
                                        "QUERY_GOVERNOR_COST_LIMIT",
                                        "FORCEPLAN"};
    struct session *s = f->session;
    struct value v = sim_text("");

    if (st->expr && !tsql_value(f, st->expr, &v))
        return false;
    const char *text = sim_value_text(f->arena, &v, 0);
    bool on = sim_text_is(text, "ON");
    if (sim_text_is(st->verb, "LANGUAGE"))
        return sim_set_language(s, text);
    if (sim_text_is(st->verb, "NOCOUNT"))
        s->no_count = on;
    else if (sim_text_is(st->verb, "XACT_ABORT"))
        s->xact_abort = on;
    else if (sim_text_is(st->verb, "IMPLICIT_TRANSACTIONS"))
        s->implicit = on;
    else {
        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
            if (sim_text_is(known[i], st->verb))
                return true;
        return sim_raise(s, 195, 5, st->verb, "SET option", NULL);
    }
    return true;
}

/* %s and %d as RAISERROR fills them in. */
static const char *format_text(struct frame *f, const char *format, const struct value *args, int n)
{
    struct bytes b = {0};
    int next = 0;
    for (const char *p = format; *p; p++) {
        size_t flags = *p == '%' ? strspn(p + 1, "-+ #0123456789.lI64") : 0;
        if (*p == '%' && p[1] == '%') {
            sim_bytes_u8(&b, '%');
            p++;
        } else if (*p == '%' && p[flags + 1] && strchr("sdiuxXo", p[flags + 1])) {
            sim_bytes_text(&b, next < n ? sim_value_text(f->arena, &args[next], 0) : "(null)");
            next++;
            p += flags + 1;
        } else {
            sim_bytes_put(&b, p, 1);
        }
    }
    char *text = sim_arena_dup(f->arena, sim_bytes_str(&b));
    sim_bytes_fini(&b);
    return text;
}

static bool run_raiserror(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    struct value v[24] = {{.is_null = true}};
    int64_t severity = 16, state = 1;

    for (int i = 0; i < st->expr_count && i < 24; i++)
        if (!tsql_value(f, st->exprs[i], &v[i]))
            return false;
    if (st->expr_count < 3)
        return sim_raise(s, 102, 1, ")", NULL);
    severity = v[1].i;
    state = v[2].i;
    int number = sim_type_is_text(&v[0].type) ? 50000 : (int)v[0].i;
    if (number < 50000 && !sim_message_find(number))
        return sim_raise(s, 2732, 1, sim_num(s, number), "13000", "2147483647", NULL);
    const char *text = number == 50000
                           ? format_text(f, v[0].is_null ? "" : v[0].s, v + 3, st->expr_count - 3)
                           : sim_message_text(f->arena, number, s->language, NULL, 0);
    if (severity > 18 && !s->sysadmin)
        return sim_raise_text(s, 2754, 16, 1,
                              "Error severity levels greater than 18 can only be "
                              "specified by members of the sysadmin role, using the "
                              "WITH LOG option.");
    sim_raise_text(s, number, (int)severity, (int)state, text);
    if (sim_text_is(st->verb, "NOWAIT"))
        wire_flush(&s->wire);
    return severity <= 10;
}

static enum flow run_throw(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    struct value v[3];
    bool again = st->expr_count == 0;

    if (again && !s->caught_number) {
        sim_raise_text(s, 10704, 15, 1,
                       "To rethrow an error, a THROW statement must be used inside a "
                       "CATCH block.");
    } else if (again) {
        sim_raise_text(s, s->caught_number, s->caught_severity, s->caught_state, s->caught_text);
    } else {
        for (int i = 0; i < st->expr_count && i < 3; i++)
            if (!tsql_value(f, st->exprs[i], &v[i]))
                return sim_after(f, false, 0, -1);
        if (st->expr_count == 3)
            sim_raise_text(s, (int)v[0].i, 16, (int)v[2].i, v[1].s ? v[1].s : "");
    }
    enum flow flow = sim_after(f, false, 0, -1);
    return flow == FLOW_NEXT ? FLOW_END : flow;
}

static bool run_waitfor(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    struct value v = {0}, t = {0};

    if (!tsql_value(f, st->expr, &v))
        return false;
    if (v.is_null || sim_convert(f->arena, &v, sim_type(VT_TIME, 0), 0, &t))
        return sim_raise_text(
            s, 148, 15, 1,
            sim_arena_printf(f->arena,
                             "Incorrect time syntax in time string '%s' used with WAITFOR.",
                             v.is_null || !v.s ? "" : v.s));
    wire_flush(&s->wire);
    return sim_sleep(s, t.i / 10);
}

static bool run_kill(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    struct value v = {0};
    bool found = false;

    if (!tsql_value(f, st->expr, &v))
        return false;
    if (v.i == s->spid)
        return sim_raise(s, 6104, 1, NULL);
    pthread_mutex_lock(&s->sim->lock);
    for (struct session *other = s->sim->sessions; other; other = other->next)
        if (other->spid == v.i && other->ready) {
            other->killed = found = true;
            (void)shutdown(other->wire.fd, SHUT_RD); /* its thread notices and says good-bye */
        }
    found = found || sim_foreign_kill_locked(s->sim, (int)v.i);
    pthread_mutex_unlock(&s->sim->lock);
    return found ? true : sim_raise(s, 6106, 2, sim_num(s, v.i), NULL);
}

static bool run_print(struct frame *f, const struct stmt *st)
{
    struct value v = {0};
    if (!tsql_value(f, st->expr, &v))
        return false;
    sim_reply_info(f->session, 0, 1, 0, v.is_null ? " " : sim_value_text(f->arena, &v, 0));
    return true;
}

static enum flow run_tran(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    int before = s->transactions;
    bool begin = !strcmp(st->verb, "BEGIN");
    bool good = begin || !strcmp(st->verb, "SAVE") || before > 0;
    sim_transaction(s, st->verb, st->alias);
    return sim_after(f, good, begin ? 0xD4 : !strcmp(st->verb, "COMMIT") ? 0xD5 : 0xD2, -1);
}

enum flow sim_run_admin(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;

    switch (st->kind) {
    case S_OPTION:
        return sim_after(f, run_option(f, st), 0xF9, -1);
    case S_PRINT:
        return sim_after(f, run_print(f, st), 0xF7, -1);
    case S_RAISERROR:
        return sim_after(f, run_raiserror(f, st), 0xF6, -1);
    case S_THROW:
        return run_throw(f, st);
    case S_WAITFOR:
        return sim_after(f, run_waitfor(f, st), 0xF8, -1);
    case S_USE:
        if (s->sim->engine_edition == 5 && !sim_text_is(st->alias, s->database))
            return sim_after(f, sim_raise(s, 40508, 1, NULL), 0xEC, -1);
        return sim_after(f, sim_use_database(s, st->alias), 0xEC, -1);
    case S_TRAN:
        return run_tran(f, st);
    case S_BACKUP:
        return sim_after(f, sim_backup(f, st), 0xE6, -1);
    case S_RESTORE:
        return sim_after(f, sim_restore(f, st), 0xE7, -1);
    case S_DBCC:
        return sim_after(f, sim_dbcc(f, st), 0xE8, -1);
    case S_CREATE_TABLE:
        return sim_after(f, sim_create_table(f, st), 0xC6, -1);
    case S_DROP_TABLE:
        return sim_after(f, sim_drop_table(f, st), 0xC7, -1);
    case S_CREATE_CREDENTIAL:
        return sim_after(f, sim_create_credential(f, st), 0, -1);
    case S_CREATE_SNAPSHOT:
        return sim_after(f, sim_create_snapshot(f, st), 0xCB, -1);
    case S_DROP_DATABASE:
        return sim_after(f, sim_drop_database(f, st), 0xCC, -1);
    case S_ALTER_DATABASE:
        return sim_after(f, sim_alter_database(f, st), 0xCD, -1);
    case S_KILL:
        return sim_after(f, run_kill(f, st), 0xFC, -1);
    case S_SELECT:
    case S_ASSIGN:
    case S_DECLARE:
    case S_IF:
    case S_WHILE:
    case S_BLOCK:
    case S_TRY:
    case S_EXEC:
    case S_EXEC_TEXT:
    case S_INSERT:
    case S_UPDATE:
    case S_DELETE:
    case S_RETURN:
    case S_BREAK:
    case S_CONTINUE:
    case S_NOTHING:
        break;
    }
    return sim_after(f, true, 0, -1);
}
