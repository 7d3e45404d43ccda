/* Any text in a stored trial: its row of CSV has its cells, and no cell that a spreadsheet would
 * run.
 */
#include "api/trial_csv.h"
#include "server/json.h"
#include "server/mem.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Reads a cell as RFC 4180 says; what ends it. */
static char next_cell(const char **at)
{
    if (**at == '"') {
        assert(!strchr("=+-@\t\r\n", (*at)[1]) || (*at)[1] == '\0');
        for (++*at; **at != '"' || (*at)[1] == '"'; ++*at) {
            assert(**at != '\0');
            *at += **at == '"';
        }
        ++*at;
    } else {
        *at += strcspn(*at, ",\r\n\"");
    }
    char end = **at;
    assert(end == ',' || end == '\r');
    *at += end == ',' ? 1 : 2;
    return end;
}

static size_t count_cells(const char *row)
{
    size_t cells = 1;
    while (next_cell(&row) == ',')
        cells++;
    assert(*row == '\0'); /* one row */
    return cells;
}

static char *document_of(const char *text)
{
    static const char *const members[] = {"arm", "status", "started_at"};
    cJSON *trial = cJSON_CreateObject();
    cJSON *error = cJSON_CreateObject();
    cJSON *notes = cJSON_CreateArray();
    for (size_t i = 0; i < JSON_COUNT(members); i++)
        cJSON_AddItemToObject(trial, members[i], json_text(text));
    cJSON_AddNumberToObject(trial, "seq", -1);
    cJSON_AddItemToObject(error, "message", json_text(text));
    cJSON_AddItemToObject(trial, "error", error);
    cJSON_AddItemToArray(notes, json_text(text));
    cJSON_AddItemToArray(notes, json_text(text));
    cJSON_AddItemToObject(trial, "notes", notes);
    char *document = json_print(trial);
    cJSON_Delete(trial);
    return document;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct buf head = {0};
    struct buf row = {0};
    char *text = mem_format("%.*s", (int)size, (const char *)data);
    char *document = document_of(text);
    trial_csv_head(&head);
    trial_csv_row(&row, document);
    assert(count_cells(buf_text(&head)) == count_cells(buf_text(&row)));
    buf_clear(&row);
    trial_csv_row(&row, text); /* a document that cannot be read is a row of nothing */
    (void)count_cells(buf_text(&row));
    buf_fini(&head);
    buf_fini(&row);
    free(document);
    free(text);
    return 0;
}
