/* rights.c: what a login may do. */
#include <string.h>

#include "session.h"

static const struct sim_login *login_locked(struct session *s)
{
    for (int i = 0; i < s->sim->login_count; i++)
        if (sim_text_is(s->sim->logins[i].name, s->login))
            return &s->sim->logins[i];
    return NULL;
}

static bool has_permission(struct session *s, const char *right)
{
    bool found = false;
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_login *l = login_locked(s);
    for (int i = 0; l && i < l->permission_count; i++)
        if (sim_text_is(l->permissions[i], right) ||
            sim_text_is(l->permissions[i], "CONTROL SERVER"))
            found = true;
    pthread_mutex_unlock(&s->sim->lock);
    return found;
}

bool sim_refused(struct session *s, const char *right)
{
    return sim_fault_is_set(s->sim, SIM_REFUSE_RIGHT, right);
}

bool sim_may_server(struct session *s, const char *right)
{
    if (sim_refused(s, right))
        return false;
    if (sim_text_is(right, "sysadmin"))
        return s->sysadmin;
    if (s->sysadmin || has_permission(s, right))
        return true;
    if (sim_text_is(right, "VIEW SERVER PERFORMANCE STATE"))
        return sim_may_server(s, "VIEW SERVER STATE");
    if (sim_text_is(right, "VIEW SERVER STATE"))
        return has_permission(s, "ALTER SERVER STATE");
    return sim_text_is(right, "CONNECT SQL") || sim_text_is(right, "VIEW ANY DATABASE");
}

bool sim_in_role(struct session *s, const char *database, const char *role)
{
    bool found = false;
    if (s->sysadmin)
        return sim_text_is(role, "db_owner") || sim_text_is(role, "public");
    if (sim_text_is(role, "public"))
        return true;
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_login *l = login_locked(s);
    for (int i = 0; l && i < l->right_count; i++)
        for (int r = 0; r < l->rights[i].role_count; r++)
            if (sim_collate(l->rights[i].database, database) == 0 &&
                sim_text_is(l->rights[i].roles[r], role))
                found = true;
    pthread_mutex_unlock(&s->sim->lock);
    return found;
}

bool sim_may_enter(struct session *s, const char *database)
{
    static const char *const open[] = {"master", "tempdb", "msdb", "sweetspot_sim"};
    bool found = s->sysadmin || has_permission(s, "CONNECT ANY DATABASE");
    for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++)
        found = found || sim_text_is(open[i], database);
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_login *l = login_locked(s);
    for (int i = 0; l && i < l->right_count; i++)
        found = found || sim_collate(l->rights[i].database, database) == 0;
    pthread_mutex_unlock(&s->sim->lock);
    return found && !sim_refused(s, "CONNECT");
}

bool sim_may_backup(struct session *s, const char *database, bool log)
{
    const char *right = log ? "BACKUP LOG" : "BACKUP DATABASE";
    if (sim_refused(s, right))
        return false;
    return s->sysadmin || sim_in_role(s, database, "db_owner") ||
           sim_in_role(s, database, "db_backupoperator") || has_permission(s, right);
}

bool sim_may_execute(struct session *s, const char *procedure)
{
    const char *right = sim_arena_printf(&s->arena, "EXECUTE %s", procedure);
    static const char *const guarded[] = {"xp_delete_file", "xp_delete_files", "xp_cmdshell"};
    bool needs = false;

    if (sim_refused(s, right))
        return false;
    for (size_t i = 0; i < sizeof(guarded) / sizeof(*guarded); i++)
        needs = needs || sim_text_is(guarded[i], procedure);
    return !needs || s->sysadmin || has_permission(s, right);
}

bool sim_may_select_msdb(struct session *s)
{
    if (sim_refused(s, "SELECT msdb"))
        return false;
    return s->sysadmin || sim_in_role(s, "msdb", "db_datareader") ||
           sim_in_role(s, "msdb", "db_owner") || has_permission(s, "SELECT msdb");
}
