/* Whatever the scanner takes, cJSON must read, print, and read again the same. */
#include "server/json.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    cJSON *tree = NULL;
    cJSON *again = NULL;
    struct err err = {0};
    if (json_parse((const char *)data, size, &tree, &err) < 0) {
        assert(err.code == ERR_INPUT && err.msg[0]);
        return 0;
    }
    char *text = json_print(tree);
    assert(json_parse(text, strlen(text), &again, &err) == 0);
    assert(cJSON_Compare(tree, again, true));
    free(text);
    cJSON_Delete(tree);
    cJSON_Delete(again);
    return 0;
}
