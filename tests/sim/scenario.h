/* scenario.h: reading a scenario's JSON; the first mistake is kept in the loader. */
#pragma once

#include <cjson/cJSON.h>

#include "world.h"

struct loader {
    struct sim *sim;
    const cJSON *user, *platform, *common;
    char *error;
    size_t error_size;
    bool failed;
};

void sim_load_fail(struct loader *l, const char *what, const char *where);
/* Fails unless it is an object with members of the list only (ended by NULL). */
void sim_load_check(struct loader *l, const cJSON *object, const char *const *names,
                    const char *where);
const cJSON *sim_load_member(const struct loader *l, const char *name); /* given or default */
double sim_load_number(struct loader *l, const cJSON *m, const char *name, double fallback);
double sim_load_number_of(struct loader *l, const cJSON *object, const char *name, double fallback);
const char *sim_load_text_of(struct loader *l, const cJSON *m, const char *name,
                             const char *fallback);
const char *sim_load_text(struct loader *l, const cJSON *object, const char *name,
                          const char *fallback);
bool sim_load_bool(struct loader *l, const cJSON *object, const char *name, bool fallback);
bool sim_load_flag(struct loader *l, const char *name, bool fallback); /* of the scenario */
/* scenario_parts.c */
void sim_load_login(struct loader *l, const cJSON *m);
void sim_load_databases(struct loader *l);
void sim_load_storage(struct loader *l);
/* scenario_others.c */
void sim_load_timeline(struct loader *l);
void sim_load_trace(struct loader *l); /* after the databases */
/* scenario_hadr.c: availability_groups; then what a database says of roles and access */
void sim_load_groups(struct loader *l);
void sim_load_access(struct loader *l, struct sim_db *db, const cJSON *m);
