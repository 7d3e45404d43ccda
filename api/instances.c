/* PUT, GET and DELETE of /v1/instances/{name}, and their list. */
#include "api/handlers.h"
#include "api/page.h"
#include "api/resource.h"
#include "jobs/instance.h"
#include "server/mem.h"
#include "server/mssql.h"
#include "server/store_rows.h"

#include <stdlib.h>
#include <string.h>

/* --- out ----------------------------------------------------------------------------------- */

static cJSON *instance_json(const struct instance_row *row)
{
    cJSON *tree = resource_new(row->name, row->definition);
    cJSON_AddItemToObject(tree, "held", json_text(row->held));
    resource_add_time(tree, "created_at", row->created_at);
    resource_add_time(tree, "updated_at", row->updated_at);
    return tree;
}

static void answer_row(struct req *req, int status, const struct instance_row *row)
{
    char etag[ETAG_SIZE];
    req_answer_json(req, status, instance_json(row));
    (void)req_answer_etag(
        req, etag_of_named(row->version, row->created_at, etag)); /* 304 is answered by it */
}

static void row_cleanup(void *row)
{
    instance_row_fini(row);
}

static int stored_etag(struct db *db, const char *name, char out[ETAG_SIZE], struct err *err)
{
    struct instance_row row = {0};
    if (store_instance_get(db, name, &row, err) < 0)
        return -1;
    etag_of_named(row.version, row.created_at, out);
    instance_row_fini(&row);
    return 0;
}

static const char *const shown_members[] = {"held", "created_at", "updated_at", "warnings", NULL};
static const struct resource_kind kind = {.word = "instance",
                                          .etag = stored_etag,
                                          .delete = store_instance_delete,
                                          .shown = shown_members,
                                          .is_left_on = true};

/* --- one ----------------------------------------------------------------------------------- */

struct instance_get {
    const char *name;
    struct instance_row row;
};

static int get_work(struct db *db, void *arg, struct err *err)
{
    struct instance_get *get = arg;
    return store_instance_get(db, get->name, &get->row, err);
}

void instance_get(struct req *req)
{
    struct err err;
    struct instance_get *get = req_alloc(req, sizeof *get);
    get->name = req->params[0];
    req_defer(req, row_cleanup, &get->row);
    if (!instance_name_is_valid(get->name))
        resource_unknown(req, &kind);
    else if (store_read(req->parts->store, get_work, get, &err) == 0)
        answer_row(req, 200, &get->row);
    else if (err.code == ERR_NOT_FOUND)
        resource_unknown(req, &kind);
    else
        problem_err(req, &err);
}

/* --- put ----------------------------------------------------------------------------------- */

struct instance_put {
    struct instance_row row;
    cJSON *warnings;
    struct resource_change change;
};

static void put_cleanup(void *what)
{
    struct instance_put *put = what;
    instance_row_fini(&put->row);
    cJSON_Delete(put->warnings);
    left_fini(&put->change.left);
}

/* A secret that is not at hand is told at once and not only by the first job: it may still come,
 * so nothing is refused. */
static void warn_of_secret(const struct secrets *secrets, const cJSON *reference, cJSON *warnings)
{
    struct err err;
    char *secret = NULL;
    if (reference && secrets_resolve(secrets, reference, &secret, &err) < 0)
        cJSON_AddItemToArray(warnings, json_text(err.msg));
    secrets_free(secret);
}

/* The same for a file of certificates; one that no driver can be given is a fault. */
static void check_ca_file(const char *ca_file, struct json_faults *faults, cJSON *warnings)
{
    struct err err;
    if (!ca_file || mssql_check_ca_file(ca_file, &err) == 0)
        return;
    if (err.code == ERR_INPUT)
        json_fault_add(faults, "/ca_file", "%s", err.msg);
    else
        cJSON_AddItemToArray(warnings, json_text(err.msg));
}

static bool is_same_server(const char *definition, const char *other)
{
    cJSON *a = cJSON_Parse(definition); /* both are ours */
    cJSON *b = cJSON_Parse(other);
    bool same = cJSON_Compare(json_member(a, "host"), json_member(b, "host"), true) &&
                cJSON_Compare(json_member(a, "port"), json_member(b, "port"), true);
    cJSON_Delete(a);
    cJSON_Delete(b);
    return same;
}

/* A job's figures are of one server, and what it changed is undone where it was changed. */
static int check_server(struct db *db, const struct instance_row *row, const struct left *left,
                        struct err *err)
{
    struct instance_row present = {0};
    struct err none; /* it is new */
    bool used = false;
    if (store_instance_get(db, row->name, &present, &none) < 0)
        return none.code == ERR_NOT_FOUND ? 0 : (*err = none, -1);
    bool same = is_same_server(present.definition, row->definition);
    instance_row_fini(&present);
    if (same)
        return 0;
    if (left_forget(db, left, row->name, err) < 0 ||
        store_instance_is_used(db, row->name, &used, err) < 0)
        return -1;
    if (used)
        return err_set(
            err, ERR_CONFLICT, 0,
            "host and port of instance %s cannot change while a job that began there has "
            "not ended or something there is not undone; register another instance, or "
            "cancel and reconcile first",
            row->name);
    return 0;
}

