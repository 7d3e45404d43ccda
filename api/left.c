#include "api/left.h"
#include "api/problem.h"
#include "server/buf.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 5 /* of what is left; reconcile --dry-run shows all */

int left_read(struct req *req, struct left *out)
{
    const char *forget = req_query(req, "forget");
    *out = (struct left){.forget = forget != NULL};
    if (!forget || strcmp(forget, "true") == 0)
        return 0;
    problem_parameter(req, "forget", "must be true, or not be there");
    return -1;
}

void left_fini(struct left *left)
{
    free(left->text);
    left->text = NULL;
}

int left_forget(struct db *db, const struct left *left, const char *instance, struct err *err)
{
    return left->forget ? store_intent_abandon(db, instance, err) : 0;
}

static bool is_refused(const struct intent_row *row)
{
    return strcmp(row->state, "failed") == 0;
}

static void say_left(const struct intent_row *rows, size_t count, const char *instance,
                     struct buf *out)
{
    bool refused = false;
    buf_add(out, "not undone there: ");
    for (size_t i = 0; i < count; i++) {
        refused = refused || is_refused(&rows[i]);
        if (i < SHOWN_MAX)
            buf_format(out, "%s%s %s%s", i ? ", " : "", rows[i].action, rows[i].object,
                       is_refused(&rows[i]) ? " (refused by the server)" : "");
    }
    if (count > SHOWN_MAX)
        buf_format(out, " and %zu more", count - SHOWN_MAX);
    buf_format(out, "; `sweetspot reconcile %s` undoes it, with --dry-run shows it", instance);
    if (refused)
        buf_add(out, "; ?forget=true (--forget) forgets what the server refused to undo");
}

void left_note(struct db *db, struct left *left, const char *instance)
{
    struct err unread; /* the refusal stands without it */
    struct intent_row *rows = NULL;
    size_t count = 0;
    struct buf text = {0};
    if (store_intent_list_left(db, instance, &rows, &count, &unread) < 0)
        return;
    if (count > 0) {
        say_left(rows, count, instance, &text);
        left->text = mem_copy(buf_text(&text));
    }
    for (size_t i = 0; i < count; i++)
        intent_row_fini(&rows[i]);
    free(rows);
    buf_fini(&text);
}

void left_answer(struct req *req, const struct left *left, const struct err *err)
{
    if (err->code == ERR_CONFLICT && left->text)
        problem_answer(req, problem_of(err->code), "%s; %s", err->msg, left->text);
    else
        problem_err(req, err);
}
