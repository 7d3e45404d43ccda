#include "api/page.h"
#include "server/limits.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_DEFAULT 50

/* 1..LIMIT_PAGE, or 0 for anything else. */
static int64_t limit_of(const char *text)
{
    int64_t value = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 4 || text[digits] != '\0')
        return 0;
    for (; *text; text++)
        value = value * 10 + (*text - '0');
    return value <= LIMIT_PAGE ? value : 0;
}

int page_read(struct req *req, page_cursor_is_valid *is_valid, struct page *out)
{
    const char *limit = req_query(req, "limit");
    const char *cursor = req_query(req, "cursor");
    int64_t shown = limit ? limit_of(limit) : PAGE_DEFAULT;
    *out = (struct page){.limit = (size_t)shown};
    out->list.limit = shown + 1;
    out->list.after = cursor;
    if (shown == 0) {
        problem_parameter(req, "limit", "must be a whole number from 1 to %d", LIMIT_PAGE);
        return -1;
    }
    if (cursor && !is_valid(cursor)) {
        problem_parameter(req, "cursor", "must be a next_cursor of this list");
        return -1;
    }
    return 0;
}

size_t page_shown(const struct page *page, size_t count)
{
    return count < page->limit ? count : page->limit;
}

bool page_has_more(const struct page *page, size_t count)
{
    return count > page->limit;
}

/* The queries as they were sent, but for the cursor. */
static void add_queries(struct buf *link, const char *raw)
{
    const char *at = strchr(raw, '?');
    for (at = at ? at + 1 : ""; *at; at += *at == '&') {
        size_t length = strcspn(at, "&");
        if (length > 0 && strncmp(at, "cursor=", 7) != 0) {
            buf_add_bytes(link, at, length);
            buf_add_char(link, '&');
        }
        at += length;
    }
}

void page_link(struct req *req, const char *next)
{
    struct buf link = {0};
    if (!next)
        return;
    buf_add_bytes(&link, req->target.raw, strcspn(req->target.raw, "?"));
    buf_add_char(&link, '?');
    add_queries(&link, req->target.raw);
    buf_format(&link, "cursor=%s", next); /* ids, names and numbers need no encoding */
    req_answer_header(req, "Link", "<%s>; rel=\"next\"", buf_text(&link));
    buf_fini(&link);
}

void page_answer(struct req *req, cJSON *items, const char *next)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "items", items);
    cJSON_AddItemToObject(tree, "next_cursor", json_text(next));
    req_answer_json(req, 200, tree);
    page_link(req, next);
}
