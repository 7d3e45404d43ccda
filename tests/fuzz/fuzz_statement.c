/* Any text as a statement: whatever the allow-list takes is one whole statement without a comment
 * or a second one behind it. Any text as a name and a path: what is built of a name is taken by the
 * row it was built for, and what is taken by an independent reader of T-SQL. */
#include "jobs/measure/statement.h"
#include "jobs/measure/tsql.h"
#include "server/mem.h"
#include "tests/fuzz/fuzz.h"
#include "tests/sql_shape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define JOB "0193a7b2-4c5d-7e6f-8a9b-0c1d2e3f4a5b"

static const char *const paths[] = {"D:\\Backup", "/var/opt/mssql/backup"};
static const struct statement_rules rules = {paths, 2};

static void check_one(enum statement statement, const char *text)
{
    struct buf shape = {0};
    struct buf texts = {0};
    if (statement != STATEMENT_CUSTOM && statement_has_slots(statement) && /* own SQL is any */
        statement_matches(statement, text, &rules, NULL, NULL)) {
        bool whole = sql_shape(text, &shape, &texts);
        assert(whole);
        if (statement == STATEMENT_BACKUP)
            assert(strstr(buf_text(&shape), "COPY_ONLY") && !strchr(buf_text(&shape), ';'));
    }
    buf_fini(&shape);
    buf_fini(&texts);
}

static void build(const char *database, const char *folder)
{
    struct buf text = {0};
    struct err err = {0};
    char *path = tsql_backup_path(folder, JOB, "7", 1);
    const char *devices[] = {path};
    struct tsql_backup backup = {.database = database,
                                 .devices = devices,
                                 .device_count = 1,
                                 .compression = "off",
                                 .name = "sweetspot:" JOB ":7"};
    if (tsql_path_is_allowed(folder, paths, 2) && tsql_backup(&backup, &text, &err) == 0) {
        bool taken = statement_matches(STATEMENT_BACKUP, buf_text(&text), &rules, NULL, NULL);
        assert(taken || folder != paths[0]); /* odd folders may still be refused when it is sent */
        check_one(STATEMENT_BACKUP, buf_text(&text));
    }
    buf_fini(&text);
    free(path);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = mem_format("%.*s", (int)size, (const char *)data);
    char *below = mem_format("/var/opt/mssql/backup/%s", text);
    for (int statement = 0; statement < STATEMENT_COUNT; statement++)
        check_one((enum statement)statement, text);
    build(text, paths[0]);
    build("Sales", text);
    build(text, below);
    free(below);
    free(text);
    return 0;
}
