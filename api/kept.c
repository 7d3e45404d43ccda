#include "api/kept.h"
#include "server/hash.h"
#include "server/lock.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct keeping {
    struct lock lock; /* guards the slots */
    struct kept *slots[KEPT_SLOTS];
};

struct kept *kept_new(const char *id, char *body)
{
    struct kept *kept = mem_alloc(1, sizeof *kept);
    atomic_init(&kept->holders, 1);
    (void)snprintf(kept->id, sizeof kept->id, "%s", id);
    kept->body = body;
    kept->length = strlen(body);
    return kept;
}

struct kept *kept_hold(struct kept *kept)
{
    (void)atomic_fetch_add(&kept->holders, 1);
    return kept;
}

void kept_drop(void *what)
{
    struct kept *kept = what;
    if (!kept || atomic_fetch_sub(&kept->holders, 1) > 1)
        return;
    free(kept->body);
    free(kept);
}

struct keeping *keeping_new(void)
{
    struct keeping *keeping = mem_alloc(1, sizeof *keeping);
    lock_init(&keeping->lock);
    return keeping;
}

void keeping_free(struct keeping *keeping)
{
    if (!keeping)
        return;
    for (size_t i = 0; i < KEPT_SLOTS; i++)
        kept_drop(keeping->slots[i]);
    lock_fini(&keeping->lock);
    free(keeping);
}

struct kept *keeping_find(struct keeping *keeping, const struct store *store, const char *id)
{
    struct kept **slot = &keeping->slots[hash_spread(id) % KEPT_SLOTS];
    lock_take(&keeping->lock);
    struct kept *kept = *slot && strcmp((*slot)->id, id) == 0 ? kept_hold(*slot) : NULL;
    lock_drop(&keeping->lock);
    if (!kept || store_is_unchanged(store, &kept->mark))
        return kept;
    kept_drop(kept);
    return NULL;
}

void keeping_put(struct keeping *keeping, struct kept *kept)
{
    struct kept **slot = &keeping->slots[hash_spread(kept->id) % KEPT_SLOTS];
    if (kept->length > KEPT_BYTES)
        return;
    lock_take(&keeping->lock);
    struct kept *before = *slot;
    *slot = kept_hold(kept);
    lock_drop(&keeping->lock);
    kept_drop(before);
}