static int put_work(struct db *db, void *arg, struct err *err)
{
    struct instance_put *put = arg;
    if (resource_check(db, &kind, put->row.name, &put->change, err) < 0)
        return -1;
    if (check_server(db, &put->row, &put->change.left, err) < 0) {
        left_note(db, &put->change.left, put->row.name);
        return -1;
    }
    return store_instance_put(db, &put->row, -1, &put->change.created, err);
}

/* What GET answers, and what is to be minded now. */
static void answer_put(struct req *req, struct instance_put *put)
{
    char etag[ETAG_SIZE];
    cJSON *tree = instance_json(&put->row);
    cJSON_AddItemToObject(tree, "warnings", put->warnings);
    put->warnings = NULL;
    req_answer_json(req, put->change.created ? 201 : 200, tree);
    (void)req_answer_etag(req, etag_of_named(put->row.version, put->row.created_at, etag));
}

static void put_done(struct req *req, int rc, const struct err *err)
{
    struct instance_put *put = req->then_arg;
    if (rc < 0) {
        resource_failed(req, &put->change, err);
        return;
    }
    jobs_wake(req->parts->jobs); /* jobs that were held back by a refused login may run */
    answer_put(req, put);
    if (put->change.created)
        req_answer_header(req, "Location", "/v1/instances/%s", put->row.name);
}

/* Reads the body; the definition with its defaults is the caller's. NULL when it is answered. */
static char *read_definition(struct req *req, cJSON *warnings)
{
    char *definition = NULL;
    struct instance instance;
    struct json_faults faults = {0};
    resource_drop_shown(req->json, &kind, req->params[0], &faults);
    (void)(instance_read(req_take_json(req), req->parts->secrets, &instance, &faults) < 0);
    check_ca_file(instance.ca_file, &faults, warnings);
    if (faults.count > 0) {
        problem_faults(req, &faults);
    } else {
        cJSON *tree = instance_to_json(&instance);
        warn_of_secret(req->parts->secrets, instance.password, warnings);
        warn_of_secret(req->parts->secrets, instance.custom_password, warnings);
        definition = json_print(tree);
        cJSON_Delete(tree);
    }
    instance_fini(&instance);
    json_faults_fini(&faults);
    return definition;
}

void instance_put(struct req *req)
{
    struct instance_put *put = req_alloc(req, sizeof *put);
    req_defer(req, put_cleanup, put);
    put->warnings = cJSON_CreateArray();
    if (!instance_name_is_valid(req->params[0])) {
        problem_answer(req, PROBLEM_MALFORMED, "a name is 1 to 64 characters of a-z 0-9 . _ -");
        return;
    }
    if (left_read(req, &put->change.left) < 0)
        return;
    put->row.definition = read_definition(req, put->warnings);
    if (!put->row.definition)
        return;
    put->row.name = mem_copy(req->params[0]);
    put->change.wanted = resource_precondition(req);
    req_write(req, put_work, put, put_done);
}

void instance_delete(struct req *req)
{
    resource_delete(req, &kind);
}

/* --- list ---------------------------------------------------------------------------------- */

struct instance_page {
    struct page page;
    struct instance_row *rows;
    size_t count;
};

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct instance_page *found = arg;
    return store_instance_list(db, &found->page.list, &found->rows, &found->count, err);
}

static void page_cleanup(void *what)
{
    struct instance_page *found = what;
    for (size_t i = 0; i < found->count; i++)
        instance_row_fini(&found->rows[i]);
    free(found->rows);
}

void instance_list(struct req *req)
{
    struct err err;
    struct instance_page *found = req_alloc(req, sizeof *found);
    req_defer(req, page_cleanup, found);
    if (page_read(req, store_place_is_valid, &found->page) < 0)
        return;
    if (store_read(req->parts->store, list_work, found, &err) < 0) {
        problem_err(req, &err);
        return;
    }
    cJSON *items = cJSON_CreateArray();
    size_t shown = page_shown(&found->page, found->count);
    for (size_t i = 0; i < shown; i++)
        cJSON_AddItemToArray(items, instance_json(&found->rows[i]));
    bool more = page_has_more(&found->page, found->count);
    char *next =
        more ? store_place(found->rows[shown - 1].created_at, found->rows[shown - 1].name) : NULL;
    page_answer(req, items, next);
    free(next);
}
