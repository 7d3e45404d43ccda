#include "api/event_page.h"
#include "api/event_text.h"

#include <stdlib.h>

/* The job has ended and its last event is forgotten: then its state is said without a number. */
static int check_end(struct db *db, struct event_page *page, struct err *err)
{
    struct job_row job = {0};
    if (store_job_get(db, page->job, &job, err) < 0)
        return -1;
    if (job.finished_at > 0) {
        event_text_add_end(&job, page->out);
        page->ends = true;
    }
    job_row_fini(&job);
    return 0;
}

/* Everything is read: what comes later has larger ids than the newest of now. */
static int reach_now(struct db *db, struct event_page *page, struct err *err)
{
    int64_t last = 0;
    if (store_event_last(db, &last, err) < 0)
        return -1;
    if (last > page->scanned)
        page->scanned = last;
    return page->job && !page->ends ? check_end(db, page, err) : 0;
}

int event_page_read(struct db *db, struct event_page *page, struct err *err)
{
    struct event_row *rows = NULL;
    size_t count = 0;
    size_t taken = 0;
    int rc = store_event_list(db, page->job, page->scanned, EVENT_PAGE_MAX, &rows, &count, err);
    while (rc == 0 && taken < count && !page->ends && page->out->length < page->bytes_max) {
        const struct event_row *row = &rows[taken++];
        rc = event_text_add(db, row, page->out, err);
        page->scanned = row->id;
        page->ends = page->job && event_is_end(row);
    }
    if (rc == 0 && taken == count && count < EVENT_PAGE_MAX)
        rc = reach_now(db, page, err);
    for (size_t i = 0; i < count; i++)
        event_row_fini(&rows[i]);
    free(rows);
    return rc;
}
