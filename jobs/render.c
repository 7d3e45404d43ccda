#include "jobs/render.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/json.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

/* Slack's limits: a section's text 3,000 characters, a header's 150. The parts of our section add
 * up to less: a summary, four facts with their names, a statement. */
#define SLACK_HEADER_CHARS 150
#define SUMMARY_CHARS 800
#define FACT_CHARS 200
#define STATEMENT_CHARS 1000

const char *const render_formats[] = {"json", "slack", NULL};

/* Bytes of a bidi control or line separator at `at` (U+2028 to U+202E, U+2066 to U+2069), or 0. */
static size_t hidden_length(const unsigned char *at)
{
    if (at[0] != 0xE2)
        return 0;
    bool hidden = (at[1] == 0x80 && at[2] >= 0xA8 && at[2] <= 0xAE) ||
                  (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9);
    return hidden ? 3 : 0;
}

/* What Slack needs escaped so that no mention or link can be smuggled in; NULL: as it is. */
static const char *slack_escape(unsigned char character)
{
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '`':
        return "'";
    default:
        return character < 0x20 && character != '\n' ? "" : NULL;
    }
}

/* Appends text for Slack, cut at max_chars written characters with one visible ellipsis. */
static void add_slack_text(struct buf *out, const char *text, size_t max_chars)
{
    size_t chars = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        size_t hidden = hidden_length(at);
        if (hidden) {
            at += hidden - 1;
            continue;
        }
        const char *escape = slack_escape(*at);
        if ((*at & 0xC0) != 0x80)
            chars += escape ? strlen(escape) : 1;
        if (chars > max_chars) {
            buf_add(out, "…");
            return;
        }
        if (escape)
            buf_add(out, escape);
        else
            buf_add_char(out, (char)*at);
    }
}

/* The verdict in words: what a reader must see first. */
static const char *headline(const cJSON *job)
{
    static const struct {
        const char *state, *words;
    } table[] = {
        {"succeeded", "Sweet spot found"},
        {"inconclusive", "No answer"},
        {"failed", "Benchmark failed"},
        {"cancelled", "Benchmark cancelled"},
        {"timed_out", "Benchmark ran out of time"},
    };
    const char *state = member_text(job, "state");
    for (size_t i = 0; state && i < JSON_COUNT(table); i++)
        if (strcmp(state, table[i].state) == 0)
            return table[i].words;
    return "Benchmark";
}

static void add_fact(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_format(out, "\n*%s:* ", name);
    add_slack_text(out, value, FACT_CHARS);
}

static cJSON *slack_block(const char *type, const char *text_type, const char *text)
{
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "type", type);
    cJSON *inner = cJSON_AddObjectToObject(block, "text");
    cJSON_AddStringToObject(inner, "type", text_type);
    cJSON_AddStringToObject(inner, "text", text);
    return block;
}

static void slack_section(const cJSON *data, struct buf *out)
{
    const cJSON *job = json_member(data, "job");
    const cJSON *recommendation = json_member(data, "recommendation");
    const cJSON *parameters = json_member(json_member(job, "definition"), "parameters");
    const char *summary = member_text(job, "summary");
    const char *error = member_text(json_member(job, "error"), "message");
    add_slack_text(out, summary ? summary : error ? error : "No further details.", SUMMARY_CHARS);
    add_fact(out, "Instance", member_text(job, "instance"));
    add_fact(out, "Database", member_text(parameters, "database"));
    add_fact(out, "Kind", member_text(job, "kind"));
    add_fact(out, "Job", member_text(job, "id"));
    const char *tsql = member_text(recommendation, "tsql");
    if (tsql) {
        buf_add(out, "\n```");
        add_slack_text(out, tsql, STATEMENT_CHARS);
        buf_add(out, "```");
    }
}

static char *render_slack(const cJSON *payload)
{
    const cJSON *data = json_member(payload, "data");
    const cJSON *job = json_member(data, "job");
    struct buf title = {0};
    struct buf section = {0};
    buf_format(&title, "%s: ", headline(job));
    add_slack_text(&title, member_text(job, "instance") ? member_text(job, "instance") : "?",
                   SLACK_HEADER_CHARS - 40);
    slack_section(data, &section);
    struct buf fallback = {0};
    buf_format(&fallback, "%s\n", buf_text(&title));
    buf_add(&fallback, buf_text(&section));
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "text", buf_text(&fallback)); /* what a notification shows */
    cJSON *blocks = cJSON_AddArrayToObject(tree, "blocks");
    cJSON_AddItemToArray(blocks, slack_block("header", "plain_text", buf_text(&title)));
    cJSON_AddItemToArray(blocks, slack_block("section", "mrkdwn", buf_text(&section)));
    char *body = json_print(tree);
    cJSON_Delete(tree);
    buf_fini(&title);
    buf_fini(&section);
    buf_fini(&fallback);
    return body;
}

/* Our own event: a Standard Webhooks body (type, timestamp, data) with its id. */
static char *render_json(cJSON *payload, const char *delivery_id)
{
    cJSON_AddStringToObject(payload, "id", delivery_id);
    return json_print(payload);
}

int render_event(const char *format, const char *payload, const char *delivery_id, char **out_body,
                 struct err *err)
{
    cJSON *tree = NULL;
    if (member_parse_own(payload, &tree, err) < 0)
        return err_set(err, ERR_STORE, 0, "a stored event cannot be read");
    int rc = 0;
    if (strcmp(format, "json") == 0)
        *out_body = render_json(tree, delivery_id);
    else if (strcmp(format, "slack") == 0)
        *out_body = render_slack(tree);
    else
        rc = err_set(err, ERR_INPUT, 0, "format %s is unknown", format);
    cJSON_Delete(tree);
    return rc;
}
