/* catalog_hadr.c: mirroring and availability groups. Rows as Books Online describes them: a primary
 * sees the other replica too, a secondary only itself; a mirror's columns need sysadmin. */
#include <string.h>

#include "catalog.h"

static const char *const role_names[] = {"RESOLVING", "PRIMARY", "SECONDARY"};

static bool fill_mirroring(struct filler *f)
{
    static const char *const states[] = {"SUSPENDED",        "DISCONNECTED", "SYNCHRONIZING",
                                         "PENDING_FAILOVER", "SYNCHRONIZED", "UNSYNCHRONIZED",
                                         "SYNCHRONIZED"};
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->db_count; i++) {
        const struct sim_db *db = f->sim->dbs[i];
        tsql_row(f);
        tsql_put_int(f, "database_id", db->id);
        if (!db->mirror || (db->mirror == SIM_MIRROR && !f->session->sysadmin))
            continue;
        tsql_put_guid(f, "mirroring_guid", db->family_guid);
        tsql_put_int(f, "mirroring_state", db->mirror_state);
        tsql_put_text(f, "mirroring_state_desc", states[db->mirror_state]);
        tsql_put_int(f, "mirroring_role", db->mirror);
        tsql_put_text(f, "mirroring_role_desc", db->mirror == SIM_MIRROR ? "MIRROR" : "PRINCIPAL");
        tsql_put_int(f, "mirroring_role_sequence", 1);
        tsql_put_int(f, "mirroring_safety_level", 2);
        tsql_put_text(f, "mirroring_safety_level_desc", "FULL");
        tsql_put_text(f, "mirroring_partner_name", "TCP://sweetsim2:5022");
        tsql_put_text(f, "mirroring_partner_instance", "SWEETSIM2");
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static void put_replica(struct filler *f, const struct sim_group *g, bool local)
{
    int role = local ? (int)g->role : g->role == SIM_PRIMARY ? SIM_SECONDARY : SIM_PRIMARY;

    tsql_row(f);
    tsql_put_guid(f, "replica_id", local ? g->local_id : g->partner_id);
    tsql_put_guid(f, "group_id", g->id);
    tsql_put_int(f, "is_local", local);
    tsql_put_int(f, "role", role);
    tsql_put_text(f, "role_desc", role_names[role]);
    if (local) {
        tsql_put_int(f, "operational_state", role == SIM_RESOLVING ? 1 : 2);
        tsql_put_text(f, "operational_state_desc", role == SIM_RESOLVING ? "PENDING" : "ONLINE");
        tsql_put_int(f, "recovery_health", 1);
        tsql_put_text(f, "recovery_health_desc", "ONLINE");
    }
    tsql_put_int(f, "synchronization_health", role == SIM_RESOLVING ? 0 : 2);
    tsql_put_text(f, "synchronization_health_desc",
                  role == SIM_RESOLVING ? "NOT_HEALTHY" : "HEALTHY");
    tsql_put_int(f, "connected_state", role != SIM_RESOLVING);
    tsql_put_text(f, "connected_state_desc", role == SIM_RESOLVING ? "DISCONNECTED" : "CONNECTED");
    /* of sys.availability_replicas */
    tsql_put_text(f, "replica_server_name", local ? f->sim->server_name : g->partner);
    tsql_put_int(f, "availability_mode", 1);
    tsql_put_text(f, "availability_mode_desc", "SYNCHRONOUS_COMMIT");
    tsql_put_int(f, "failover_mode", 1);
    tsql_put_text(f, "failover_mode_desc", "MANUAL");
    tsql_put_int(f, "session_timeout", 10);
    tsql_put_int(f, "primary_role_allow_connections", 2);
    tsql_put_text(f, "primary_role_allow_connections_desc", "ALL");
    tsql_put_int(f, "secondary_role_allow_connections", g->connections);
    tsql_put_text(f, "secondary_role_allow_connections_desc",
                  g->connections == 0   ? "NO"
                  : g->connections == 1 ? "READ_ONLY"
                                        : "ALL");
    tsql_put_int(f, "backup_priority", 50);
}

static bool fill_replica_states(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->group_count; i++) {
        put_replica(f, &f->sim->groups[i], true);
        if (f->sim->groups[i].role == SIM_PRIMARY)
            put_replica(f, &f->sim->groups[i], false);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static void put_database(struct filler *f, const struct sim_db *db, const struct sim_group *g,
                         bool local)
{
    bool primary = (g->role == SIM_PRIMARY) == local && g->role != SIM_RESOLVING;
    bool good = g->role != SIM_RESOLVING;

    tsql_row(f);
    tsql_put_int(f, "database_id", db->id);
    tsql_put_guid(f, "group_id", g->id);
    tsql_put_guid(f, "replica_id", local ? g->local_id : g->partner_id);
    tsql_put_guid(f, "group_database_id", db->family_guid);
    tsql_put_int(f, "is_local", local);
    tsql_put_int(f, "is_primary_replica", primary);
    tsql_put_int(f, "synchronization_state", good ? 2 : 0);
    tsql_put_text(f, "synchronization_state_desc", good ? "SYNCHRONIZED" : "NOT SYNCHRONIZING");
    tsql_put_int(f, "is_commit_participant", primary);
    tsql_put_int(f, "synchronization_health", good ? 2 : 0);
    tsql_put_text(f, "synchronization_health_desc", good ? "HEALTHY" : "NOT_HEALTHY");
    if (local) {
        tsql_put_int(f, "database_state", 0);
        tsql_put_text(f, "database_state_desc", "ONLINE");
    }
    tsql_put_int(f, "is_suspended", 0);
    tsql_put_int(f, "log_send_queue_size", 0);
    tsql_put_int(f, "redo_queue_size", 0);
}

static bool fill_database_states(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->db_count; i++) {
        const struct sim_db *db = f->sim->dbs[i];
        const struct sim_group *g = sim_group_of_locked(f->sim, db);
        if (!g)
            continue;
        put_database(f, db, g, true);
        if (g->role == SIM_PRIMARY)
            put_database(f, db, g, false);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_replicas(struct filler *f)
{
    if (!sim_may_server(f->session, "VIEW ANY DEFINITION"))
        return true;
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->group_count; i++) {
        put_replica(f, &f->sim->groups[i], true);
        put_replica(f, &f->sim->groups[i], false);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_groups(struct filler *f)
{
    static const char *const preferences[] = {"PRIMARY", "SECONDARY_ONLY", "SECONDARY", "NONE"};
    if (!sim_may_server(f->session, "VIEW ANY DEFINITION"))
        return true;
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->group_count; i++) {
        const struct sim_group *g = &f->sim->groups[i];
        tsql_row(f);
        tsql_put_guid(f, "group_id", g->id);
        tsql_put_text(f, "name", g->name);
        tsql_put_int(f, "failure_condition_level", 3);
        tsql_put_int(f, "health_check_timeout", 30000);
        tsql_put_int(f, "automated_backup_preference", g->preference);
        tsql_put_text(f, "automated_backup_preference_desc", preferences[g->preference]);
        tsql_put_int(f, "basic_features", 0);
        tsql_put_int(f, "is_distributed", 0);
        tsql_put_int(f, "cluster_type", f->sim->windows ? 0 : 1);
        tsql_put_text(f, "cluster_type_desc", f->sim->windows ? "wsfc" : "external");
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_cluster_databases(struct filler *f)
{
    if (!sim_may_server(f->session, "VIEW ANY DEFINITION"))
        return true;
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->db_count; i++) {
        const struct sim_group *g = sim_group_of_locked(f->sim, f->sim->dbs[i]);
        if (!g)
            continue;
        tsql_row(f);
        tsql_put_guid(f, "group_id", g->id);
        tsql_put_guid(f, "group_database_id", f->sim->dbs[i]->family_guid);
        tsql_put_text(f, "database_name", f->sim->dbs[i]->name);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

/* clang-format off */
const struct view tsql_hadr_views[] = {
    {"sys", "database_mirroring", 0, NULL, -1,
     "database_id:i,mirroring_guid:g,mirroring_state:t,mirroring_state_desc:n60,mirroring_role:t,"
     "mirroring_role_desc:n60,mirroring_role_sequence:i,mirroring_safety_level:t,"
     "mirroring_safety_level_desc:n60,mirroring_partner_name:n128,mirroring_partner_instance:n128,"
     "mirroring_witness_name:n128", fill_mirroring},
    {"sys", "dm_hadr_database_replica_states", 11, "VIEW SERVER STATE", -1,
     "database_id:i,group_id:g,replica_id:g,group_database_id:g,is_local:B,is_primary_replica:B@12,"
     "synchronization_state:t,synchronization_state_desc:n60,is_commit_participant:B,"
     "synchronization_health:t,synchronization_health_desc:n60,database_state:t,database_state_desc:n60,"
     "is_suspended:B,suspend_reason:t,suspend_reason_desc:n60,log_send_queue_size:b,redo_queue_size:b", fill_database_states},
    {"sys", "dm_hadr_availability_replica_states", 11, "VIEW SERVER STATE", -1,
     "replica_id:g,group_id:g,is_local:B,role:t,role_desc:n60,operational_state:t,operational_state_desc:n60,"
     "connected_state:t,connected_state_desc:n60,recovery_health:t,recovery_health_desc:n60,"
     "synchronization_health:t,synchronization_health_desc:n60", fill_replica_states},
    {"sys", "availability_replicas", 11, NULL, -1,
     "replica_id:g,group_id:g,replica_server_name:n256,availability_mode:t,availability_mode_desc:n60,"
     "failover_mode:t,failover_mode_desc:n60,session_timeout:i,primary_role_allow_connections:t,"
     "primary_role_allow_connections_desc:n60,secondary_role_allow_connections:t,"
     "secondary_role_allow_connections_desc:n60,backup_priority:i", fill_replicas},
    {"sys", "availability_groups", 11, NULL, -1,
     "group_id:g,name:n128,failure_condition_level:i,health_check_timeout:i,automated_backup_preference:t,"
     "automated_backup_preference_desc:n60,basic_features:B@13,is_distributed:B@13,cluster_type:t@14,"
     "cluster_type_desc:n60@14", fill_groups},
    {"sys", "availability_databases_cluster", 11, NULL, -1,
     "group_id:g,group_database_id:g,database_name:n128", fill_cluster_databases},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
