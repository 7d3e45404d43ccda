#include "tests/jobs_kit.h"
#include "jobs/scheduler.h"
#include "jobs/webhook.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/mem.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- JSON ---------------------------------------------------------------------------------- */

char *jobs_kit_text(const char *single_quoted)
{
    char *text = mem_copy(single_quoted);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    return text;
}

cJSON *jobs_kit_json(const char *single_quoted)
{
    cJSON *tree = NULL;
    struct err err = {0};
    char *text = jobs_kit_text(single_quoted);
    if (json_parse(text, strlen(text), &tree, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    free(text);
    return tree;
}

void jobs_kit_set(cJSON *tree, const char *pointer, const char *value)
{
    char *path = mem_copy(pointer + 1);
    char *name = path;
    char *slash;
    while ((slash = strchr(name, '/'))) {
        *slash = '\0';
        cJSON *next = cJSON_GetObjectItemCaseSensitive(tree, name);
        tree = next ? next : cJSON_AddObjectToObject(tree, name);
        name = slash + 1;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(tree, name);
    if (value)
        cJSON_AddItemToObject(tree, name, jobs_kit_json(value));
    free(path);
}

static void apply(cJSON *tree, const char *const *changes)
{
    for (; changes && changes[0]; changes += 2)
        jobs_kit_set(tree, changes[0], changes[1]);
}

void jobs_kit_expect_fault(const struct json_faults *faults, const char *pointer, const char *words)
{
    for (size_t i = 0; i < faults->count; i++)
        if (strcmp(faults->items[i].pointer, pointer) == 0 &&
            strstr(faults->items[i].detail, words))
            return;
    for (size_t i = 0; i < faults->count; i++)
        print_error("%s: %s\n", faults->items[i].pointer, faults->items[i].detail);
    fail_msg("no fault at %s says \"%s\"", pointer, words);
}

void jobs_kit_expect_none(const struct json_faults *faults)
{
    if (faults->count > 0)
        fail_msg("%s: %s", faults->items[0].pointer, faults->items[0].detail);
}

/* --- the place ------------------------------------------------------------------------------ */

int jobs_place_set_up(void **state)
{
    struct jobs_place *place = mem_alloc(1, sizeof *place);
    struct err err = {0};
    char *base = kit_make_folder();
    place->folder = base;
    char *url = mem_format("sqlite:%s/store.db", base);
    place->config.key_file = kit_path(base, "key");
    place->config.secrets_env = mem_copy("");
    place->config.odbc_driver = mem_copy("");
    place->config.workers = 2;
    place->config.unreachable_minutes = 60;
    kit_ok(store_open(url, &place->store, &err), &err);
    kit_ok(secrets_open(&place->config, &place->secrets, &err), &err);
    kit_ok(egress_open("", &place->egress, &err), &err);
    free(url);
    place->parts = (struct jobs_parts){.store = place->store,
                                       .secrets = place->secrets,
                                       .egress = place->egress,
                                       .config = &place->config};
    assert_int_equal(setenv("SWEETSPOT_SECRET_TEST", "x", 1), 0);
    *state = place;
    return 0;
}

int jobs_place_tear_down(void **state)
{
    struct jobs_place *place = *state;
    egress_close(place->egress);
    secrets_close(place->secrets);
    store_close(place->store);
    kit_remove_folder(place->folder);
    free(place->config.key_file);
    free(place->config.secrets_env);
    free(place->config.odbc_driver);
    free(place);
    return 0;
}

void jobs_place_write(struct jobs_place *place, store_work *work, void *arg)
{
    struct err err = {0};
    kit_ok(store_write(place->store, work, arg, &err), &err);
}

static int put_instance(struct db *db, void *arg, struct err *err)
{
    bool created;
    return store_instance_put(db, arg, -1, &created, err);
}

void jobs_place_put_raw_instance(struct jobs_place *place, const char *name, const char *text)
{
    struct instance_row row = {.name = mem_copy(name), .definition = mem_copy(text)};
    jobs_place_write(place, put_instance, &row);
    instance_row_fini(&row);
}

void jobs_place_put_instance(struct jobs_place *place, const char *name, const char *const *changes)
{
    struct instance instance;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(JOBS_KIT_INSTANCE);
    char *host = mem_format("\"%s.invalid\"", name); /* a server of its own */
    jobs_kit_set(tree, "/host", host);
    free(host);
    apply(tree, changes);
    (void)(instance_read(tree, place->secrets, &instance, &faults) < 0); /* asked just below */
    jobs_kit_expect_none(&faults);
    cJSON *whole = instance_to_json(&instance);
    char *text = json_print(whole);
    jobs_place_put_raw_instance(place, name, text);
    free(text);
    cJSON_Delete(whole);
    instance_fini(&instance);
    json_faults_fini(&faults);
}

void jobs_place_claim(struct jobs_place *place, struct claim *claim)
{
    struct err err = {0};
    kit_ok(scheduler_claim(place->store, claim, &err), &err);
}

static int put_webhook(struct db *db, void *arg, struct err *err)
{
    bool created;
    return store_webhook_put(db, arg, -1, &created, err);
}

void jobs_place_put_webhook(struct jobs_place *place, const char *name, const char *events,
                            bool all_jobs)
{
    struct webhook webhook;
    struct webhook_row row = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    cJSON *tree = jobs_kit_json("{'url':'https://127.0.0.1:1/hook','format':'json'}");
    jobs_kit_set(tree, "/events", events);
    jobs_kit_set(tree, "/all_jobs", all_jobs ? "true" : "false");
    (void)(webhook_read(tree, place->secrets, &webhook, &faults) < 0); /* asked just below */
    jobs_kit_expect_none(&faults);
    kit_ok(webhook_to_row(&webhook, name, place->secrets, &row, &err), &err);
    jobs_place_write(place, put_webhook, &row);
    webhook_row_fini(&row);
    webhook_fini(&webhook);
    json_faults_fini(&faults);
}

struct job_row jobs_place_job(const char *instance, const char *const *changes)
{
    char id[IDS_TEXT_SIZE];
    struct definition definition;
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(JOBS_KIT_JOB);
    cJSON_ReplaceItemInObjectCaseSensitive(tree, "instance", cJSON_CreateString(instance));
    apply(tree, changes);
    (void)(definition_read(tree, &definition, &faults) < 0); /* asked just below */
    jobs_kit_expect_none(&faults);
    cJSON *whole = definition_to_json(&definition);
    struct job_row row = {.id = mem_copy(ids_new(id)),
                          .kind = mem_copy("backup_sweep"),
                          .instance = mem_copy(instance),
                          .state = mem_copy("queued"),
                          .cleanup = mem_copy("none"),
                          .definition = json_print(whole),
                          .priority = definition.priority,
                          .not_before = definition.not_before,
                          .deadline = definition.deadline,
                          .exclusive = true,
                          .ignores_windows = definition.ignore_windows,
                          .created_at = clock_wall_ms(),
                          .version = 1};
    cJSON_Delete(whole);
    cJSON_Delete(tree);
    json_faults_fini(&faults);
    return row;
}

static int insert_job(struct db *db, void *arg, struct err *err)
{
    return store_job_insert(db, arg, err);
}

char *jobs_place_put_job(struct jobs_place *place, struct job_row *row)
{
    jobs_place_write(place, insert_job, row);
    char *id = mem_copy(row->id);
    job_row_fini(row);
    return id;
}

static int get_job(struct db *db, void *arg, struct err *err)
{
    struct job_row *row = arg;
    char *id = row->id;
    row->id = NULL;
    int rc = store_job_get(db, id, row, err);
    free(id);
    return rc;
}

struct job_row jobs_place_get_job(struct jobs_place *place, const char *id)
{
    struct err err = {0};
    struct job_row row = {.id = mem_copy(id)};
    kit_ok(store_read(place->store, get_job, &row, &err), &err);
    return row;
}

static int update_job(struct db *db, void *arg, struct err *err)
{
    return store_job_update(db, arg, err);
}

void jobs_place_update_job(struct jobs_place *place, struct job_row *row)
{
    jobs_place_write(place, update_job, row);
}

void jobs_place_expect_state(struct jobs_place *place, const char *id, const char *state,
                             const char *reason)
{
    struct job_row row = jobs_place_get_job(place, id);
    assert_string_equal(row.state, state);
    if (reason)
        assert_non_null(row.state_reason);
    if (reason)
        assert_string_equal(row.state_reason, reason);
    else
        assert_null(row.state_reason);
    job_row_fini(&row);
}

struct count {
    const char *webhook;
    const char *event;
    size_t found;
};

static int count_deliveries(struct db *db, void *arg, struct err *err)
{
    struct count *count = arg;
    struct store_list page = {.limit = 500};
    struct delivery_row *rows = NULL;
    size_t all = 0;
    if (store_delivery_list(db, count->webhook, &page, &rows, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all; i++) {
        count->found += strcmp(rows[i].event, count->event) == 0;
        delivery_row_fini(&rows[i]);
    }
    free(rows);
    return 0;
}

size_t jobs_place_deliveries(struct jobs_place *place, const char *webhook, const char *event)
{
    struct err err = {0};
    struct count count = {webhook, event, 0};
    kit_ok(store_read(place->store, count_deliveries, &count, &err), &err);
    return count.found;
}
