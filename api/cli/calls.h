#pragma once
/* Commands that are one call each: plan, verdict, retry, kinds. Rows of the table in commands.c. */
#include "api/cli/cli.h"

int calls_plan(struct http *http, const struct cli_args *args);
int calls_verdict(struct http *http, const struct cli_args *args);
int calls_retry(struct http *http, const struct cli_args *args);
int calls_kinds(struct http *http, const struct cli_args *args);
