/* testing.h: for the simulator's tests: a server with one client. Failures end the test. */
#pragma once

#include "tests/sim/client.h"
#include "tests/sim/sim.h"

#define BAK "/var/opt/mssql/backup/"

struct world {
    struct sim *sim;
    struct client *client;
};

#define VERSION(number) "{'time_scale':0,'platform':'Windows','version':'" number "'"

struct world world_start(const char *scenario);
void world_stop(struct world *w);
void world_fault(struct world *w, const char *json);
void world_refuses(struct world *w, const char *sql, int number); /* with this error, no 3014 */
void world_backs_up(struct world *w, const char *sql);            /* a 3014 and no error */
/* The first cell of the answer is this text. */
void world_says(struct world *w, const char *sql, const char *want);
void world_runs(struct world *w, const char *sql); /* without an error */
/* The same as world_start with a login of the scenario that is not sa; both end with world_stop. */
struct world world_start_as(const char *scenario, const char *user, const char *password);
size_t world_file_count(struct world *w);
