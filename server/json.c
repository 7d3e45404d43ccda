#include "server/json.h"
#include "server/buf.h"
#include "server/json_scan.h"
#include "server/limits.h"
#include "server/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- input --------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name that stands twice in this object, or NULL. Sorted, because a hostile object may have
 * thousands of members. The names are compared as read: "a" and "\u0061" are the same. */
static const char *find_duplicate(const cJSON *object)
{
    size_t count = 0;
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object)
        count++;
    if (count < 2)
        return NULL;
    const char **names = mem_alloc(count, sizeof *names);
    size_t i = 0;
    cJSON_ArrayForEach(member, object)
        names[i++] = member->string;
    qsort(names, count, sizeof *names, compare_names);
    const char *duplicate = NULL;
    for (i = 1; i < count && !duplicate; i++) {
        if (strcmp(names[i - 1], names[i]) == 0)
            duplicate = names[i];
    }
    free(names);
    return duplicate;
}

/* Recursion: at most LIMIT_JSON_DEPTH deep, the scanner saw to that. */
static int refuse_duplicates(const cJSON *tree, struct err *err)
{
    const char *duplicate = cJSON_IsObject(tree) ? find_duplicate(tree) : NULL;
    if (duplicate)
        return err_set(err, ERR_INPUT, 0, "the member \"%.100s\" stands twice in one object",
                       duplicate);
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, tree) {
        if (refuse_duplicates(item, err) < 0)
            return -1;
    }
    return 0;
}

int json_parse_large(const char *text, size_t length, size_t token_max, cJSON **out_tree,
                     struct err *err)
{
    if (json_scan(text, length, token_max, err) < 0)
        return -1;
    cJSON *tree = cJSON_ParseWithLength(text, length);
    if (!tree)
        return err_set(err, ERR_INPUT, 0, "the JSON cannot be read");
    if (refuse_duplicates(tree, err) < 0) {
        cJSON_Delete(tree);
        return -1;
    }
    *out_tree = tree;
    return 0;
}

int json_parse(const char *text, size_t length, cJSON **out_tree, struct err *err)
{
    return json_parse_large(text, length, LIMIT_JSON_TOKENS, out_tree, err);
}

const cJSON *json_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* --- output -------------------------------------------------------------------------------- */

/* cJSON tells of no memory by NULL; we end as mem_alloc does. */
static cJSON *made(cJSON *item)
{
    if (!item)
        abort();
    return item;
}

cJSON *json_number(double value)
{
    return made(isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

cJSON *json_rounded(double value, int digits)
{
    char text[64];
    if (!isfinite(value))
        return made(cJSON_CreateNull());
    (void)snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return json_number(strtod(text, NULL));
}

cJSON *json_text(const char *value)
{
    if (!value)
        return made(cJSON_CreateNull());
    size_t left = strlen(value);
    size_t good = 0;
    for (size_t bytes = 1; bytes > 0 && good < left; good += bytes)
        bytes = json_utf8_length(value + good, left - good);
    if (good == left)
        return made(cJSON_CreateString(value));
    struct buf mended = {0};
    while (left > 0) {
        size_t bytes = json_utf8_length(value, left);
        if (bytes > 0)
            buf_add_bytes(&mended, value, bytes);
        else
            buf_add(&mended, "\xEF\xBF\xBD");
        bytes += bytes == 0;
        value += bytes;
        left -= bytes;
    }
    cJSON *item = made(cJSON_CreateString(buf_text(&mended)));
    buf_fini(&mended);
    return item;
}

/* cJSON 1.7.15 prints 15 digits when that comes within one part in 2^52, so the last digit of a
 * 16-digit whole number, such as a seed, may be lost. And above 2^53 it may print 17 digits without
 * an exponent, which json_parse refuses to read as a whole number. */
static bool is_printed_wrong(const cJSON *item)
{
    return cJSON_IsNumber(item) && fabs(item->valuedouble) >= 1e15 &&
           fabs(item->valuedouble) < 1e17 && trunc(item->valuedouble) == item->valuedouble;
}

/* Recursion: as deep as the tree is, which is ours or came through json_parse. */
static bool has_wrong(const cJSON *tree)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, tree) {
        if (has_wrong(item))
            return true;
    }
    return is_printed_wrong(tree);
}

static void make_exact(cJSON *tree) /* recursion: as above */
{
    cJSON *item = NULL;
    cJSON_ArrayForEach(item, tree)
        make_exact(item);
    if (!is_printed_wrong(tree))
        return;
    bool exact = fabs(tree->valuedouble) <= 9007199254740992.0; /* 2^53 */
    tree->valuestring = mem_format(exact ? "%.0f" : "%.16e", tree->valuedouble);
    tree->type = cJSON_Raw | (tree->type & cJSON_StringIsConst);
}

char *json_print(const cJSON *tree)
{
    cJSON *exact = NULL;
    if (has_wrong(tree)) {
        exact = made(cJSON_Duplicate(tree, true));
        make_exact(exact);
    }
    char *text = cJSON_PrintUnformatted(exact ? exact : tree);
    if (!text)
        abort();
    cJSON_Delete(exact);
    return text;
}
