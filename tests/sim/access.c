/* access.c: whether a session can enter a database: its state, its role in an availability group or
 * a mirroring session, its users. Numbers: Books Online, errors 911 to 983. */
#include <string.h>

#include "session.h"

static int state_error(const char *state)
{
    static const struct {
        const char *state;
        int number;
    } states[] = {{"OFFLINE", 942},
                  {"RESTORING", 927},
                  {"RECOVERING", 922},
                  {"SUSPECT", 926},
                  {"RECOVERY_PENDING", 945}};
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        if (sim_text_is(states[i].state, state))
            return states[i].number;
    return 0;
}

int sim_database_error_locked(const struct session *s, const struct sim_db *db)
{
    const struct sim_group *g = sim_group_of_locked(s->sim, db);

    if (db->mirror == SIM_MIRROR)
        return 954;
    int error = state_error(db->state);
    if (error || !g || g->role == SIM_PRIMARY)
        return error;
    if (g->role == SIM_RESOLVING)
        return 983;
    if (g->connections == 0)
        return 976;
    return g->connections == 1 && !s->read_only_intent ? 978 : 0;
}

int sim_single_user_error_locked(const struct session *s, const struct sim_db *db)
{
    if (!sim_text_is(db->user_access, "SINGLE_USER"))
        return 0;
    if (db->held_by)
        return 924;
    for (const struct session *other = s->sim->sessions; other; other = other->next)
        if (other != s && other->ready && !other->killed && other->database &&
            sim_text_is(other->database, db->name))
            return 924;
    return 0;
}

bool sim_database_open(struct session *s, const char *name, const char **out_name)
{
    struct sim *sim = s->sim;

    pthread_mutex_lock(&sim->lock);
    const struct sim_db *db = sim_db_find_locked(sim, name);
    const char *real = db ? sim_arena_dup(&s->arena, db->name) : NULL;
    int error = db ? sim_database_error_locked(s, db) : 911;
    int single = db ? sim_single_user_error_locked(s, db) : 0;
    bool restricted = db && sim_text_is(db->user_access, "RESTRICTED_USER");
    pthread_mutex_unlock(&sim->lock);
    if (error)
        return sim_raise(s, error, 1, real ? real : name, NULL);
    if (!sim_may_enter(s, real))
        return sim_raise(s, 916, 1, s->login, real, NULL);
    if (restricted && !sim_in_role(s, real, "db_owner") &&
        !sim_may_server(s, "CREATE ANY DATABASE"))
        return sim_raise(s, 923, 1, real, NULL);
    if (single)
        return sim_raise(s, single, 1, real, NULL);
    *out_name = real;
    return true;
}
