#include "server/mem.h"
#include "server/rows.h"
#include "server/store_rows.h"

#include <stdlib.h>

/* A document is a row of one text. */
static const struct row_field document_fields[] = {
    {ROW_TEXT, 0},
};
static const struct row_shape document_shape = ROW_SHAPE(document_fields, char *);

int store_trial_insert(struct db *db, const char *job, int64_t seq, const char *document,
                       struct err *err)
{
    struct db_use *use = db_use(db, SQL_TRIAL_INSERT);
    db_bind_text(use, 1, job);
    db_bind_int(use, 2, seq);
    db_bind_text(use, 3, document);
    return db_run(use, NULL, err);
}

static int list_trials(struct db *db, const char *job, int64_t after, int64_t limit,
                       char ***out_documents, size_t *out_count, struct err *err)
{
    void *rows = NULL;
    struct db_use *use = db_use(db, SQL_TRIAL_LIST);
    db_bind_text(use, 1, job);
    db_bind_int(use, 2, after);
    db_bind_int(use, 3, limit);
    if (row_all(&document_shape, use, 1, &rows, out_count, err) < 0)
        return -1;
    *out_documents = rows;
    return 0;
}

int store_trial_list(struct db *db, const char *job, const struct store_list *page,
                     char ***out_documents, size_t *out_count, struct err *err)
{
    int64_t after = -1;
    if (page->after) {
        char *end = NULL;
        after = strtoll(page->after, &end, 10);
        if (end == page->after || *end)
            return err_set(err, ERR_INPUT, 0, "a list of trials goes on after a number");
    }
    return list_trials(db, job, after, page->limit, out_documents, out_count, err);
}

int store_trial_all(struct db *db, const char *job, char ***out_documents, size_t *out_count,
                    struct err *err)
{
    return list_trials(db, job, -1, -1, out_documents, out_count, err);
}

int store_trial_get(struct db *db, const char *job, int64_t seq, char **out_document,
                    struct err *err)
{
    struct db_use *use = db_use(db, SQL_TRIAL_GET);
    db_bind_text(use, 1, job);
    db_bind_int(use, 2, seq);
    int found = row_one(&document_shape, use, 1, out_document, err);
    if (found == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "job %s has no such trial", job);
    return found < 0 ? -1 : 0;
}

int store_report_put(struct db *db, const char *job, const char *document, struct err *err)
{
    struct db_use *use = db_use(db, SQL_REPORT_PUT);
    db_bind_text(use, 1, job);
    db_bind_text(use, 2, document);
    if (db_run(use, NULL, err) < 0)
        return -1;
    struct db_use *rate = db_use(db, SQL_REPORT_RATE_PUT);
    db_bind_text(rate, 1, job);
    db_bind_text(rate, 2, document);
    return db_run(rate, NULL, err);
}

int store_report_get(struct db *db, const char *job, char **out_document, struct err *err)
{
    struct db_use *use = db_use(db, SQL_REPORT_GET);
    db_bind_text(use, 1, job);
    int found = row_one(&document_shape, use, 1, out_document, err);
    if (found == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "job %s has no report", job);
    return found < 0 ? -1 : 0;
}

int store_evidence_put(struct db *db, const char *job, const char *document, struct err *err)
{
    struct db_use *use = db_use(db, SQL_EVIDENCE_PUT);
    db_bind_text(use, 1, job);
    db_bind_text(use, 2, document);
    return db_run(use, NULL, err);
}

int store_evidence_get(struct db *db, const char *job, char **out_document, struct err *err)
{
    struct db_use *use = db_use(db, SQL_EVIDENCE_GET);
    db_bind_text(use, 1, job);
    int found = row_one(&document_shape, use, 1, out_document, err);
    if (found == 0)
        return err_set(err, ERR_NOT_FOUND, 0, "job %s has no evidence", job);
    return found < 0 ? -1 : 0;
}
