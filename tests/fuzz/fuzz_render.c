/* Any event makes a message for every receiver: valid JSON, and nobody is called. */
#include "jobs/render.h"
#include "server/json.h"
#include "server/mem.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The input as names where names from outside may stand. */
static char *event_of(const char *text)
{
    cJSON *event = cJSON_CreateObject();
    cJSON_AddStringToObject(event, "type", "job.finished");
    cJSON *inner = cJSON_AddObjectToObject(event, "data");
    cJSON *job = cJSON_AddObjectToObject(inner, "job");
    static const char *const members[] = {"id", "kind", "instance", "state", "summary"};
    for (size_t i = 0; i < JSON_COUNT(members); i++)
        cJSON_AddItemToObject(job, members[i], json_text(text));
    cJSON *definition = cJSON_AddObjectToObject(job, "definition");
    cJSON *parameters = cJSON_AddObjectToObject(definition, "parameters");
    cJSON_AddItemToObject(parameters, "database", json_text(text));
    char *printed = json_print(event);
    cJSON_Delete(event);
    return printed;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = mem_format("%.*s", (int)size, (const char *)data);
    char *event = event_of(text);
    for (size_t i = 0; render_formats[i]; i++) {
        char *body = NULL;
        cJSON *tree = NULL;
        struct err err = {0};
        assert(render_event(render_formats[i], event, "id", "https://h", &body, &err) == 0);
        assert(json_parse(body, strlen(body), &tree, &err) == 0);
        if (strcmp(render_formats[i], "json") != 0) {
            assert(!strstr(body, "@everyone") && !strstr(body, "<!") && !strstr(body, "<users/"));
            assert(strlen(body) < 40000);
        }
        cJSON_Delete(tree);
        free(body);
    }
    free(event);
    free(text);
    return 0;
}
