#pragma once
/* Lists in pages: ?limit= and ?cursor= in, items with next_cursor and Link out. The cursor is the
 * key of the last item, so that rows which come meanwhile move nothing. Threads: any. */
#include "api/request.h"
#include "server/store_rows.h"

struct page {
    struct store_list
        list;     /* what the store is asked: one row more, to know whether there is one */
    size_t limit; /* what the client gets */
};

typedef bool page_cursor_is_valid(const char *cursor);

/* Reads limit (default 50) and cursor into *out; texts live as long as the request. Answers 400
 * and returns -1 when one of them is wrong. */
MUST_CHECK int page_read(struct req *req, page_cursor_is_valid *is_valid, struct page *out);

/* How many of `count` rows found are shown, and whether there are more behind them. */
size_t page_shown(const struct page *page, size_t count);
bool page_has_more(const struct page *page, size_t count);

/* Answers 200 with items (taken over). next: the cursor of the page after, NULL: there is none. */
void page_answer(struct req *req, cJSON *items, const char *next);

/* Sets Link for a page after, with the query as it came but for the cursor. */
void page_link(struct req *req, const char *next);
