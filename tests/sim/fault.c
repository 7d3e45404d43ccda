/* fault.c: what can go wrong on request. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "others.h"

struct verb {
    const char *name;
    enum sim_fault_kind kind;
    int percent;
};

struct act { /* one that happens at once */
    struct sim *sim;
    const cJSON *o;
    char *error;
    size_t size;
    void (*plain)(struct sim *sim);
};

static const struct verb verbs[] = {
    {"drop_before", SIM_DROP_BEFORE, 0},
    {"drop_after", SIM_DROP_AFTER, 0},
    {"drop_at_percent", SIM_DROP_AT_PERCENT, 50},
    {"drop_after_4035", SIM_DROP_AFTER_4035, 0},
    {"error", SIM_ERROR, 0},
    {"skip", SIM_SKIP, 0},
    {"error_at_percent", SIM_ERROR_AT_PERCENT, 50},
    {"error_after_4035", SIM_ERROR_LATE, 0},
    {"ignore_attention", SIM_IGNORE_ATTENTION, 0},
    {"ignore_close", SIM_IGNORE_CLOSE, 0},
    {"refuse_login", SIM_REFUSE_LOGIN, 0},
    {"hold_at_percent", SIM_HOLD_AT_PERCENT, 50},
    {"hold_before", SIM_HOLD_STATEMENT, 0},
    {"delete_nothing", SIM_DELETE_NOTHING, 0},
    {"hide", SIM_HIDE, 0},
    {"refuse_right", SIM_REFUSE_RIGHT, 0},
    {"slow", SIM_SLOW, 0},
};

static const char *const members[] = {"do",       "match",    "nth",      "times",     "number",
                                      "severity", "state",    "text",     "percent",   "factor",
                                      "path",     "free_mib", "database", "mib",       "on",
                                      "name",     "kind",     "seconds",  "copy_only", NULL};

static int problem(char *error, size_t size, const char *what)
{
    (void)snprintf(error, size, "The fault is refused: %s.", what);
    return -1;
}

static int number(const cJSON *object, const char *name, int fallback)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(m) ? (int)m->valuedouble : fallback;
}

static double real(const cJSON *object, const char *name, double fallback)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(m) ? m->valuedouble : fallback;
}

static const char *text(const cJSON *object, const char *name, const char *fallback)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(m) ? m->valuestring : fallback;
}

void sim_faults_free_locked(struct sim *sim)
{
    for (int i = 0; i < sim->fault_count; i++) {
        free(sim->faults[i].match);
        free(sim->faults[i].text);
    }
    free(sim->faults);
    sim->faults = NULL;
    sim->fault_count = 0;
}

static void add_locked(struct sim *sim, const struct verb *verb, const cJSON *o)
{
    sim->faults = sim_realloc(sim->faults, (size_t)(sim->fault_count + 1) * sizeof(*sim->faults));
    const cJSON *factor = cJSON_GetObjectItemCaseSensitive(o, "factor");
    bool forever = verb->kind == SIM_HIDE || verb->kind == SIM_REFUSE_RIGHT ||
                   verb->kind == SIM_DELETE_NOTHING;
    sim->faults[sim->fault_count++] =
        (struct sim_fault){.kind = verb->kind,
                           .match = sim_dup(text(o, "match", "")),
                           .nth = number(o, "nth", 1),
                           .times = number(o, "times", forever ? -1 : 1),
                           .number = number(o, "number", 3202),
                           .severity = number(o, "severity", 16),
                           .state = number(o, "state", 1),
                           .percent = number(o, "percent", verb->percent),
                           .factor = cJSON_IsNumber(factor) ? factor->valuedouble : 3,
                           .text = sim_dup(text(o, "text", NULL))};
}

static int fill_volume_locked(struct act *a)
{
    struct sim *sim = a->sim;
    const cJSON *o = a->o;
    struct sim_volume *v = sim_volume_of_locked(sim, text(o, "path", sim->backup_dir));
    if (!v)
        return problem(a->error, a->size, "no volume has this path");
    v->used_bytes += sim_volume_free_locked(sim, v) - (int64_t)number(o, "free_mib", 0) * 1048576;
    return 0;
}

static int write_pages_locked(struct act *a)
{
    struct sim *sim = a->sim;
    const cJSON *o = a->o;
    struct sim_db *db = sim_db_find_locked(sim, text(o, "database", "Sales"));
    if (!db)
        return problem(a->error, a->size, "there is no such database");
    int64_t pages = (int64_t)number(o, "mib", 1) * 128;
    db->changed_pages += pages;
    db->log_pages += pages;
    db->lsn += (uint64_t)pages * 10;
    return 0;
}

