#pragma once
/* What the tests of the store share: temporary folders, rows made of few words. */
#include "server/db_driver.h"
#include "server/err.h"
#include "server/store.h"
#include "server/store_rows.h"

/* A fresh folder; the caller frees the path. kit_remove_folder deletes it with what is in it. */
char *kit_make_folder(void);
void kit_remove_folder(char *folder);

/* "FOLDER/NAME"; the caller frees it. */
char *kit_path(const char *folder, const char *name);

/* A connection to FOLDER/store.db for tests that call the operations without the writer thread.
 * The source must be closed after its connections. */
struct db_source *kit_open_source(const char *folder);
struct db *kit_connect(struct db_source *source, bool read_only);

/* Fail the test with the error's message when rc is negative. */
void kit_ok(int rc, const struct err *err);

/* Stores an instance of this name. */
void kit_put_instance(struct db *db, const char *name);

/* A queued job; every member may be changed before it is stored. job_row_fini frees it. */
struct job_row kit_job(const char *instance);

/* Stores a job like kit_job with this priority; the caller frees its id. */
char *kit_put_job(struct db *db, const char *instance, int64_t priority, bool exclusive);

void kit_free_jobs(struct job_row *rows, size_t count);

/* What each test of the operations gets (setup and teardown of cmocka): an empty database and two
 * connections. */
struct kit {
    char *folder;
    struct db_source *source;
    struct db *db;
    struct db *reader;
};
int kit_set_up(void **state);
int kit_tear_down(void **state);
struct db *kit_db(void **state);
#define KIT_TEST(name) cmocka_unit_test_setup_teardown(name, kit_set_up, kit_tear_down)

/* What each test of the whole store gets: a folder, and a store in it when it is opened. */
struct kit_store {
    char *folder;
    char *path;
    char *url;
    struct store *store; /* NULL while closed */
};
int kit_store_set_up(void **state); /* closed */
int kit_store_tear_down(void **state);

void kit_store_open(struct kit_store *kit);
void kit_store_start(struct kit_store *kit); /* opens, and puts the instance sql01 */
void kit_store_close(struct kit_store *kit);

/* Works for store_write and store_read: arg is an instance's name, a struct job_row, a job's id. */
int kit_put_instance_work(struct db *db, void *arg, struct err *err);
int kit_insert_job_work(struct db *db, void *arg, struct err *err);
int kit_get_job_work(struct db *db, void *arg, struct err *err);
