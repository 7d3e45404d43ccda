#pragma once
/* What the drills share: the shortest job of every kind, and what must hold after one, whatever
 * happened to the daemon, the connection or the server meanwhile. Failures fail the test. */
#include "tests/sim/sim.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* One kind in a drill. */
struct drill {
    const char *name; /* of the drill: the kind, and in which case */
    const char *body; /* of its job, with single quotes */
    int arms;         /* each with one good trial in each block; 0: a kind without trials */
    int blocks;
    bool flag_was_on; /* 3042, before the job: an administrator's */
};

extern const struct drill drills[];
extern const size_t drill_count;

/* Members of the instance that let all of them run. */
#define DRILL_ALLOW                                                                                \
    "'allow':{'paths':['/var/opt/mssql/backup'],'trace_flags':[3042]},"                            \
    "'limits':{'min_free_disk_mib':1}"

/* A simulator with a table to copy. conf_dir: where the driver's settings may be written, NULL when
 * a daemon in this process has done so. */
struct sim *drill_sim_start(const char *conf_dir);

/* Ends one that was started with a conf_dir. */
void drill_sim_stop(struct sim *sim);

/* Puts the flag into the state that the drill begins with. */
void drill_set_flag(struct sim *sim, const struct drill *drill);

/* Nothing of ours is on the simulator, and the flag is as the drill began. context names the case
 * when it is not so. */
void drill_expect_clean(struct sim *sim, const struct drill *drill, const char *context);

/* job, trials (a list answer) and report (NULL: none is needed) as the API gives them: it ended
 * well, each arm has exactly one good trial in each block, and the report counts just these. */
void drill_expect_whole(const struct drill *drill, const cJSON *job, const cJSON *trials,
                        const cJSON *report, const char *context);

/* The same numbers in every run: a fault must be found again. */
unsigned drill_random(unsigned *seed);

/* How much is done. */
enum drill_form {
    DRILL_SMALL, /* SWEETSPOT_DRILLS=small: for builds that are slow */
    DRILL_SHORT,
    DRILL_LONG, /* an argument "long" */
};
enum drill_form drill_form(int argc, char **argv);
