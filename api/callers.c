#include "api/callers.h"
#include "server/lock.h"
#include "server/mem.h"
#include "server/store_access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 64

struct slot {
    struct store_mark mark;     /* taken before it was read; zeroed: empty */
    char digest[HASH_HEX_SIZE]; /* "": what is known of those who show none */
    struct caller caller;
};

struct callers {
    struct store *store;
    struct lock lock; /* guards the slots */
    struct slot slots[SLOTS];
};

struct callers *callers_new(struct store *store)
{
    struct callers *callers = mem_alloc(1, sizeof *callers);
    callers->store = store;
    lock_init(&callers->lock);
    return callers;
}

void callers_free(struct callers *callers)
{
    if (!callers)
        return;
    lock_fini(&callers->lock);
    free(callers);
}

struct look {
    const char *digest; /* or NULL */
    struct caller *out;
};

static int look_work(struct db *db, void *arg, struct err *err)
{
    const struct look *look = arg;
    struct caller *out = look->out;
    struct token_row row = {0};
    if (store_token_any(db, &out->any, err) < 0)
        return -1;
    int found = look->digest ? store_token_find(db, look->digest, &row, err) : 0;
    out->found = found == 1;
    if (out->found) {
        (void)snprintf(out->name, sizeof out->name, "%s", row.name);
        out->scope = scope_by_name(row.scope);
        out->last_used_at = row.last_used_at;
    }
    token_row_fini(&row);
    return found < 0 ? -1 : 0;
}

/* A digest says nothing of its token, so that which slot it has may be seen. */
static struct slot *slot_of(struct callers *callers, const char *digest)
{
    return &callers->slots[hash_spread(digest) % SLOTS];
}

static bool recall(struct callers *callers, const char *digest, struct caller *out)
{
    const struct slot *slot = slot_of(callers, digest);
    lock_take(&callers->lock);
    bool is_it = *digest ? hash_equal(slot->digest, digest) : slot->digest[0] == '\0';
    is_it = is_it && store_is_unchanged(callers->store, &slot->mark);
    if (is_it)
        *out = slot->caller;
    lock_drop(&callers->lock);
    return is_it;
}

static void keep(struct callers *callers, const char *digest, struct store_mark mark,
                 const struct caller *caller)
{
    struct slot *slot = slot_of(callers, digest);
    lock_take(&callers->lock);
    slot->mark = mark;
    (void)snprintf(slot->digest, sizeof slot->digest, "%s", digest);
    slot->caller = *caller;
    lock_drop(&callers->lock);
}

int callers_look(struct callers *callers, const char *digest, struct caller *out, struct err *err)
{
    const char *key = digest ? digest : "";
    struct look look = {.digest = digest, .out = out};
    if (recall(callers, key, out))
        return 0;
    *out = (struct caller){0};
    struct store_mark mark = store_mark(callers->store); /* before what it stands for */
    if (store_read(callers->store, look_work, &look, err) < 0)
        return -1;
    if (out->found || !digest) /* guesses may not push out those who are known */
        keep(callers, key, mark, out);
    return 0;
}

void callers_used(struct callers *callers, const char *digest, int64_t at_ms)
{
    struct slot *slot = slot_of(callers, digest);
    lock_take(&callers->lock);
    if (hash_equal(slot->digest, digest))
        slot->caller.last_used_at = at_ms;
    lock_drop(&callers->lock);
}
