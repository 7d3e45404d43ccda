#include "api/trial_csv.h"
#include "server/json.h"

#include <stdlib.h>
#include <string.h>

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
    if (text[0] != '\0' && strchr("=+-@\t\r\n", text[0]))
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
        if (cJSON_IsObject(value))
            add_text_cell(csv, text); /* no column is one today */
        else
            buf_add(csv, text);
        free(text);
    }
}

void trial_csv_row(struct buf *csv, const char *document)
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

void trial_csv_head(struct buf *csv)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        buf_format(csv, "%s%s", i > 0 ? "," : "", columns[i].name);
    buf_add(csv, "\r\n");
}
