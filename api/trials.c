/* GET /v1/jobs/{id}/trials: JSON in pages, oldest first, or CSV. */
#include "api/handlers.h"
#include "api/job_view.h"
#include "api/page.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

struct trial_page {
    struct page page;
    const char *job;
    bool all; /* CSV without limit and cursor: a file, not a page */
    char **documents;
    size_t count;
};

/* --- CSV ----------------------------------------------------------------------------------- */

struct column {
    const char *name;
    const char *member;
    const char *inner; /* member of that object, or NULL */
};

/* clang-format off */
static const struct column columns[] = {
    {"seq",           "seq",          NULL},
    {"block",         "block",        NULL},
    {"arm",           "arm",          NULL},
    {"warmup",        "warmup",       NULL},
    {"status",        "status",       NULL},
    {"started_at",    "started_at",   NULL},
    {"elapsed_s",     "elapsed_s",    NULL},
    {"server_s",      "server_s",     NULL},
    {"pages",         "pages",        NULL},
    {"bytes",         "bytes",        NULL},
    {"rate_mib_s",    "rate_mib_s",   NULL},
    {"file_bytes",    "file_bytes",   NULL},
    {"cpu_s",         "cpu_s",        NULL},
    {"cpu_percent",   "cpu_percent",  NULL},
    {"create_s",      "create_s",     NULL},
    {"error_number",  "error",        "number"},
    {"error_step",    "error",        "step"},
    {"error_message", "error",        "message"},
    {"notes",         "notes",        NULL},
};
/* clang-format on */
#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

/* A text as a cell: always quoted (RFC 4180), and with a ' before what a spreadsheet would run
 * as a formula. */
static void add_text_cell(struct buf *csv, const char *text)
{
    buf_add_char(csv, '"');
    if (text[0] != '\0' && strchr("=+-@\t\r", text[0]))
        buf_add_char(csv, '\'');
    for (; *text; text++) {
        if (*text == '"')
            buf_add_char(csv, '"');
        buf_add_char(csv, *text);
    }
    buf_add_char(csv, '"');
}

/* Texts of an array in one cell. */
static void add_list_cell(struct buf *csv, const cJSON *list)
{
    struct buf text = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (cJSON_IsString(item))
            buf_format(&text, "%s%s", text.length > 0 ? "; " : "", item->valuestring);
    }
    if (text.length > 0)
        add_text_cell(csv, buf_text(&text));
    buf_fini(&text);
}

static void add_cell(struct buf *csv, const cJSON *value)
{
    if (!value || cJSON_IsNull(value))
        return;
    if (cJSON_IsString(value)) {
        add_text_cell(csv, value->valuestring);
    } else if (cJSON_IsArray(value)) {
        add_list_cell(csv, value);
    } else {
        char *text = json_print(value);
        buf_add(csv, text);
        free(text);
    }
}

static void add_row(struct buf *csv, const char *document)
{
    cJSON *trial = cJSON_Parse(document); /* written by us, so it can be read */
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        const cJSON *value = json_member(trial, columns[i].member);
        if (columns[i].inner)
            value = cJSON_IsObject(value) ? json_member(value, columns[i].inner) : NULL;
        if (i > 0)
            buf_add_char(csv, ',');
        add_cell(csv, value);
    }
    buf_add(csv, "\r\n");
    cJSON_Delete(trial);
}

static void answer_csv(struct req *req, const struct trial_page *found, size_t shown)
{
    struct buf csv = {0};
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        buf_format(&csv, "%s%s", i > 0 ? "," : "", columns[i].name);
    buf_add(&csv, "\r\n");
    for (size_t i = 0; i < shown; i++)
        add_row(&csv, found->documents[i]);
    if (buf_ok(&csv))
        req_answer_text(req, 200, MEDIA_CSV, buf_take(&csv));
    else
        problem_answer(req, PROBLEM_REFUSED, "the file is too large; ask for pages with limit");
    buf_fini(&csv);
}

/* --- the list ------------------------------------------------------------------------------ */

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct trial_page *found = arg;
    struct job_row row = {0};
    int rc = store_job_get(db, found->job, &row, err); /* no trials of an unknown job is 404 */
    job_row_fini(&row);
    if (rc < 0)
        return -1;
    if (found->all)
        return store_trial_all(db, found->job, &found->documents, &found->count, err);
    return store_trial_list(db, found->job, &found->page.list, &found->documents, &found->count,
                            err);
}

static void page_cleanup(void *what)
{
    struct trial_page *found = what;
    for (size_t i = 0; i < found->count; i++)
        free(found->documents[i]);
    free(found->documents);
}

static bool seq_is_valid(const char *cursor)
{
    size_t digits = strspn(cursor, "0123456789");
    return digits >= 1 && digits <= 9 && cursor[digits] == '\0';
}

/* The cursor after a page: the seq of its last trial. The caller frees it. */
static char *seq_of(const char *document)
{
    cJSON *trial = cJSON_Parse(document);
    const cJSON *seq = json_member(trial, "seq");
    char *text = seq ? json_print(seq) : NULL;
    cJSON_Delete(trial);
    return text;
}

static void answer_found(struct req *req, const struct trial_page *found)
{
    size_t shown = found->all ? found->count : page_shown(&found->page, found->count);
    bool more = !found->all && page_has_more(&found->page, found->count);
    char *next = more ? seq_of(found->documents[shown - 1]) : NULL;
    if (req->media == MEDIA_CSV) {
        answer_csv(req, found, shown);
        page_link(req, next);
    } else {
        cJSON *items = cJSON_CreateArray();
        for (size_t i = 0; i < shown; i++)
            cJSON_AddItemToArray(items, cJSON_CreateRaw(found->documents[i]));
        page_answer(req, items, next);
    }
    req_answer_header(req, "Vary", "Accept");
    free(next);
}

void trial_list(struct req *req)
{
    struct err err;
    struct trial_page *found = req_alloc(req, sizeof *found);
    req_defer(req, page_cleanup, found);
    if (page_read(req, seq_is_valid, &found->page) < 0)
        return;
    found->job = req->params[0];
    found->all = req->media == MEDIA_CSV && req->target.query_count == 0;
    if (store_read(req->parts->store, list_work, found, &err) == 0)
        answer_found(req, found);
    else if (err.code == ERR_NOT_FOUND)
        job_view_unknown(req);
    else
        problem_err(req, &err);
}
