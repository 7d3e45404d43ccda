/* functions_json.c: functions on JSON. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"

#define FUNCTION(name)                                                                             \
    static bool name(struct eval *ev, const struct expr *e, struct value *args, int n,             \
                     struct value *out)
#define UNUSED ((void)ev, (void)e, (void)n, (void)args)

FUNCTION(fn_isjson)
{
    UNUSED;
    *out = sim_int(!args[0].is_null && args[0].s && (args[0].s[0] == '{' || args[0].s[0] == '['));
    return true;
}

/* A path of members, $.a.b: what is there as text; NULL for an object or a list, for what is not
 * there, and for what is longer than nvarchar(4000). */
FUNCTION(fn_json_value)
{
    const char *text = NULL, *path = NULL;
    UNUSED;
    if (args[0].is_null || args[1].is_null)
        return true;
    if (!tsql_as_text(ev, &args[0], &text) || !tsql_as_text(ev, &args[1], &path))
        return false;
    cJSON *tree = cJSON_Parse(text);
    if (!tree)
        return sim_raise(ev->session, 13609, 2, text, NULL);
    const cJSON *at = *path == '$' ? tree : NULL;
    for (path += *path == '$'; at && *path == '.';) {
        size_t length = strcspn(++path, ".");
        at = cJSON_GetObjectItemCaseSensitive(at, sim_arena_dupn(ev->arena, path, length));
        path += length;
    }
    bool is_text = at && cJSON_IsString(at) && sim_utf16_len(at->valuestring) <= 4000;
    char *print = cJSON_IsNumber(at) || cJSON_IsBool(at) ? cJSON_PrintUnformatted(at) : NULL;
    if (is_text || print)
        tsql_set_text(ev, out, sim_arena_dup(ev->arena, is_text ? at->valuestring : print));
    free(print);
    cJSON_Delete(tree);
    return true;
}

/* clang-format off */
const struct function tsql_json_functions[] = {
    {"ISJSON", 1, 1, R_INT, fn_isjson, 13},
    {"JSON_VALUE", 2, 2, R_TEXT, fn_json_value, 13},
    {NULL, 0, 0, 0, NULL, 0},
};
/* clang-format on */
