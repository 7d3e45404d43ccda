#pragma once
/* The one way to a measured instance: nothing but the statements of jobs/measure/statement.h, each
 * an instance of its row; and a change only while its object stands open in the journal, so that
 * nothing can stay behind unknown. Threads: the session's. Errors as server/mssql.h, and
 * ERR_REFUSED for what may not be sent (a fault of ours). */
#include "jobs/measure/statement.h"
#include "jobs/run.h"
#include "server/mssql.h"

/* A statement without slots: the row's own text, with values bound to its marks. out_rows may be
 * NULL. */
MUST_CHECK int send_ask(struct mssql *session, enum statement statement,
                        const struct mssql_value *values, size_t value_count,
                        struct mssql_rows **out_rows, struct err *err);

/* A statement built from the row's slots, as a query of the run's session: given up when the server
 * falls silent. */
MUST_CHECK int send_query(struct run *run, enum statement statement, const char *text,
                          const struct mssql_value *values, size_t value_count,
                          struct mssql_rows **out_rows, struct err *err);

/* The same as a batch that takes as long as it takes. */
MUST_CHECK int send_batch(struct run *run, enum statement statement, const char *text,
                          mssql_on_message *on_message, void *ctx, struct err *err);

/* The same in run->second, the session of another login: T-SQL of the job's own, too. */
MUST_CHECK int send_second(struct run *run, enum statement statement, const char *text,
                           struct err *err);

/* As send_query for results of any length. */
MUST_CHECK int send_stream(struct run *run, enum statement statement, const char *text,
                           const struct mssql_value *values, size_t value_count,
                           mssql_on_row *on_row, void *ctx, struct err *err);
