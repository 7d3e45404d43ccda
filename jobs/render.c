#include "jobs/render.h"
#include "jobs/event.h"
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

/* Bytes of a character at `at` that is not seen but changes what is seen, or 0: line separators and
 * bidi controls (U+2028 to U+202E, U+2066 to U+2069, U+200E, U+200F, U+061C), zero width (U+200B to
 * U+200D, U+FEFF) and C1 controls (U+0080 to U+009F). */
static size_t hidden_length(const unsigned char *at)
{
    if (at[0] == 0xC2)
        return at[1] >= 0x80 && at[1] <= 0x9F ? 2 : 0;
    if (at[0] == 0xD8)
        return at[1] == 0x9C ? 2 : 0;
    if (at[0] == 0xEF)
        return at[1] == 0xBB && at[2] == 0xBF ? 3 : 0;
    if (at[0] != 0xE2)
        return 0;
    bool hidden = (at[1] == 0x80 && at[2] >= 0x8B && at[2] <= 0x8F) ||
                  (at[1] == 0x80 && at[2] >= 0xA8 && at[2] <= 0xAE) ||
                  (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9);
    return hidden ? 3 : 0;
}

/* What Slack needs escaped so that no mention or link can be smuggled in; Mattermost, which is sent
 * the same, calls a team for a bare "@all": a mark of no width behind the @ stops that. NULL: as it
 * is. */
static const char *slack_escape(unsigned char character, bool keeps_lines)
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
    case '@':
        return keeps_lines ? NULL : "@\xE2\x81\xA0"; /* U+2060; inside a statement @ calls nobody */
    case '\n':
        return keeps_lines ? NULL : " ";
    default:
        return character < 0x20 || character == 0x7F ? "" : NULL;
    }
}

/* How many UTF-16 units the character that begins with this byte has; 0 inside of one. Receivers
 * count in these or in characters, which are never more. */
static size_t units_of(unsigned char byte)
{
    if ((byte & 0xC0) == 0x80)
        return 0;
    return byte >= 0xF0 ? 2 : 1;
}

/* Appends text for Slack, cut at max_units written UTF-16 units with one visible ellipsis. Only a
 * statement keeps its lines: elsewhere a line break would let a name write lines of its own. */
static void add_slack_text(struct buf *out, const char *text, size_t max_units, bool keeps_lines)
{
    size_t units = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        size_t hidden = hidden_length(at);
        if (hidden) {
            at += hidden - 1;
            continue;
        }
        const char *escape = slack_escape(*at, keeps_lines);
        units += escape ? strlen(escape) : units_of(*at);
        if (units > max_units) {
            buf_add(out, "…");
            return;
        }
        if (escape)
            buf_add(out, escape);
        else
            buf_add_char(out, (char)*at);
    }
}

struct words {
    const char *name, *words;
};

static const char *find_words(const struct words *table, size_t count, const char *name)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].words;
    return NULL;
}

/* What a reader must see first: the event where it says more than the job's end, else the verdict
 * in words. */
static const char *headline(const cJSON *payload)
{
    static const struct words events[] = {
        {EVENT_JOB_REGRESSED, "Slower than its baseline"},
        {EVENT_CLEANUP_FAILED, "Clean-up failed"},
        {EVENT_INSTANCE_UNREACHABLE, "Instance not reached"},
    };
    static const struct words states[] = {
        {"succeeded", "Benchmark done"},        {"inconclusive", "No answer"},
        {"failed", "Benchmark failed"},         {"cancelled", "Benchmark cancelled"},
        {"timed_out", "Benchmark out of time"},
    };
    const cJSON *data = json_member(payload, "data");
    const char *state = member_text(json_member(data, "job"), "state");
    const char *words = find_words(events, JSON_COUNT(events), member_text(payload, "type"));
    if (!words && cJSON_IsTrue(json_member(json_member(data, "recommendation"), "keep_default")))
        words = "Keep the default";
    else if (!words && member_text(json_member(data, "recommendation"), "arm"))
        words = "Sweet spot found";
    if (!words)
        words = find_words(states, JSON_COUNT(states), state);
    return words ? words : "Benchmark";
}

static void add_fact(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_format(out, "\n*%s:* ", name);
    add_slack_text(out, value, FACT_CHARS, false);
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
    if (cJSON_IsTrue(json_member(data, "simulated")))
        buf_add(out, "*SIMULATED SERVER.* ");
    add_slack_text(out,
                   summary ? summary
                   : error ? error
                           : "No further details.",
                   SUMMARY_CHARS, false);
    add_fact(out, "Instance", member_text(job, "instance"));
    add_fact(out, "Database", member_text(parameters, "database"));
    add_fact(out, "Kind", member_text(job, "kind"));
    add_fact(out, "Job", member_text(job, "id"));
    const char *tsql = member_text(recommendation, "tsql");
    if (tsql) {
        buf_add(out, "\n```");
        add_slack_text(out, tsql, STATEMENT_CHARS, true);
        buf_add(out, "```");
    }
}

static char *render_slack(const cJSON *payload)
{
    const cJSON *data = json_member(payload, "data");
    const cJSON *job = json_member(data, "job");
    struct buf title = {0};
    struct buf section = {0};
    buf_format(&title, "%s: ", headline(payload));
    add_slack_text(&title, member_text(job, "instance") ? member_text(job, "instance") : "?",
                   SLACK_HEADER_CHARS - 40, false);
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