static bool is_off(const struct act *a)
{
    return cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(a->o, "on"));
}

/* A request of somebody else begins, or with "on": false ends. `seconds` gives it an end. */
static int foreign(struct act *a, int kind)
{
    struct sim *sim = a->sim;

    if (kind < 0)
        return problem(a->error, a->size, "kind is backup, backup_log, checkdb, shrink or restore");
    if (is_off(a)) {
        sim_foreign_end_locked(sim, (enum sim_foreign_kind)kind, text(a->o, "database", NULL),
                               sim->moment_us);
        return 0;
    }
    struct sim_foreign *f =
        sim_foreign_start_locked(sim, (enum sim_foreign_kind)kind, text(a->o, "database", "Sales"),
                                 sim->moment_us, real(a->o, "seconds", 0));
    f->percent = real(a->o, "percent", 37);
    return 0;
}

static int foreign_backup_locked(struct act *a)
{
    return foreign(a, SIM_FOREIGN_BACKUP);
}

static int foreign_request_locked(struct act *a)
{
    return foreign(a, sim_foreign_kind(text(a->o, "kind", "backup")));
}

static int vss_locked(struct act *a)
{
    const cJSON *copy = cJSON_GetObjectItemCaseSensitive(a->o, "copy_only");
    int64_t end = a->sim->moment_us;
    const struct sim_foreign_set set = {
        .type = 'D',
        .vss = true,
        .copy_only = cJSON_IsTrue(copy),
        .start_us = end - (int64_t)(real(a->o, "seconds", 60) * 1e6),
        .end_us = end,
    };
    sim_foreign_set_locked(a->sim, text(a->o, "database", "Sales"), &set);
    return 0;
}

static int grow_locked(struct act *a)
{
    const struct sim_growth growth = {.start_us = a->sim->moment_us,
                                      .took_us = (int64_t)(real(a->o, "seconds", 0.1) * 1e6),
                                      .pages = (int64_t)(real(a->o, "mib", 64) * 128)};
    if (sim_growth_add_locked(a->sim, text(a->o, "database", "Sales"), text(a->o, "name", "Sales"),
                              &growth, true))
        return problem(a->error, a->size, "there is no such database or file");
    return 0;
}

static int folder_locked(struct act *a)
{
    struct sim *sim = a->sim;
    sim->folders =
        sim_realloc(sim->folders, (size_t)(sim->folder_count + 1) * sizeof(*sim->folders));
    sim->folders[sim->folder_count++] =
        (struct sim_folder){.path = sim_dup(text(a->o, "path", "/x")), .denied = is_off(a)};
    return 0;
}

static int trace_flag_locked(struct act *a)
{
    sim_flag_set_locked(a->sim, number(a->o, "number", 3042), !is_off(a));
    return 0;
}

static int clear_locked(struct act *a)
{
    sim_faults_free_locked(a->sim);
    sim_release_locked(a->sim);
    return 0;
}

static int plain_locked(struct act *a)
{
    a->plain(a->sim);
    return 0;
}

/* The replica of the database's group here has another role from now on. */
static int replica_role_locked(struct act *a)
{
    static const char *const roles[] = {"RESOLVING", "PRIMARY", "SECONDARY"};
    struct sim *sim = a->sim;
    const struct sim_db *db = sim_db_find_locked(sim, text(a->o, "database", "Sales"));
    if (!db || db->group < 0)
        return problem(a->error, a->size, "the database is in no availability group");
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (!strcmp(roles[i], text(a->o, "kind", "SECONDARY"))) {
            sim->groups[db->group].role = (enum sim_role)i;
            return 0;
        }
    return problem(a->error, a->size, "kind is RESOLVING, PRIMARY or SECONDARY");
}

static int database_state_locked(struct act *a)
{
    struct sim_db *db = sim_db_find_locked(a->sim, text(a->o, "database", "Sales"));
    if (!db)
        return problem(a->error, a->size, "there is no such database");
    sim_replace(&db->state, text(a->o, "kind", "OFFLINE"));
    return 0;
}

