#pragma once
/* What the tests of jobs/ share: JSON that reads well in C, faults, and a place with a store, a
 * key, an outgoing side and settings, all of it in a temporary folder. */
#include "jobs/definition.h"
#include "jobs/instance.h"
#include "jobs/jobs.h"
#include "server/json.h"
#include "server/store.h"

/* The text with every ' turned into ". The caller frees it. */
char *jobs_kit_text(const char *single_quoted);

/* The tree of a text so written; fails the test when it is no JSON. The caller deletes it. */
cJSON *jobs_kit_json(const char *single_quoted);

/* tree with one member replaced or added, at a pointer of plain names ("/limits/read_mib"; members
 * on the way are made when absent). value: single-quoted JSON, NULL removes the member. */
void jobs_kit_set(cJSON *tree, const char *pointer, const char *value);

/* Fails the test unless there is a fault at this pointer whose detail contains `words`. */
void jobs_kit_expect_fault(const struct json_faults *faults, const char *pointer,
                           const char *words);

/* Fails the test, naming the first fault, when there is one. */
void jobs_kit_expect_none(const struct json_faults *faults);

/* An instance definition that passes: environment development, nothing listening on its port. */
#define JOBS_KIT_INSTANCE                                                                          \
    "{'host':'127.0.0.1','port':1,'login':'sweetspot',"                                            \
    "'password':{'env':'SWEETSPOT_SECRET_TEST'},'environment':'development',"                      \
    "'allow':{'paths':['/backup','D:\\\\Backup']}}"

/* A job definition that passes on it. */
#define JOBS_KIT_JOB                                                                               \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"                  \
    "'buffercount':['default',7,50]}}"

struct jobs_place {
    char *folder;
    struct config config;
    struct store *store;
    struct secrets *secrets;
    struct egress *egress;
    struct jobs_parts parts;
};

/* Setup and teardown of cmocka; *state is the struct jobs_place. */
int jobs_place_set_up(void **state);
int jobs_place_tear_down(void **state);
#define JOBS_TEST(name)                                                                            \
    cmocka_unit_test_setup_teardown(name, jobs_place_set_up, jobs_place_tear_down)

/* Stores an instance, normalised as a PUT would; changes: pairs of pointer and value for
 * jobs_kit_set, ended by NULL; NULL for none. */
void jobs_place_put_instance(struct jobs_place *place, const char *name,
                             const char *const *changes);

/* Stores the definition text as it is, readable or not. */
void jobs_place_put_raw_instance(struct jobs_place *place, const char *name, const char *text);

/* Stores a webhook that wants `events` (single-quoted JSON array) and is pending for ever: its URL
 * is on a closed port. */
void jobs_place_put_webhook(struct jobs_place *place, const char *name, const char *events,
                            bool all_jobs);

/* A queued job of JOBS_KIT_JOB on this instance, not stored yet. job_row_fini frees it. */
struct job_row jobs_place_job(const char *instance, const char *const *changes);

/* Stores row, frees it, and returns its id, which the caller frees. */
char *jobs_place_put_job(struct jobs_place *place, struct job_row *row);

/* The stored job; job_row_fini frees it. */
struct job_row jobs_place_get_job(struct jobs_place *place, const char *id);

/* Writes the row back (its version must be the stored one). */
void jobs_place_update_job(struct jobs_place *place, struct job_row *row);

/* Fails the test unless the job has this state and reason (NULL: none). */
void jobs_place_expect_state(struct jobs_place *place, const char *id, const char *state,
                             const char *reason);

/* How many deliveries of this event the webhook has. */
size_t jobs_place_deliveries(struct jobs_place *place, const char *webhook, const char *event);

/* Runs work in the store; fails the test with its message when it fails. */
void jobs_place_write(struct jobs_place *place, store_work *work, void *arg);

/* scheduler_claim, which must not fail. */
struct claim;
void jobs_place_claim(struct jobs_place *place, struct claim *claim);
