#pragma once
/* `sweetspot analyze`: evidence in, reports out, without a server. */
#include "api/cli/cli.h"

struct http;

/* http is not used, and may be NULL. */
int analyze_run(struct http *http, const struct cli_args *args);
