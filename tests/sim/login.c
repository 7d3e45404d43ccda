/* login.c: PRELOGIN and LOGIN7. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

enum { ENCRYPT_OFF, ENCRYPT_ON, ENCRYPT_NOT_SUPPORTED, ENCRYPT_REQUIRED };

static int encryption_asked(const struct bytes *body)
{
    for (size_t at = 0; at + 5 <= body->len && body->data[at] != 0xFF; at += 5) {
        size_t offset = (size_t)(body->data[at + 1] << 8 | body->data[at + 2]);
        if (body->data[at] == 1 && offset < body->len)
            return body->data[offset];
    }
    return ENCRYPT_NOT_SUPPORTED;
}

static int encryption_answer(const struct sim *sim, int asked)
{
    if (sim->encryption == SIM_TLS_NONE)
        return ENCRYPT_NOT_SUPPORTED;
    if (sim->encryption == SIM_TLS_REQUIRED)
        return ENCRYPT_REQUIRED;
    return asked == ENCRYPT_REQUIRED ? ENCRYPT_ON : asked;
}

static void put_option(struct bytes *head, unsigned token, size_t offset, size_t len)
{
    sim_bytes_u8(head, token);
    sim_bytes_u8(head, (unsigned)(offset >> 8) & 255);
    sim_bytes_u8(head, (unsigned)offset & 255);
    sim_bytes_u8(head, 0);
    sim_bytes_u8(head, (unsigned)len);
}

int sim_prelogin(struct session *s, struct bytes *body, bool *out_login_only)
{
    const struct sim *sim = s->sim;
    struct bytes b = {0};
    int asked = encryption_asked(body);
    int answer = s->wire.tls ? asked : encryption_answer(sim, asked);
    const size_t start = 5 * 4 + 1;

    put_option(&b, 0, start, 6);     /* version */
    put_option(&b, 1, start + 6, 1); /* encryption */
    put_option(&b, 2, start + 7, 1); /* instance */
    put_option(&b, 4, start + 8, 1); /* MARS */
    sim_bytes_u8(&b, 0xFF);
    sim_bytes_u8(&b, (unsigned)sim->major);
    sim_bytes_u8(&b, (unsigned)sim->minor);
    sim_bytes_u8(&b, (unsigned)(sim->build >> 8) & 255);
    sim_bytes_u8(&b, (unsigned)sim->build & 255);
    sim_bytes_u16(&b, 0);
    sim_bytes_u8(&b, (unsigned)answer);
    sim_bytes_u8(&b, 0);
    sim_bytes_u8(&b, 0);
    wire_put(&s->wire, b.data, b.len);
    wire_finish(&s->wire);
    sim_bytes_fini(&b);
    if (s->wire.tls)
        return 0;
    if (answer == ENCRYPT_NOT_SUPPORTED) /* a client that cannot do what is required gives up */
        return sim->encryption == SIM_TLS_REQUIRED ? -1 : 0;
    if (answer == ENCRYPT_REQUIRED && asked == ENCRYPT_NOT_SUPPORTED)
        return -1;
    *out_login_only = answer == ENCRYPT_OFF;
    s->encrypted = !*out_login_only;
    return wire_tls_start(&s->wire, sim->identity, false);
}

static const char *field(struct session *s, const struct bytes *body, size_t at)
{
    size_t offset = body->data[at] | (size_t)body->data[at + 1] << 8;
    size_t units = body->data[at + 2] | (size_t)body->data[at + 3] << 8;
    if (offset + units * 2 > body->len)
        return "";
    return sim_utf8_from_utf16(&s->arena, body->data + offset, units);
}

static const char *password(struct session *s, struct bytes *body)
{
    size_t offset = body->data[44] | (size_t)body->data[45] << 8;
    size_t units = body->data[46] | (size_t)body->data[47] << 8;
    if (offset + units * 2 > body->len)
        return "";
    for (size_t i = 0; i < units * 2; i++) { /* the protocol swaps nibbles and flips bits */
        unsigned c = body->data[offset + i] ^ 0xA5U;
        body->data[offset + i] = (uint8_t)(c << 4 | c >> 4);
    }
    return field(s, body, 44);
}

static const struct sim_login *find_login(struct sim *sim, const char *name, const char *secret)
{
    for (int i = 0; i < sim->login_count; i++)
        if (sim_collate(sim->logins[i].name, name) == 0 &&
            strcmp(sim->logins[i].password, secret) == 0)
            return &sim->logins[i];
    return NULL;
}

static int refuse(struct session *s)
{
    sim_reply_done(s, DONE_TOKEN, DONE_ERROR, 0, 0);
    sim_reply_finish(s);
    s->closing = true;
    return -1;
}

