#include "jobs/watch.h"
#include "server/lock.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

struct jobs_watch {
    char id[40];
    jobs_on_end *on_end;
    void *ctx;
    struct jobs_watch *next;
};

struct watchers {
    struct lock lock; /* guards the list, and is held while on_end runs, so that a removed
                         watcher is never called again; on_end only hands on */
    struct jobs_watch *first;
};

struct watchers *watchers_new(void)
{
    struct watchers *watchers = mem_alloc(1, sizeof *watchers);
    lock_init(&watchers->lock);
    return watchers;
}

void watchers_free(struct watchers *watchers)
{
    if (!watchers)
        return;
    lock_fini(&watchers->lock);
    free(watchers);
}

struct jobs_watch *watchers_add(struct watchers *watchers, const char *id, jobs_on_end *on_end,
                                void *ctx)
{
    struct jobs_watch *watch = mem_alloc(1, sizeof *watch);
    size_t length = strnlen(id, sizeof watch->id - 1);
    memcpy(watch->id, id, length);
    watch->on_end = on_end;
    watch->ctx = ctx;
    lock_take(&watchers->lock);
    watch->next = watchers->first;
    watchers->first = watch;
    lock_drop(&watchers->lock);
    return watch;
}

void watchers_remove(struct watchers *watchers, struct jobs_watch *watch)
{
    if (!watch)
        return;
    lock_take(&watchers->lock);
    struct jobs_watch **at = &watchers->first;
    while (*at && *at != watch)
        at = &(*at)->next;
    if (*at)
        *at = watch->next;
    lock_drop(&watchers->lock);
    free(watch);
}

void watchers_tell(struct watchers *watchers, const char *id)
{
    lock_take(&watchers->lock);
    for (struct jobs_watch *watch = watchers->first; watch; watch = watch->next)
        if (strcmp(watch->id, id) == 0 && watch->on_end) {
            jobs_on_end *on_end = watch->on_end;
            watch->on_end = NULL; /* once */
            on_end(watch->ctx, id);
        }
    lock_drop(&watchers->lock);
}
