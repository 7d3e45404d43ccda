/* scenario_hadr.c: availability groups, mirroring, and who may enter a database. */
#include "scenario.h"

#include <string.h>

/* The place of the text in the list; the first one when it is not there, which is a mistake. */
static int choice(struct loader *l, const char *text, const char *const *list, const char *where)
{
    for (int i = 0; list[i]; i++)
        if (!strcmp(list[i], text))
            return i;
    sim_load_fail(l, "this value is not known", where);
    return 0;
}

static struct sim_group *find_group(struct sim *sim, const char *name)
{
    for (int i = 0; i < sim->group_count; i++)
        if (!strcmp(sim->groups[i].name, name))
            return &sim->groups[i];
    return NULL;
}

void sim_load_groups(struct loader *l)
{
    static const char *const names[] = {"name", "partner", "backup_preference",
                                        "secondary_connections", NULL};
    static const char *const preferences[] = {"PRIMARY", "SECONDARY_ONLY", "SECONDARY", "NONE",
                                              NULL};
    static const char *const connections[] = {"NO", "READ_ONLY", "ALL", NULL};
    const cJSON *m = NULL;

    cJSON_ArrayForEach(m, sim_load_member(l, "availability_groups")) {
        sim_load_check(l, m, names, "availability_groups");
        const char *name = sim_load_text(l, m, "name", "AG1");
        if (find_group(l->sim, name))
            sim_load_fail(l, "a new name is needed", "availability_groups");
        struct sim_group *g = sim_group_add_locked(l->sim, name);
        sim_replace(&g->partner, sim_load_text(l, m, "partner", "SWEETSIM2"));
        g->preference = choice(l, sim_load_text(l, m, "backup_preference", "SECONDARY"),
                               preferences, "backup_preference");
        g->connections = choice(l, sim_load_text(l, m, "secondary_connections", "ALL"), connections,
                                "secondary_connections");
    }
    l->sim->hadr_enabled = sim_load_flag(l, "hadr_enabled", l->sim->group_count > 0);
}

static void join_group(struct loader *l, struct sim_db *db, const cJSON *m)
{
    static const char *const roles[] = {"RESOLVING", "PRIMARY", "SECONDARY", NULL};
    const char *role = sim_load_text(l, m, "replica_role", NULL);
    const char *name = sim_load_text(l, m, "availability_group", "AG1");
    if (!role)
        return;
    enum sim_role number = (enum sim_role)choice(l, role, roles, "replica_role");
    struct sim_group *g = find_group(l->sim, name);
    if (!g)
        g = sim_group_add_locked(l->sim, name);
    if (l->sim->major < 11)
        sim_load_fail(l, "availability groups came with 11.0", "replica_role");
    if (g->has_database && g->role != number)
        sim_load_fail(l, "the databases of one group have one role here", "replica_role");
    g->has_database = true;
    g->role = number;
    db->group = (int)(g - l->sim->groups);
}

static void join_mirroring(struct loader *l, struct sim_db *db, const cJSON *m)
{
    static const char *const names[] = {"role", "state", NULL};
    static const char *const roles[] = {"", "PRINCIPAL", "MIRROR", NULL};
    static const char *const states[] = {"SUSPENDED",
                                         "DISCONNECTED",
                                         "SYNCHRONIZING",
                                         "PENDING_FAILOVER",
                                         "SYNCHRONIZED",
                                         "UNSYNCHRONIZED",
                                         NULL};
    const cJSON *mirror = cJSON_GetObjectItemCaseSensitive(m, "mirroring");
    if (!mirror)
        return;
    sim_load_check(l, mirror, names, "mirroring");
    db->mirror =
        (enum sim_mirror)choice(l, sim_load_text(l, mirror, "role", "PRINCIPAL"), roles, "role");
    db->mirror_state =
        choice(l, sim_load_text(l, mirror, "state", "SYNCHRONIZED"), states, "state");
    if (db->recovery != 'F')
        sim_load_fail(l, "a mirrored database is in FULL recovery", "mirroring");
    if (db->mirror == SIM_MIRROR)
        sim_replace(&db->state, "RESTORING");
}

void sim_load_access(struct loader *l, struct sim_db *db, const cJSON *m)
{
    static const char *const modes[] = {"MULTI_USER", "SINGLE_USER", "RESTRICTED_USER", NULL};

    sim_replace(&db->user_access, sim_load_text(l, m, "user_access", "MULTI_USER"));
    (void)choice(l, db->user_access, modes, "user_access");
    db->held_by = (int)sim_load_number_of(l, m, "held_by", 0);
    db->standby = sim_load_bool(l, m, "standby", false);
    db->read_only = sim_load_bool(l, m, "read_only", db->standby);
    join_group(l, db, m);
    join_mirroring(l, db, m);
}
