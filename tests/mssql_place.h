#pragma once
/* A simulated SQL Server and a session with it, for the tests of server/mssql. */
#include "server/mssql.h"
#include "tests/sim/sim.h"

#include <pthread.h>

#define PLACE_LOGIN "sa"
#define PLACE_PASSWORD "Sweetspot-1"

struct place {
    struct sim *sim;
    struct mssql_target target; /* of the simulator; tests change what they are about */
    struct mssql *session;      /* logged in; NULL after place_start_only */
    struct err err;
};

/* Once a program, around all tests: mssql_init in a folder of its own, which is removed. */
int place_init(void **state);
int place_fini(void **state);
const char *place_folder(void);

/* cmocka's setup and teardown: the default scenario and a session in *state. */
int place_start(void **state);
int place_stop(void **state);

/* The same without a session, with a scenario. */
struct place *place_make(const char *scenario);
void place_free(struct place *place);

/* Logs in with place->target; fills place->session or place->err. */
int place_open(struct place *place);

/* Gives the simulator a fault; fails the test when it does not know it. */
void place_fault(struct place *place, const char *json);

/* A batch that runs in a thread of its own, so that the test can do something meanwhile. */
struct place_batch {
    struct place *place;
    const char *text;
    int rc;
    struct err err;
    int numbers[200]; /* of the messages, in order */
    int count;
    pthread_t thread;
};
void place_run(struct place_batch *batch); /* in this thread */
void place_begin(struct place_batch *batch);
void place_end(struct place_batch *batch);
