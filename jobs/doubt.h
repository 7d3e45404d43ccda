#pragma once
/* Asks a server whether it looks like production (jobs/measure/production.h). */
#include "jobs/instance.h"
#include "jobs/measure/guard.h"
#include "server/mssql.h"

/* The warning, heap; NULL when there is nothing to say. name: as the instance is registered. What
 * the server does not tell counts as no sign; a production instance is not asked. */
char *doubt_look(struct mssql *session, const struct instance *instance, const char *name,
                 const struct server_facts *facts);