/* Things that happen at once and are not kept. */
static const struct {
    const char *name;
    int (*run)(struct act *a);
    void (*plain)(struct sim *sim);
} acts[] = {
    {"clear", clear_locked, NULL},
    {"release", plain_locked, sim_release_locked},
    {"restart", plain_locked, sim_restart_locked},
    {"drop_all", plain_locked, sim_drop_all_locked},
    {"stop_listening", plain_locked, sim_listen_stop_locked},
    {"fill_volume", fill_volume_locked, NULL},
    {"folder", folder_locked, NULL},
    {"write_pages", write_pages_locked, NULL},
    {"grow_file", grow_locked, NULL},
    {"foreign_backup", foreign_backup_locked, NULL},
    {"foreign_request", foreign_request_locked, NULL},
    {"vss_snapshot", vss_locked, NULL},
    {"trace_flag", trace_flag_locked, NULL},
    {"replica_role", replica_role_locked, NULL},
    {"database_state", database_state_locked, NULL},
};

/* 0, -1, or 1 when it is none of them. */
static int act_locked(struct act *a, const char *what)
{
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
        if (!strcmp(acts[i].name, what)) {
            a->plain = acts[i].plain;
            return acts[i].run(a);
        }
    return 1;
}

bool sim_fault_is_known(const char *verb)
{
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
        if (!strcmp(acts[i].name, verb))
            return true;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (!strcmp(verbs[i].name, verb))
            return true;
    return false;
}

int sim_fault_act_locked(struct sim *sim, const cJSON *o, int64_t at_us, char *error, size_t size)
{
    const cJSON *m = NULL;
    cJSON_ArrayForEach(m, o) {
        const char *const *n = members;
        while (*n && strcmp(*n, m->string))
            n++;
        if (!*n)
            return problem(error, size, m->string);
    }
    const char *what = text(o, "do", "");
    sim->moment_us = at_us;
    int rc = act_locked(&(struct act){.sim = sim, .o = o, .error = error, .size = size}, what);
    for (size_t i = 0; rc == 1 && i < sizeof(verbs) / sizeof(*verbs); i++)
        if (!strcmp(verbs[i].name, what)) {
            add_locked(sim, &verbs[i], o);
            rc = 0;
        }
    return rc == 1 ? problem(error, size, "\"do\" is not known") : rc;
}

static int apply(struct sim *sim, const cJSON *o, char *error, size_t error_size)
{
    if (!strcmp(text(o, "do", ""), "listen"))
        return sim_listen_again(sim) ? problem(error, error_size, "the port is taken") : 0;
    pthread_mutex_lock(&sim->lock);
    int rc = sim_fault_act_locked(sim, o, sim_now_us_locked(sim), error, error_size);
    pthread_mutex_unlock(&sim->lock);
    return rc;
}

int sim_fault_apply(struct sim *sim, const char *json, char *error, size_t error_size)
{
    char *copy = sim_dup(json);
    for (char *p = copy; *p && !strchr(json, '"'); p++)
        if (*p == '\'')
            *p = '"';
    cJSON *o = cJSON_Parse(copy);
    free(copy);
    int rc = cJSON_IsObject(o) ? apply(sim, o, error, error_size)
                               : problem(error, error_size, "it is not a JSON object");
    cJSON_Delete(o);
    return rc;
}

/* Statements match from their start, blanks before it left out. */
static bool matches(const struct sim_fault *f, const char *statement)
{
    return sim_text_begins(statement + strspn(statement, " \t\r\n;"), f->match);
}

bool sim_fault_hit(struct sim *sim, enum sim_fault_kind kind, const char *statement,
                   struct arena *arena, struct sim_fault *out)
{
    bool hit = false;

    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->fault_count && !hit; i++) {
        struct sim_fault *f = &sim->faults[i];
        if (f->kind != kind || f->times == 0 || !matches(f, statement))
            continue;
        f->seen++;
        if (f->nth && f->seen < f->nth)
            continue;
        f->times -= f->times > 0;
        *out = *f;
        out->match = NULL;
        out->text = f->text ? sim_arena_dup(arena, f->text) : NULL;
        hit = true;
    }
    pthread_mutex_unlock(&sim->lock);
    return hit;
}

bool sim_fault_is_set(struct sim *sim, enum sim_fault_kind kind, const char *name)
{
    bool found = false;
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->fault_count; i++)
        if (sim->faults[i].kind == kind && sim->faults[i].times != 0 &&
            (!*sim->faults[i].match || sim_text_is(sim->faults[i].match, name)))
            found = true;
    pthread_mutex_unlock(&sim->lock);
    return found;
}
