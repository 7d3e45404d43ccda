#include "tests/store_kit.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/mem.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

char *kit_make_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *folder = mem_format("%s/sweetspot-store-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    return folder;
}

void kit_remove_folder(char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = kit_path(folder, entry->d_name);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    (void)closedir(dir);
    assert_int_equal(rmdir(folder), 0);
    free(folder);
}

char *kit_path(const char *folder, const char *name)
{
    return mem_format("%s/%s", folder, name);
}

void kit_ok(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

struct db_source *kit_open_source(const char *folder)
{
    struct err err = {0};
    struct db_source *source = NULL;
    char *path = kit_path(folder, "store.db");
    kit_ok(db_sqlite_driver.open(path, &source, &err), &err);
    free(path);
    return source;
}

struct db *kit_connect(struct db_source *source, bool read_only)
{
    struct err err = {0};
    struct db *db = NULL;
    kit_ok(db_sqlite_driver.connect(source, read_only, &db, &err), &err);
    return db;
}

int kit_put_instance_work(struct db *db, void *arg, struct err *err)
{
    bool created = false;
    struct instance_row row = {.name = mem_copy(arg), .definition = mem_copy("{}")};
    int rc = store_instance_put(db, &row, -1, &created, err);
    instance_row_fini(&row);
    return rc;
}

void kit_put_instance(struct db *db, const char *name)
{
    struct err err = {0};
    char *copy = mem_copy(name);
    kit_ok(kit_put_instance_work(db, copy, &err), &err);
    free(copy);
}

struct job_row kit_job(const char *instance)
{
    char id[IDS_TEXT_SIZE];
    return (struct job_row){
        .id = mem_copy(ids_new(id)),
        .kind = mem_copy("backup_sweep"),
        .instance = mem_copy(instance),
        .state = mem_copy("queued"),
        .cleanup = mem_copy("none"),
        .definition = mem_copy("{\"labels\":{}}"),
        .created_at = clock_wall_ms(),
        .version = 1,
    };
}

char *kit_put_job(struct db *db, const char *instance, int64_t priority, bool exclusive)
{
    struct err err = {0};
    struct job_row row = kit_job(instance);
    row.priority = priority;
    row.exclusive = exclusive;
    kit_ok(store_job_insert(db, &row, &err), &err);
    char *id = mem_copy(row.id);
    job_row_fini(&row);
    return id;
}

void kit_free_jobs(struct job_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        job_row_fini(&rows[i]);
    free(rows);
}

int kit_set_up(void **state)
{
    struct kit *kit = mem_alloc(1, sizeof *kit);
    kit->folder = kit_make_folder();
    kit->source = kit_open_source(kit->folder);
    kit->db = kit_connect(kit->source, false);
    kit->reader = kit_connect(kit->source, true);
    *state = kit;
    return 0;
}

int kit_tear_down(void **state)
{
    struct kit *kit = *state;
    assert_int_equal(kit->db->uses, 0);
    assert_int_equal(kit->reader->uses, 0);
    kit->reader->ops->close(kit->reader);
    kit->db->ops->close(kit->db);
    db_sqlite_driver.close(kit->source);
    kit_remove_folder(kit->folder);
    free(kit);
    return 0;
}

struct db *kit_db(void **state)
{
    return ((struct kit *)*state)->db;
}

int kit_store_set_up(void **state)
{
    struct kit_store *kit = mem_alloc(1, sizeof *kit);
    kit->folder = kit_make_folder();
    kit->path = kit_path(kit->folder, "store.db");
    kit->url = mem_format("sqlite:%s", kit->path);
    *state = kit;
    return 0;
}

int kit_store_tear_down(void **state)
{
    struct kit_store *kit = *state;
    kit_store_close(kit);
    kit_remove_folder(kit->folder);
    free(kit->path);
    free(kit->url);
    free(kit);
    return 0;
}

void kit_store_open(struct kit_store *kit)
{
    struct err err = {0};
    kit_ok(store_open(kit->url, &kit->store, &err), &err);
}

void kit_store_start(struct kit_store *kit)
{
    char name[] = "sql01";
    struct err err = {0};
    kit_store_open(kit);
    kit_ok(store_write(kit->store, kit_put_instance_work, name, &err), &err);
}

void kit_store_close(struct kit_store *kit)
{
    store_close(kit->store);
    kit->store = NULL;
}

int kit_insert_job_work(struct db *db, void *arg, struct err *err)
{
    return store_job_insert(db, arg, err);
}

int kit_get_job_work(struct db *db, void *arg, struct err *err)
{
    struct job_row row = {0};
    int rc = store_job_get(db, arg, &row, err);
    job_row_fini(&row);
    return rc;
}
