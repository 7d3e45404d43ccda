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

static const struct verb verbs[] = {
    {"drop_before", SIM_DROP_BEFORE, 0},
    {"drop_after", SIM_DROP_AFTER, 0},
    {"drop_at_percent", SIM_DROP_AT_PERCENT, 50},
    {"drop_after_4035", SIM_DROP_AFTER_4035, 0},
    {"error", SIM_ERROR, 0},
    {"error_at_percent", SIM_ERROR_AT_PERCENT, 50},
    {"error_after_4035", SIM_ERROR_LATE, 0},
    {"ignore_attention", SIM_IGNORE_ATTENTION, 0},
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

static void clear_locked(struct sim *sim)
{
    sim_faults_free_locked(sim);
    sim_release_locked(sim);
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

static int fill_volume_locked(struct sim *sim, const cJSON *o, char *error, size_t size)
{
    struct sim_volume *v = sim_volume_of_locked(sim, text(o, "path", sim->backup_dir));
    if (!v)
        return problem(error, size, "no volume has this path");
    v->used_bytes += sim_volume_free_locked(sim, v) - (int64_t)number(o, "free_mib", 0) * 1048576;
    return 0;
}

static int write_pages_locked(struct sim *sim, const cJSON *o, char *error, size_t size)
{
    struct sim_db *db = sim_db_find_locked(sim, text(o, "database", "Sales"));
    if (!db)
        return problem(error, size, "there is no such database");
    int64_t pages = (int64_t)number(o, "mib", 1) * 128;
    db->changed_pages += pages;
    db->log_pages += pages;
    db->lsn += (uint64_t)pages * 10;
    return 0;
}

static bool is_off(const cJSON *o)
{
    return cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(o, "on"));
}

/* A request of somebody else begins, or with "on": false ends. `seconds` gives it an end. */
static int foreign_locked(struct sim *sim, const cJSON *o, int kind, char *error, size_t size)
{
    const char *database = text(o, "database", "Sales");
    int64_t now = sim->moment_us;

    if (kind < 0)
        return problem(error, size, "kind is backup, backup_log, checkdb, shrink or restore");
    if (is_off(o)) {
        sim_foreign_end_locked(sim, (enum sim_foreign_kind)kind, text(o, "database", NULL), now);
        return 0;
    }
    struct sim_foreign *f = sim_foreign_start_locked(sim, (enum sim_foreign_kind)kind, database,
                                                     now, real(o, "seconds", 0));
    f->percent = number(o, "percent", 37);
    return 0;
}

static int vss_locked(struct sim *sim, const cJSON *o)
{
    const cJSON *copy = cJSON_GetObjectItemCaseSensitive(o, "copy_only");
    int64_t took = (int64_t)(real(o, "seconds", 60) * 1e6);

    sim_foreign_set_locked(sim, text(o, "database", "Sales"), true, cJSON_IsTrue(copy),
                           sim->moment_us - took, sim->moment_us);
    return 0;
}

static int grow_locked(struct sim *sim, const cJSON *o, char *error, size_t size)
{
    const struct sim_growth growth = {.start_us = sim->moment_us,
                                      .took_us = (int64_t)(real(o, "seconds", 0.1) * 1e6),
                                      .pages = (int64_t)(real(o, "mib", 64) * 128)};
    if (sim_growth_add_locked(sim, text(o, "database", "Sales"), text(o, "name", "Sales"), &growth,
                              true))
        return problem(error, size, "there is no such database or file");
    return 0;
}

static int folder_locked(struct sim *sim, const cJSON *o)
{
    sim->folders =
        sim_realloc(sim->folders, (size_t)(sim->folder_count + 1) * sizeof(*sim->folders));
    const cJSON *on = cJSON_GetObjectItemCaseSensitive(o, "on");
    sim->folders[sim->folder_count++] =
        (struct sim_folder){.path = sim_dup(text(o, "path", "/x")), .denied = cJSON_IsFalse(on)};
    return 0;
}

/* Things that happen at once and are not kept. 1 when it is none of them. */
static int act_locked(struct sim *sim, const char *what, const cJSON *o, char *error, size_t size)
{
    if (!strcmp(what, "clear"))
        return clear_locked(sim), 0;
    if (!strcmp(what, "release"))
        return sim_release_locked(sim), 0;
    if (!strcmp(what, "restart"))
        return sim_restart_locked(sim), 0;
    if (!strcmp(what, "fill_volume"))
        return fill_volume_locked(sim, o, error, size);
    if (!strcmp(what, "write_pages"))
        return write_pages_locked(sim, o, error, size);
    if (!strcmp(what, "foreign_backup"))
        return foreign_locked(sim, o, SIM_FOREIGN_BACKUP, error, size);
    if (!strcmp(what, "foreign_request"))
        return foreign_locked(sim, o, sim_foreign_kind(text(o, "kind", "backup")), error, size);
    if (!strcmp(what, "vss_snapshot"))
        return vss_locked(sim, o);
    if (!strcmp(what, "grow_file"))
        return grow_locked(sim, o, error, size);
    if (!strcmp(what, "drop_all"))
        return sim_drop_all_locked(sim), 0;
    if (!strcmp(what, "folder"))
        return folder_locked(sim, o);
    if (!strcmp(what, "trace_flag"))
        return sim_flag_set_locked(sim, number(o, "number", 3042),
                                   !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(o, "on"))),
               0;
    if (!strcmp(what, "stop_listening"))
        return sim_listen_stop_locked(sim), 0;
    return 1;
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
    int rc = act_locked(sim, what, o, error, size);
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
