#include "jobs/cleaners.h"
#include "server/json.h"
#include "server/lock.h"
#include "server/mem.h"

#include <stdlib.h>

struct cleaners {
    struct lock lock; /* guards taken */
    cJSON *taken;     /* object: the instances, as members */
};

struct cleaners *cleaners_new(void)
{
    struct cleaners *cleaners = mem_alloc(1, sizeof *cleaners);
    lock_init(&cleaners->lock);
    cleaners->taken = cJSON_CreateObject();
    return cleaners;
}

void cleaners_free(struct cleaners *cleaners)
{
    if (!cleaners)
        return;
    cJSON_Delete(cleaners->taken);
    lock_fini(&cleaners->lock);
    free(cleaners);
}

bool cleaners_take(struct cleaners *cleaners, const char *instance)
{
    if (!cleaners)
        return true;
    lock_take(&cleaners->lock);
    bool is_free = !json_member(cleaners->taken, instance);
    if (is_free)
        cJSON_AddTrueToObject(cleaners->taken, instance);
    lock_drop(&cleaners->lock);
    return is_free;
}

void cleaners_drop(struct cleaners *cleaners, const char *instance)
{
    if (!cleaners)
        return;
    lock_take(&cleaners->lock);
    cJSON_DeleteItemFromObjectCaseSensitive(cleaners->taken, instance);
    lock_drop(&cleaners->lock);
}

bool cleaners_has(struct cleaners *cleaners, const char *instance)
{
    if (!cleaners)
        return false;
    lock_take(&cleaners->lock);
    bool is_taken = json_member(cleaners->taken, instance) != NULL;
    lock_drop(&cleaners->lock);
    return is_taken;
}
