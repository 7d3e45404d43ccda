/* What an instance holds, for its check: databases with their states and roles, room, free memory,
 * foreign work. What cannot be had is null, or missing from its list. */
#include "jobs/check_parts.h"
#include "jobs/member.h"

#include <string.h>

#define DATABASES_SHOWN 500

/* --- databases ------------------------------------------------------------------------------ */

/* Roles as numbers of their views: 1 is the one that writes. */
struct role_names {
    const char *const *names;
    size_t count;
};
static const char *const replica_roles[] = {"resolving", "primary", "secondary"};
static const char *const mirror_roles[] = {NULL, "principal", "mirror"};

/* NULL when the database is in no such row. */
static const char *role_in(const struct mssql_rows *rows, const char *name,
                           const struct role_names *roles)
{
    for (size_t i = 0; i < mssql_row_count(rows); i++) {
        const char *own = mssql_text(rows, i, 0);
        int64_t role = mssql_int(rows, i, 1, -1);
        if (own && strcmp(own, name) == 0 && role >= 0 && (size_t)role < roles->count)
            return roles->names[role];
    }
    return NULL;
}

static cJSON *database_to_json(const struct mssql_rows *rows, size_t row,
                               const struct mssql_rows *replicas, const struct mssql_rows *mirrors)
{
    static const struct role_names of_replicas = {replica_roles, JSON_COUNT(replica_roles)};
    static const struct role_names of_mirrors = {mirror_roles, JSON_COUNT(mirror_roles)};
    const char *name = mssql_text(rows, row, 0) ? mssql_text(rows, row, 0) : "";
    const char *role = replicas ? role_in(replicas, name, &of_replicas) : NULL;
    if (!role && mirrors)
        role = role_in(mirrors, name, &of_mirrors);
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "name", json_text(name));
    cJSON_AddItemToObject(tree, "state", json_text(mssql_text(rows, row, 1)));
    cJSON_AddBoolToObject(tree, "read_only", mssql_int(rows, row, 2, 0) != 0);
    cJSON_AddItemToObject(tree, "user_access", json_text(mssql_text(rows, row, 3)));
    cJSON_AddBoolToObject(tree, "standby", mssql_int(rows, row, 4, 0) != 0);
    cJSON_AddItemToObject(tree, "role", json_text(role));
    return tree;
}

static cJSON *databases_to_json(const struct check *check)
{
    cJSON *list = cJSON_CreateArray();
    struct mssql_rows *rows = check_ask(check, STATEMENT_DATABASES);
    struct mssql_rows *replicas = check_ask(check, STATEMENT_REPLICAS);
    struct mssql_rows *mirrors = check_ask(check, STATEMENT_MIRRORS);
    for (size_t i = 0; rows && i < mssql_row_count(rows) && i < DATABASES_SHOWN; i++)
        cJSON_AddItemToArray(list, database_to_json(rows, i, replicas, mirrors));
    mssql_rows_free(mirrors);
    mssql_rows_free(replicas);
    mssql_rows_free(rows);
    return list;
}

/* --- room ----------------------------------------------------------------------------------- */

/* Adds what a view tells; bytes of one unit of its second column. */
static bool add_volumes(const struct check *check, enum statement statement, int64_t unit,
                        cJSON *list)
{
    struct mssql_rows *rows = check_ask(check, statement);
    size_t count = rows ? mssql_row_count(rows) : 0;
    for (size_t i = 0; i < count; i++) {
        int64_t free = mssql_int(rows, i, 1, -1);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "path", json_text(mssql_text(rows, i, 0)));
        cJSON_AddItemToObject(item, "free_mib",
                              member_number_or_null(free < 0 ? -1 : free * unit >> 20));
        cJSON_AddItemToArray(list, item);
    }
    mssql_rows_free(rows);
    return count > 0;
}

/* By the first view that shows any, in the order in which a job asks them. */
static cJSON *volumes_to_json(const struct check *check)
{
    cJSON *list = cJSON_CreateArray();
    if (!add_volumes(check, STATEMENT_ROOM_OF_DRIVES, 1, list) &&
        !add_volumes(check, STATEMENT_ROOM_OLD, INT64_C(1) << 20, list))
        (void)add_volumes(check, STATEMENT_ROOM_OF_VOLUMES, 1, list); /* data files' volumes */
    return list;
}

/* --- the rest ------------------------------------------------------------------------------- */

static cJSON *free_memory_to_json(const struct check *check)
{
    struct mssql_rows *rows = check_ask(check, STATEMENT_FREE_MEMORY);
    int64_t mib = rows ? mssql_int(rows, 0, 0, -1) : -1;
    mssql_rows_free(rows);
    return member_number_or_null(mib);
}

static cJSON *foreign_to_json(const struct check *check)
{
    struct mssql_rows *rows = check_ask(check, STATEMENT_FOREIGN_WORK);
    cJSON *text = json_text(rows ? mssql_text(rows, 0, 0) : NULL);
    mssql_rows_free(rows);
    return text;
}

void check_add_server(const struct check *check, cJSON *answer)
{
    cJSON_AddItemToObject(answer, "memory_free_mib", free_memory_to_json(check));
    cJSON_AddItemToObject(answer, "foreign_work", foreign_to_json(check));
    cJSON_AddItemToObject(answer, "volumes", volumes_to_json(check));
    cJSON_AddItemToObject(answer, "databases", databases_to_json(check));
}
