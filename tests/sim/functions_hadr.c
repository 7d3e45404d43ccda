/* functions_hadr.c: which replica a database is on. */
#include <string.h>

#include "functions.h"

/* A copy of the group of the database, false if it is in none. */
static bool group_of(struct eval *ev, const struct value *name, struct sim_group *out)
{
    struct sim *sim = ev->session->sim;

    if (name->is_null || !name->s)
        return false;
    pthread_mutex_lock(&sim->lock);
    const struct sim_db *db = sim_db_find_locked(sim, name->s);
    const struct sim_group *g = db ? sim_group_of_locked(sim, db) : NULL;
    if (g) {
        *out = *g;
        out->partner = sim_arena_dup(ev->arena, g->partner);
    }
    pthread_mutex_unlock(&sim->lock);
    return g != NULL;
}

/* Priorities are alike on both replicas, so that the name decides where nothing is preferred. A
 * database of no group is where it should be. */
static bool fn_preferred(struct eval *ev, const struct expr *e, struct value *args, int n,
                         struct value *out)
{
    struct sim_group g = {0};
    bool here = true;

    (void)e;
    (void)n;
    if (group_of(ev, &args[0], &g)) {
        bool primary = g.role == SIM_PRIMARY, secondary = g.role == SIM_SECONDARY;
        here = g.preference == 0   ? primary
               : g.preference <= 2 ? secondary
                                   : sim_collate(ev->session->sim->server_name, g.partner) < 0;
    }
    *out = sim_bit(here);
    return true;
}

/* Null for a database of no group. */
static bool fn_primary(struct eval *ev, const struct expr *e, struct value *args, int n,
                       struct value *out)
{
    struct sim_group g = {0};

    (void)e;
    (void)n;
    if (!sim_may_server(ev->session, "VIEW SERVER STATE")) {
        sim_raise(ev->session, 300, 1, "VIEW SERVER STATE", "server", "master", NULL);
        return sim_raise(ev->session, 297, 1, NULL);
    }
    if (group_of(ev, &args[0], &g))
        *out = sim_bit(g.role == SIM_PRIMARY);
    return true;
}

/* clang-format off */
const struct function tsql_hadr_functions[] = {
    {"fn_hadr_backup_is_preferred_replica", 1, 1, R_BIT, fn_preferred, 11},
    {"fn_hadr_is_primary_replica", 1, 1, R_BIT, fn_primary, 12},
    {NULL, 0, 0, 0, NULL, 0},
};
/* clang-format on */
