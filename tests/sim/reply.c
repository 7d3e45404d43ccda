/* reply.c: tokens of a reply. */
#include <string.h>

#include "session.h"

static void short_text(struct bytes *b, const char *text) /* B_VARCHAR */
{
    size_t units = sim_utf16_len(text);
    sim_bytes_u8(b, (unsigned)(units > 255 ? 255 : units));
    if (units > 255) {
        struct arena arena = {0};
        sim_bytes_utf16(b, sim_utf16_cut(&arena, text, 0, 255));
        sim_arena_fini(&arena);
    } else {
        sim_bytes_utf16(b, text);
    }
}

/* A DONE is held back until it is known whether it is the last. */
static void send_pending_done(struct session *s, bool more)
{
    struct bytes b = {0};

    if (!s->done_pending)
        return;
    s->done_pending = false;
    unsigned status =
        s->done_status | (more ? DONE_MORE : 0U) | (s->transactions ? DONE_IN_TRAN : 0U);
    sim_bytes_u8(&b, s->done_token);
    sim_bytes_u16(&b, status);
    sim_bytes_u16(&b, s->done_command);
    sim_bytes_u64(&b, (uint64_t)s->done_count);
    wire_put(&s->wire, b.data, b.len);
    sim_bytes_fini(&b);
}

void sim_reply_token(struct session *s, const struct bytes *token)
{
    send_pending_done(s, true);
    wire_put(&s->wire, token->data, token->len);
}

void sim_reply_info(struct session *s, int number, int state, int severity, const char *text)
{
    struct bytes body = {0}, b = {0};
    bool error = severity > 10;

    sim_bytes_u32(&body, (uint32_t)number);
    sim_bytes_u8(&body, (unsigned)state);
    sim_bytes_u8(&body, severity == 10 ? 0 : (unsigned)severity);
    size_t units = sim_utf16_len(text);
    sim_bytes_u16(&body, (unsigned)(units > 4000 ? 4000 : units));
    sim_bytes_utf16(&body, units > 4000 ? sim_utf16_cut(&s->arena, text, 0, 4000) : text);
    short_text(&body, s->sim->server_name);
    short_text(&body, s->procedure ? s->procedure : "");
    sim_bytes_u32(&body, (uint32_t)(s->line > 0 ? s->line : 1));
    sim_bytes_u8(&b, error ? 0xAA : 0xAB);
    sim_bytes_u16(&b, (unsigned)body.len);
    sim_bytes_put(&b, body.data, body.len);
    sim_reply_token(s, &b);
    sim_bytes_fini(&body);
    sim_bytes_fini(&b);
}

void sim_reply_env(struct session *s, int kind, const char *new_value, const char *old_value)
{
    struct bytes body = {0}, b = {0};
    sim_bytes_u8(&body, (unsigned)kind);
    short_text(&body, new_value);
    short_text(&body, old_value);
    sim_bytes_u8(&b, 0xE3);
    sim_bytes_u16(&b, (unsigned)body.len);
    sim_bytes_put(&b, body.data, body.len);
    sim_reply_token(s, &b);
    sim_bytes_fini(&body);
    sim_bytes_fini(&b);
}

/* For begin (8) the value is new; for commit, rollback (9, 10) it is the old one. */
void sim_reply_env_binary(struct session *s, int kind, const void *value, size_t len)
{
    struct bytes b = {0};
    bool old = kind == 9 || kind == 10;
    sim_bytes_u8(&b, 0xE3);
    sim_bytes_u16(&b, (unsigned)len + 3);
    sim_bytes_u8(&b, (unsigned)kind);
    if (old)
        sim_bytes_u8(&b, 0);
    sim_bytes_u8(&b, (unsigned)len);
    sim_bytes_put(&b, value, len);
    if (!old)
        sim_bytes_u8(&b, 0);
    sim_reply_token(s, &b);
    sim_bytes_fini(&b);
}

void sim_reply_done(struct session *s, uint8_t token, unsigned status, unsigned command,
                    int64_t count)
{
    send_pending_done(s, true);
    s->done_pending = true;
    s->done_token = token;
    s->done_status = (uint16_t)status;
    s->done_command = (uint16_t)command;
    s->done_count = count;
}

void sim_reply_done_now(struct session *s, unsigned status, unsigned command, int64_t count)
{
    sim_reply_done(s, DONE_TOKEN, status, command, count);
    send_pending_done(s, true);
    wire_flush(&s->wire);
}

static void metadata(struct session *s, const struct rowset *rows)
{
    struct bytes b = {0};
    sim_bytes_u8(&b, 0x81);
    sim_bytes_u16(&b, (unsigned)rows->column_count);
    for (int i = 0; i < rows->column_count; i++) {
        sim_bytes_u32(&b, 0);
        sim_bytes_u16(&b, 0x0009); /* nullable, may be written to */
        sim_encode_type(&b, rows->columns[i].type, s->tds_version);
        short_text(&b, rows->columns[i].name ? rows->columns[i].name : "");
    }
    sim_reply_token(s, &b);
    sim_bytes_fini(&b);
}

void sim_reply_rows(struct session *s, const struct rowset *rows)
{
    metadata(s, rows);
    for (int r = 0; r < rows->row_count; r++) {
        struct bytes b = {0};
        sim_bytes_u8(&b, 0xD1);
        for (int c = 0; c < rows->column_count; c++)
            sim_encode_value(&b, rows->columns[c].type, &rows->rows[r][c], s->tds_version,
                             &s->arena);
        sim_reply_token(s, &b);
        sim_bytes_fini(&b);
    }
}

void sim_reply_return_status(struct session *s, int32_t status)
{
    struct bytes b = {0};
    sim_bytes_u8(&b, 0x79);
    sim_bytes_u32(&b, (uint32_t)status);
    sim_reply_token(s, &b);
    sim_bytes_fini(&b);
}

void sim_reply_return_value(struct session *s, int ordinal, const struct variable *v)
{
    struct bytes b = {0};
    sim_bytes_u8(&b, 0xAC);
    sim_bytes_u16(&b, (unsigned)ordinal);
    short_text(&b, v->name);
    sim_bytes_u8(&b, 1);
    sim_bytes_u32(&b, 0);
    sim_bytes_u16(&b, 0x0009);
    sim_encode_type(&b, v->value.type, s->tds_version);
    sim_encode_value(&b, v->value.type, &v->value, s->tds_version, &s->arena);
    sim_reply_token(s, &b);
    sim_bytes_fini(&b);
}

void sim_reply_finish(struct session *s)
{
    if (!s->done_pending)
        sim_reply_done(s, DONE_TOKEN, 0, 0, 0);
    send_pending_done(s, false);
    wire_finish(&s->wire);
    if (!s->attention)
        return;
    s->attention = false; /* the acknowledgement is a message of its own */
    sim_reply_done(s, DONE_TOKEN, DONE_ATTENTION, 0, 0);
    send_pending_done(s, false);
    wire_finish(&s->wire);
}
