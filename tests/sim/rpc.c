/* rpc.c: remote procedure calls. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

static const char *const numbered[] = {NULL,
                                       "sp_cursor",
                                       "sp_cursoropen",
                                       "sp_cursorprepare",
                                       "sp_cursorexecute",
                                       "sp_cursorprepexec",
                                       "sp_cursorunprepare",
                                       "sp_cursorfetch",
                                       "sp_cursoroption",
                                       "sp_cursorclose",
                                       "sp_executesql",
                                       "sp_prepare",
                                       "sp_execute",
                                       "sp_prepexec",
                                       "sp_prepexecrpc",
                                       "sp_unprepare"};

static void value_literal(struct arena *arena, struct bytes *b, const struct value *v)
{
    bool text = sim_type_is_text(&v->type), time = sim_type_is_time(&v->type);
    if (v->is_null) {
        sim_bytes_text(b, "NULL");
        return;
    }
    const char *t = sim_value_text(arena, v, v->type.base == VT_VARBINARY ? 1 : 121);
    bool quotes = text || time || v->type.base == VT_GUID;
    if (quotes)
        sim_bytes_text(b, v->type.base == VT_NVARCHAR ? "N'" : "'");
    for (; *t; t++) {
        if (*t == '\'' && quotes)
            sim_bytes_u8(b, '\'');
        sim_bytes_put(b, t, 1);
    }
    if (quotes)
        sim_bytes_u8(b, '\'');
}

static void add_params(struct session *s, struct bytes *b, const struct parameter *params, int from,
                       int n)
{
    for (int i = from; i < n; i++) {
        sim_bytes_text(b, i > from ? ", " : "");
        if (*params[i].name)
            sim_bytes_printf(b, "%s = ", params[i].name);
        value_literal(&s->arena, b, &params[i].value);
    }
}

/* Where the statement's text stands among the parameters, -1 if there is none. */
static int statement_index(const char *name)
{
    if (sim_text_is(name, "sp_executesql"))
        return 0;
    if (sim_text_is(name, "sp_prepexec") || sim_text_is(name, "sp_prepare"))
        return 2;
    return -1;
}

static const char *prepared_text(const struct session *s, int64_t handle)
{
    for (int i = 0; i < s->prepared_count; i++)
        if (s->prepared[i].handle == handle)
            return s->prepared[i].text;
    return NULL;
}

static void log_call(struct session *s, const char *name, const struct parameter *params, int n)
{
    struct bytes b = {0};
    int at = statement_index(name), rest = at == 0 ? 2 : 3;
    const char *text = at >= 0 && at < n && params[at].value.s ? params[at].value.s : NULL;

    if (!text && sim_text_is(name, "sp_execute") && n) {
        text = prepared_text(s, params[0].value.i);
        rest = 1;
    }
    if (text) {
        sim_bytes_text(&b, text);
        if (n > rest) {
            sim_bytes_text(&b, " /* ");
            add_params(s, &b, params, rest, n);
            sim_bytes_text(&b, " */");
        }
    } else {
        sim_bytes_printf(&b, "EXEC %s ", name);
        add_params(s, &b, params, 0, n);
    }
    if (!sim_text_is(name, "sp_prepare") && !sim_text_is(name, "sp_unprepare"))
        sim_session_log(s, sim_bytes_str(&b));
    pthread_mutex_lock(&s->sim->lock);
    sim_replace(&s->sql_text, sim_bytes_str(&b));
    pthread_mutex_unlock(&s->sim->lock);
    s->statement = sim_arena_dup(&s->arena, sim_bytes_str(&b));
    sim_bytes_fini(&b);
}

static struct name name_of(struct session *s, const char *text)
{
    struct parser p = {.arena = &s->arena, .batch = text};
    if (tsql_lex(&p)) {
        struct name n = tsql_name(&p);
        if (!p.error)
            return n;
    }
    return (struct name){.part = {text}, .count = 1};
}

static void run_call(struct session *s, struct name *name, struct parameter *params, int n)
{
    struct frame f = {.session = s, .arena = &s->arena, .batch = "", .in_procedure = true};
    int status = 0;

    s->nesting = 0;
    s->try_depth = 0;
    s->caught = false;
    s->caught_number = 0;
    s->line = 1;
    bool good = !sim_session_should_stop(s) && sim_call(&f, name, params, n, &status);
    sim_frame_fini(&f);
    if (s->wire.broken)
        return;
    sim_reply_return_status(s, status);
    for (int i = 0; i < n; i++)
        if (params[i].output) {
            struct variable v = {.name = params[i].name, .value = params[i].value};
            if (v.value.type.base == VT_NULL)
                v.value.type = sim_type(VT_INT, 0);
            sim_reply_return_value(s, i, &v);
        }
    sim_reply_done(s, DONE_PROC, good ? 0 : DONE_ERROR, 0xE0, 0);
}

void sim_run_rpc(struct session *s, const struct bytes *body, size_t at)
{
    const uint8_t *p = body->data + at, *end = body->data + body->len;

    while (end - p >= 4 && !s->closing) {
        size_t units = p[0] | (size_t)p[1] << 8;
        const char *text = NULL;
        struct parameter *params = NULL;
        int n = 0;
        p += 2;
        if (units == 0xFFFF) {
            unsigned id = p[0] | (unsigned)p[1] << 8;
            text = id < sizeof(numbered) / sizeof(*numbered) ? numbered[id] : NULL;
            p += 2;
        } else if ((size_t)(end - p) >= units * 2) {
            text = sim_utf8_from_utf16(&s->arena, p, units);
            p += units * 2;
        }
        if (!text || end - p < 2)
            break;
        p += 2; /* option flags */
        while (p < end && *p != 0x80 && *p != 0xFF) {
            params = sim_arena_grow(&s->arena, params, (size_t)n, sizeof(*params));
            if (!sim_decode_parameter(&p, end, &s->arena, &params[n++])) {
                sim_raise_text(s, 8016, 16, 1,
                               "The incoming tabular data stream (TDS) remote procedure "
                               "call (RPC) protocol stream is incorrect.");
                sim_reply_done(s, DONE_PROC, DONE_ERROR, 0xE0, 0);
                sim_reply_finish(s);
                return;
            }
        }
        if (p < end)
            p++;
        struct name name = name_of(s, text);
        log_call(s, text, params, n);
        run_call(s, &name, params, n);
    }
    if (!s->wire.broken)
        sim_reply_finish(s);
}