static void loginack(struct session *s)
{
    struct bytes body = {0}, b = {0};
    static const char name[] = "Microsoft SQL Server";
    const struct sim *sim = s->sim;

    sim_bytes_u8(&body, 1);
    uint32_t version = s->strict ? 0x08000000 : s->tds_version;
    for (int shift = 24; shift >= 0; shift -= 8)
        sim_bytes_u8(&body, version >> shift & 255);
    sim_bytes_u8(&body, sizeof(name) - 1);
    sim_bytes_utf16(&body, name);
    sim_bytes_u8(&body, (unsigned)sim->major);
    sim_bytes_u8(&body, (unsigned)sim->minor);
    sim_bytes_u8(&body, (unsigned)(sim->build >> 8) & 255);
    sim_bytes_u8(&body, (unsigned)sim->build & 255);
    sim_bytes_u8(&b, 0xAD);
    sim_bytes_u16(&b, (unsigned)body.len);
    sim_bytes_put(&b, body.data, body.len);
    sim_reply_token(s, &b);
    sim_bytes_fini(&body);
    sim_bytes_fini(&b);
}

static uint32_t negotiate_version(const struct bytes *body)
{
    uint32_t v = body->data[4] | (uint32_t)body->data[5] << 8 | (uint32_t)body->data[6] << 16 |
                 (uint32_t)body->data[7] << 24;
    return v > 0x74000004 || v == 0x08000000 ? 0x74000004 : v; /* TDS 8 has the tokens of 7.4 */
}

static size_t negotiate_packet(const struct bytes *body)
{
    size_t n = body->data[8] | (size_t)body->data[9] << 8 | (size_t)body->data[10] << 16;
    return n < 512 ? 4096 : n > 32767 ? 32767 : n;
}

/* Names and rights of the login; false when it is refused. */
static bool check_login(struct session *s, struct bytes *body, char **database, char **language)
{
    struct sim *sim = s->sim;
    struct sim_fault fault;
    const char *name = field(s, body, 40), *secret = password(s, body);
    bool good = false;

    *database = sim_arena_dup(&s->arena, field(s, body, 68));
    *language = sim_arena_dup(&s->arena, field(s, body, 64));
    bool refused = sim_fault_hit(sim, SIM_REFUSE_LOGIN, name, &s->arena, &fault);
    pthread_mutex_lock(&sim->lock);
    const struct sim_login *login = refused ? NULL : find_login(sim, name, secret);
    if (login) {
        sim_replace(&s->login, login->name);
        sim_replace(&s->database, "master");
        s->sysadmin = login->sysadmin;
        if (!**database)
            *database = sim_arena_dup(&s->arena, login->database);
        if (!**language)
            *language = sim_arena_dup(&s->arena, login->language);
        good = true;
    }
    sim_replace(&s->host, field(s, body, 36));
    sim_replace(&s->program, field(s, body, 48));
    sim_replace(&s->interface, field(s, body, 60));
    s->login_us = s->request_us = sim_now_us_locked(sim);
    pthread_mutex_unlock(&sim->lock);
    if (!good)
        sim_raise(s, 18456, 1, name, NULL);
    return good;
}

static bool enter_database(struct session *s, const char *database)
{
    struct sim *sim = s->sim;
    pthread_mutex_lock(&sim->lock);
    const struct sim_db *db = sim_db_find_locked(sim, database);
    bool mine = db && (db->group >= 0 || db->mirror == SIM_MIRROR); /* their numbers are told */
    bool good = mine || (db && strcmp(db->state, "ONLINE") == 0);
    pthread_mutex_unlock(&sim->lock);
    if (good && (mine || sim_may_enter(s, database)) && sim_use_database(s, database))
        return true;
    sim_raise(s, 4060, 1, database, NULL);
    return sim_raise(s, 18456, 1, s->login, NULL);
}

int sim_login(struct session *s, const struct bytes *in)
{
    static const uint8_t collation[5] = {0x09, 0x04, 0xD0, 0x00, 0x34};
    char *database = NULL, *language = NULL;
    struct bytes body = {0};
    int rc = -1;

    sim_bytes_put(&body, in->data, in->len);
    if (body.len < 94)
        goto out;
    s->tds_version = negotiate_version(&body);
    s->language = 1033;
    s->read_only_intent = body.data[26] & 0x20; /* fReadOnlyIntent of TypeFlags */
    if (s->tds_version < 0x72090002)
        goto out; /* nothing older than 2005 */
    if (!check_login(s, &body, &database, &language) || !enter_database(s, database)) {
        rc = refuse(s);
        goto out;
    }
    sim_reply_env_binary(s, 7, collation, 5);
    if (!sim_set_language(s, *language ? language : s->sim->language))
        (void)sim_set_language(s, "us_english");
    loginack(s);
    size_t size = negotiate_packet(&body);
    sim_reply_env(s, 4, sim_num(s, (int64_t)size), "4096");
    sim_reply_done(s, DONE_TOKEN, 0, 0, 0);
    sim_reply_finish(s);
    s->wire.packet_size = size;
    s->wire.spid = (uint16_t)s->spid;
    pthread_mutex_lock(&s->sim->lock);
    s->ready = true;
    pthread_cond_broadcast(&s->sim->changed);
    pthread_mutex_unlock(&s->sim->lock);
    rc = 0;
out:
    sim_bytes_fini(&body);
    sim_arena_fini(&s->arena);
    return rc;
}
