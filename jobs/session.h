#pragma once
/* Logging in to an instance and asking what kind of server it is: what runs and checks share.
 * Threads: the caller's; a session is the caller's, too. */
#include "jobs/instance.h"
#include "jobs/jobs.h"
#include "jobs/measure/guard.h"
#include "server/mssql.h"

#define SESSION_PROGRAM_SIZE 80

/* The program's name that a session of this purpose shows on the server. */
void session_program(const char *purpose, char out[SESSION_PROGRAM_SIZE]);

/* Whether the password that is referred to is at hand; ERR_REFUSED says what is missing, as
 * session_open does. */
MUST_CHECK int session_password(const struct jobs_parts *parts, const cJSON *reference,
                                struct err *err);

/* Resolves the password, logs in, sets the session's options. purpose: shown behind "sweetspot" as
 * the program's name on the server, at most 60 bytes of it. ERR_REFUSED: there is no password; else
 * as mssql_open. */
MUST_CHECK int session_open(const struct jobs_parts *parts, const struct instance *instance,
                            const char *purpose, struct mssql **out_session, struct err *err);

/* The same as another login; reference: its password's. */
MUST_CHECK int session_open_as(const struct jobs_parts *parts, const struct instance *instance,
                               const char *login, const cJSON *reference, const char *purpose,
                               struct mssql **out_session, struct err *err);

/* What kind of server this is; only its version must be had, the rest may be unknown.
 * server_facts_fini frees. */
MUST_CHECK int session_facts(struct mssql *session, struct server_facts *out, struct err *err);
