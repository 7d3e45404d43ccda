/* dbcc.c: trace flags, and the few others. */
#include <string.h>

#include "eval.h"

static bool has_option(const struct stmt *st, const char *name)
{
    for (int i = 0; i < st->option_count; i++)
        if (sim_text_is(st->options[i].name, name))
            return true;
    return false;
}

static bool completed(struct frame *f, const struct stmt *st)
{
    if (!has_option(st, "NO_INFOMSGS"))
        sim_raise(f->session, 2528, 1, NULL);
    return true;
}

static bool is_global_only(int flag)
{
    static const int flags[] = {3042, 3051, 3226, 1117, 1118, 2371};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (flags[i] == flag)
            return true;
    return false;
}

static void session_flag(struct session *s, int number, bool on)
{
    int n = 0;
    for (int i = 0; i < s->flag_count; i++)
        if (s->flags[i] != number)
            s->flags[n++] = s->flags[i];
    if (on && n < 16)
        s->flags[n++] = number;
    s->flag_count = n;
}

static bool trace_change(struct frame *f, const struct stmt *st, const int *numbers, int n, bool on)
{
    struct session *s = f->session;
    bool global = false;

    if (!sim_may_server(s, "sysadmin"))
        return sim_raise(s, 2571, 3, s->login, st->verb, NULL);
    if (!n)
        return sim_raise(s, 2526, 3, NULL);
    for (int i = 0; i < n; i++)
        global = global || numbers[i] == -1;
    for (int i = 0; i < n; i++) {
        if (numbers[i] == -1)
            continue;
        if (global) {
            pthread_mutex_lock(&s->sim->lock);
            sim_flag_set_locked(s->sim, numbers[i], on);
            pthread_mutex_unlock(&s->sim->lock);
        } else if (!is_global_only(numbers[i])) { /* those take no effect in a session */
            session_flag(s, numbers[i], on);
        }
    }
    return completed(f, st);
}

static bool trace_status(struct frame *f, const struct stmt *st, const int *numbers, int n)
{
    struct session *s = f->session;
    struct rowset *r = sim_rowset_new(f->arena);
    static const char *const names[] = {"TraceFlag", "Status", "Global", "Session"};
    int flags[96], count = 0;
    bool all = true;

    for (int i = 0; i < 4; i++)
        sim_rowset_column(f->arena, r, names[i], sim_type(VT_SMALLINT, 0));
    for (int i = 0; i < n; i++)
        if (numbers[i] != -1) {
            all = false;
            flags[count++] = numbers[i];
        }
    pthread_mutex_lock(&s->sim->lock);
    for (int i = 0; all && i < s->sim->flag_count; i++)
        flags[count++] = s->sim->flags[i];
    for (int i = 0; all && i < s->flag_count; i++)
        if (!sim_flag_is_on_locked(s->sim, s->flags[i]))
            flags[count++] = s->flags[i];
    for (int i = 0; i < count; i++) {
        bool global = sim_flag_is_on_locked(s->sim, flags[i]), own = false;
        for (int k = 0; k < s->flag_count; k++)
            own = own || s->flags[k] == flags[i];
        struct value *row = sim_rowset_row(f->arena, r);
        int64_t cells[] = {flags[i], global || own, global, own};
        for (int c = 0; c < 4; c++)
            row[c] = sim_number(VT_SMALLINT, cells[c]);
    }
    pthread_mutex_unlock(&s->sim->lock);
    if (r->row_count) { /* nothing asked for and nothing on: no result at all */
        sim_send_rows(f, r);
        sim_done(f, 0, 0xC1, r->row_count);
    }
    return completed(f, st);
}

static bool sqlperf(struct frame *f, const struct stmt *st, const char *what)
{
    struct session *s = f->session;
    if (!sim_text_begins(what, "sys.dm_os_wait_stats"))
        return completed(f, st);
    if (!sim_may_server(s, "ALTER SERVER STATE"))
        return sim_raise(s, 2571, 1, s->login, "SQLPERF", NULL);
    pthread_mutex_lock(&s->sim->lock);
    memset(s->sim->waits, 0, sizeof(s->sim->waits));
    pthread_mutex_unlock(&s->sim->lock);
    return completed(f, st);
}

bool sim_dbcc(struct frame *f, struct stmt *st)
{
    int numbers[32], n = 0;
    const char *word = "";
    static const char *const others[] = {"DROPCLEANBUFFERS", "FREEPROCCACHE", "CHECKDB",
                                         "USEROPTIONS",      "INPUTBUFFER",   "OPENTRAN"};

    for (int i = 0; i < st->expr_count && n < 32; i++) {
        struct value v = {0};
        if (!tsql_value(f, st->exprs[i], &v))
            return false;
        if (sim_type_is_text(&v.type))
            word = v.s;
        else
            numbers[n++] = (int)v.i;
    }
    if (sim_text_is(st->verb, "TRACEON") || sim_text_is(st->verb, "TRACEOFF"))
        return trace_change(f, st, numbers, n, sim_text_is(st->verb, "TRACEON"));
    if (sim_text_is(st->verb, "TRACESTATUS"))
        return trace_status(f, st, numbers, n);
    if (sim_text_is(st->verb, "SQLPERF"))
        return sqlperf(f, st, word);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (sim_text_is(others[i], st->verb))
            return completed(f, st);
    return sim_raise(f->session, 2526, 3, NULL);
}
