/* Any JSON as a report: its Markdown is made, and holds nothing that acts on a terminal. */
#include "jobs/measure/report.h"
#include "server/json.h"
#include "server/unseen.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    cJSON *report = NULL;
    struct err err = {0};
    if (json_parse((const char *)data, size, &report, &err) < 0)
        return 0;
    char *markdown = report_markdown(report);
    bool unseen;
    for (const char *at = markdown; *at;) {
        bool blank = *at == '\n' || *at == '\t';
        at += unseen_step(at, &unseen);
        assert(blank || !unseen);
    }
    free(markdown);
    cJSON_Delete(report);
    return 0;
}
