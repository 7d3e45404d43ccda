#include "api/resource.h"
#include "jobs/instance.h"
#include "server/clock.h"

#include <string.h>

cJSON *resource_new(const char *name, const char *definition)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *stored = cJSON_Parse(definition); /* written by us, so it can be read */
    cJSON_AddItemToObject(tree, "name", json_text(name));
    while (stored && stored->child) {
        cJSON *member = cJSON_DetachItemViaPointer(stored, stored->child);
        cJSON_AddItemToObject(tree, member->string, member);
    }
    cJSON_Delete(stored);
    return tree;
}

void resource_add_time(cJSON *tree, const char *name, int64_t wall_ms)
{
    char text[CLOCK_TEXT_SIZE];
    cJSON_AddItemToObject(tree, name, json_text(wall_ms ? clock_format(wall_ms, text) : NULL));
}

void resource_drop_shown(cJSON *tree, const struct resource_kind *kind, const char *name,
                         struct json_faults *faults)
{
    const cJSON *given = json_member(tree, "name");
    if (given && (!cJSON_IsString(given) || strcmp(given->valuestring, name) != 0))
        json_fault_add(faults, "/name", "must be \"%s\", as in the path, or not be there", name);
    cJSON_DeleteItemFromObjectCaseSensitive(tree, "name");
    for (const char *const *member = kind->shown; *member; member++)
        cJSON_DeleteItemFromObjectCaseSensitive(tree, *member);
}

struct precondition resource_precondition(struct req *req)
{
    return (struct precondition){.if_match = req_header(req, "If-Match"),
                                 .if_none_match = req_header(req, "If-None-Match")};
}

int resource_check(struct db *db, const struct resource_kind *kind, const char *name,
                   struct resource_change *change, struct err *err)
{
    char etag[ETAG_SIZE];
    struct err found;
    if (!precondition_is_set(&change->wanted))
        return 0;
    int rc = kind->etag(db, name, etag, &found);
    if (rc < 0 && found.code != ERR_NOT_FOUND) {
        *err = found;
        return -1;
    }
    if (precondition_holds(&change->wanted, rc < 0 ? NULL : etag))
        return 0;
    change->stale = true;
    return err_set(err, ERR_CONFLICT, 0, "If-Match or If-None-Match names another version");
}

void resource_failed(struct req *req, const struct resource_change *change, const struct err *err)
{
    if (change->stale)
        problem_answer(req, PROBLEM_PRECONDITION, "%s", err->msg);
    else
        left_answer(req, &change->left, err);
}

void resource_unknown(struct req *req, const struct resource_kind *kind)
{
    problem_answer(req, PROBLEM_NOT_FOUND, "no %s has this name", kind->word);
}

/* --- delete -------------------------------------------------------------------------------- */

struct deletion {
    const struct resource_kind *kind;
    const char *name;
    struct resource_change change;
};

static void deletion_cleanup(void *what)
{
    struct deletion *deletion = what;
    left_fini(&deletion->change.left);
}

static int delete_work(struct db *db, void *arg, struct err *err)
{
    struct deletion *deletion = arg;
    struct left *left = &deletion->change.left;
    if (resource_check(db, deletion->kind, deletion->name, &deletion->change, err) < 0 ||
        left_forget(db, left, deletion->name, err) < 0)
        return -1;
    int rc = deletion->kind->delete (db, deletion->name, -1, err);
    if (rc < 0 && deletion->kind->is_left_on)
        left_note(db, left, deletion->name);
    return rc;
}

static void delete_done(struct req *req, int rc, const struct err *err)
{
    struct deletion *deletion = req->then_arg;
    if (rc == 0)
        req_answer_empty(req, 204);
    else if (err->code == ERR_NOT_FOUND)
        resource_unknown(req, deletion->kind);
    else
        resource_failed(req, &deletion->change, err);
}

void resource_delete(struct req *req, const struct resource_kind *kind)
{
    struct deletion *deletion = req_alloc(req, sizeof *deletion);
    req_defer(req, deletion_cleanup, deletion);
    if (left_read(req, &deletion->change.left) < 0)
        return;
    if (!instance_name_is_valid(req->params[0])) {
        resource_unknown(req, kind);
        return;
    }
    deletion->kind = kind;
    deletion->name = req->params[0];
    deletion->change.wanted = resource_precondition(req);
    req_write(req, delete_work, deletion, delete_done);
}
