#include "jobs/session.h"
#include "jobs/send.h"
#include "server/json.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- logging in ---------------------------------------------------------------------------- */

/* Options in batches of their own: an error in the first statement would hide the rest. A server
 * without one of them is still measured. As queries, which are given up when a server that let us
 * in falls silent: a clean-up logs in, too, and nothing cancels that. */
static void set_options(struct mssql *session)
{
    static const enum statement options[] = {STATEMENT_LANGUAGE, STATEMENT_TRANSACTIONS};
    for (size_t i = 0; i < JSON_COUNT(options); i++) {
        struct err ignored; /* messages are read by number; autocommit is the driver's default */
        (void)(send_ask(session, options[i], NULL, 0, NULL, &ignored) < 0);
    }
}

static int resolve(const struct jobs_parts *parts, const cJSON *reference, char **out_password,
                   struct err *err)
{
    if (secrets_resolve(parts->secrets, reference, out_password, err) < 0)
        return err_wrap(err, "the instance's password");
    return 0;
}

void session_program(const char *purpose, char out[SESSION_PROGRAM_SIZE])
{
    (void)snprintf(out, SESSION_PROGRAM_SIZE, "sweetspot %.60s", purpose);
}

int session_password(const struct jobs_parts *parts, const cJSON *reference, struct err *err)
{
    char *password = NULL;
    int rc = resolve(parts, reference, &password, err);
    secrets_free(password);
    return rc;
}

int session_open(const struct jobs_parts *parts, const struct instance *instance,
                 const char *purpose, struct mssql **out_session, struct err *err)
{
    return session_open_as(parts, instance, instance->login, instance->password, purpose,
                           out_session, err);
}

int session_open_as(const struct jobs_parts *parts, const struct instance *instance,
                    const char *login, const cJSON *reference, const char *purpose,
                    struct mssql **out_session, struct err *err)
{
    char *password = NULL;
    char app_name[SESSION_PROGRAM_SIZE];
    if (resolve(parts, reference, &password, err) < 0)
        return -1;
    session_program(purpose, app_name);
    const char *driver = parts->config->odbc_driver;
    if (!*driver)
        driver = mssql_default_driver();
    struct mssql_target target = {.host = instance->host,
                                  .port = (int)instance->port,
                                  .login = login,
                                  .password = password,
                                  .encryption = instance->encryption,
                                  .ca_file = instance->ca_file,
                                  .verify_host = instance->verify_host,
                                  .app_name = app_name,
                                  .driver = driver};
    int rc = mssql_open(&target, out_session, err);
    secrets_free(password);
    if (rc == 0)
        set_options(*out_session);
    return rc;
}

/* --- facts --------------------------------------------------------------------------------- */

/* NULL when the answer cannot be had: optional views and columns may be absent. */
static struct mssql_rows *ask(struct mssql *session, enum statement statement)
{
    struct mssql_rows *rows = NULL;
    struct err ignored; /* absent on this version or not permitted: unknown */
    if (send_ask(session, statement, NULL, 0, &rows, &ignored) < 0)
        return NULL;
    return rows;
}

static int read_version(struct mssql *session, struct server_facts *facts, struct err *err)
{
    struct mssql_rows *rows = NULL;
    if (send_ask(session, STATEMENT_VERSION, NULL, 0, &rows, err) < 0)
        return err_wrap(err, "read the server's version");
    if (!mssql_text(rows, 0, 0)) { /* without it nothing that follows is known to fit */
        mssql_rows_free(rows);
        return err_set(err, ERR_UNREACHABLE, 0, "the server did not tell its version");
    }
    facts->version = mem_copy(mssql_text(rows, 0, 0));
    facts->engine_edition = (int)mssql_int(rows, 0, 1, -1);
    facts->edition = mem_copy(mssql_text(rows, 0, 2));
    facts->edition_id = mssql_int(rows, 0, 3, 0);
    facts->host_name = mem_copy(mssql_text(rows, 0, 4));
    facts->major = facts->version ? (int)strtol(facts->version, NULL, 10) : -1;
    const char *banner = mssql_text(rows, 0, 5);
    facts->simulated = banner && strcasestr(banner, "simulator") != NULL;
    facts->windows = !banner || !strcasestr(banner, " on linux");
    mssql_rows_free(rows);
    return 0;
}

static void read_hardware(struct mssql *session, struct server_facts *facts)
{
    static const enum statement queries[] = {
        STATEMENT_HARDWARE,     /* 2012 and newer */
        STATEMENT_HARDWARE_OLD, /* 2005 to 2008 R2 */
        STATEMENT_CPU_COUNT,    /* the memory is only for show */
    };
    facts->cpu_count = -1;
    facts->memory_mib = -1;
    for (size_t i = 0; i < JSON_COUNT(queries) && facts->cpu_count < 0; i++) {
        struct mssql_rows *rows = ask(session, queries[i]);
        if (!rows)
            continue;
        facts->cpu_count = mssql_int(rows, 0, 0, -1);
        facts->memory_mib = mssql_int(rows, 0, 1, -1);
        mssql_rows_free(rows);
    }
    if (facts->major < statement_first_major(STATEMENT_PLATFORM)) /* only Windows before */
        return;
    struct mssql_rows *rows = ask(session, STATEMENT_PLATFORM);
    const char *platform = rows ? mssql_text(rows, 0, 0) : NULL;
    if (platform)
        facts->windows = strcasecmp(platform, "Windows") == 0;
    mssql_rows_free(rows);
}

int session_facts(struct mssql *session, struct server_facts *out, struct err *err)
{
    struct server_facts facts = {.engine_edition = -1};
    if (read_version(session, &facts, err) < 0)
        return -1;
    read_hardware(session, &facts);
    facts.platform = mem_copy(facts.windows ? "Windows" : "Linux");
    *out = facts;
    return 0;
}
