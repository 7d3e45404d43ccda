/* testing.h: for the simulator's tests: a server with one client. Failures end the test. */
#pragma once

#include "tests/sim/client.h"
#include "tests/sim/sim.h"

#define BAK "/var/opt/mssql/backup/"

struct world {
    struct sim *sim;
    struct client *client;
};

struct world world_start(const char *scenario);
void world_stop(struct world *w);
void world_fault(struct world *w, const char *json);
void world_refuses(struct world *w, const char *sql, int number); /* with this error, no 3014 */
void world_backs_up(struct world *w, const char *sql);            /* a 3014 and no error */
size_t world_file_count(struct world *w);
