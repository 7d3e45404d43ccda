/* Lists of jobs, as store_jobs.c gives them. */
#include "server/store_rows.h"

#include <stdlib.h>

void job_rows_free(struct job_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        job_row_fini(&rows[i]);
    free(rows);
}
