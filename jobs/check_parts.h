#pragma once
/* What the files of a check share. */
#include "jobs/check.h"
#include "jobs/measure/statement.h"

/* One check under way. */
struct check {
    struct mssql *session;
    const struct check_control *control;
    const struct server_facts *facts;
};

/* The answer's rows; NULL when it cannot be had or nobody waits any more. */
struct mssql_rows *check_ask(const struct check *check, enum statement statement);

/* Adds what the instance holds: databases, volumes, free memory, foreign work. */
void check_add_server(const struct check *check, cJSON *answer);
