#pragma once
/* `sweetspot agent-job`: the T-SQL that makes a SQL Server Agent job of a definition. */
#include "api/cli/cli.h"

struct http;

/* http is not used, and may be NULL. */
int agent_job_run(struct http *http, const struct cli_args *args);
