#pragma once
/* What an instance is and what its login may do, found out now (api.md §2, check). check_pool.c
 * has the threads, this file what one of them does. What a login needs for which kind is one table,
 * in check.c. */
#include "jobs/instance.h"
#include "jobs/jobs.h"
#include "jobs/measure/guard.h"
#include "server/buf.h"
#include "server/mssql.h"

/* Who waits for a check may give it up. Both are called in the check's thread. */
struct check_control {
    /* The session that mssql_cancel may be called on from now on, NULL before it is closed. */
    void (*set_session)(void *ctx, struct mssql *session);
    bool (*given_up)(void *ctx);
    void *ctx;
};

/* Logs in and looks; takes as long as that takes. The answer as api.md §2 gives it; the caller
 * frees it. What an unfinished check found means nothing. */
cJSON *check_instance(const struct jobs_parts *parts, const struct instance *instance,
                      const char *name, const struct check_control *control);

/* What a kind's login lacks on this server: what it cannot do without as texts into refusals, the
 * rest a line each into warnings. */
void check_add_missing(struct mssql *session, const struct check_control *control,
                       const struct server_facts *facts, const char *kind, cJSON *refusals,
                       struct buf *warnings);

/* What a kind's login needs, an array of texts, the optional ones marked; major: of the server's
 * version, -1 unknown. The caller frees it. */
cJSON *check_permissions(const char *kind, int major);

/* The threads ("check-N"). */
struct check_pool;

MUST_CHECK int check_pool_start(const struct jobs_parts *parts, struct check_pool **out,
                                struct err *err);

/* Gives everything up, tells who waits, takes nothing more and joins the threads. Accepts NULL. */
void check_pool_drain(struct check_pool *pool);

/* Drains, then frees; every check must have been ended. Accepts NULL. */
void check_pool_stop(struct check_pool *pool);

/* As jobs_check_begin, jobs_plan_begin, jobs_reconcile_begin and jobs_check_end. */
struct jobs_checking *check_pool_begin(struct check_pool *pool, const struct instance_row *row,
                                       jobs_on_check *on_check, void *ctx);
struct jobs_checking *check_pool_plan(struct check_pool *pool, struct job_row *row,
                                      const char *refusal, jobs_on_check *on_check, void *ctx);
struct jobs_checking *check_pool_reconcile(struct check_pool *pool, const char *instance,
                                           bool dry_run, jobs_on_check *on_check, void *ctx);
cJSON *check_pool_end(struct check_pool *pool, struct jobs_checking *checking);
