/* Plans and kinds as text for people. */
#include "api/cli/show.h"

#include <math.h>
#include <string.h>

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsString(member) ? member->valuestring : "";
}

/* A line per text of the list. */
static void add_lines(const cJSON *list, const char *before, struct buf *out)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list) {
        buf_add(out, before);
        show_text(cJSON_IsString(item) ? item->valuestring : "?", out);
        buf_add_char(out, '\n');
    }
}

static void add_section(const cJSON *list, const char *title, struct buf *out)
{
    if (cJSON_GetArraySize(list) == 0)
        return;
    buf_format(out, "\n%s\n", title);
    add_lines(list, "  ", out);
}

/* "12 trials", "1 trial". */
static void add_counted(double count, const char *unit, struct buf *out)
{
    buf_format(out, "%.15g %s%s", count, unit, count == 1 ? "" : "s");
}

static bool is_known(const cJSON *member)
{
    return cJSON_IsNumber(member) && isfinite(member->valuedouble);
}

static void add_minutes(const cJSON *estimate, struct buf *out)
{
    const cJSON *minutes = json_member(estimate, "minutes");
    buf_add(out, is_known(minutes) ? "about " : "for an unknown time");
    if (is_known(minutes))
        add_counted(ceil(minutes->valuedouble), "minute", out);
}

static void add_mib(const cJSON *estimate, const char *name, struct buf *out)
{
    const cJSON *member = json_member(estimate, name);
    if (is_known(member))
        buf_format(out, "%.15g MiB", ceil(member->valuedouble));
    else
        buf_add(out, "an unknown amount");
}

static void add_log_lines(const cJSON *estimate, struct buf *out)
{
    const cJSON *lines = json_member(estimate, "error_log_lines");
    if (is_known(lines))
        add_counted(lines->valuedouble, "line", out);
    else
        buf_add(out, "an unknown number of lines");
    buf_add(out, " in the server's error log");
}

static void add_arm(const cJSON *arm, struct buf *out)
{
    const cJSON *memory = json_member(arm, "buffer_memory_mib");
    buf_add(out, "  ");
    show_text(text_of(arm, "arm"), out);
    buf_add(out, "  ");
    show_text(text_of(arm, "label"), out);
    if (cJSON_IsNumber(memory))
        buf_format(out, "  (%.15g MiB of buffers)", memory->valuedouble);
    buf_add_char(out, '\n');
    add_lines(json_member(arm, "statements"), "        ", out);
}

bool show_plan(const cJSON *plan, struct buf *out)
{
    const cJSON *arms = json_member(plan, "arms");
    const cJSON *trials = json_member(plan, "trials");
    const cJSON *estimate = json_member(plan, "estimate");
    const cJSON *refusals = json_member(plan, "refusals");
    const cJSON *arm = NULL;
    int count = cJSON_GetArraySize(arms);
    add_counted(count, "arm", out);
    buf_add(out, ", ");
    add_counted(cJSON_IsNumber(trials) ? trials->valuedouble : 0, "trial", out);
    buf_add(out, ", ");
    add_minutes(estimate, out);
    buf_add(out, "; reads ");
    add_mib(estimate, "read_mib", out);
    buf_add(out, ", writes ");
    add_mib(estimate, "written_mib", out);
    buf_add(out, "; ");
    add_log_lines(estimate, out);
    buf_add(out, "\n");
    cJSON_ArrayForEach(arm, arms)
        add_arm(arm, out);
    add_section(json_member(plan, "permissions"), "Its login needs:", out);
    add_section(json_member(plan, "warnings"), "Warnings:", out);
    add_section(refusals, "It would be refused:", out);
    return cJSON_GetArraySize(refusals) == 0;
}

static void add_parameter(const cJSON *schema, const cJSON *required, struct buf *out)
{
    const cJSON *name = NULL;
    bool is_needed = false;
    cJSON_ArrayForEach(name, required)
        is_needed |= cJSON_IsString(name) && strcmp(name->valuestring, schema->string) == 0;
    buf_add(out, "    ");
    show_text(schema->string, out);
    buf_add(out, is_needed ? " (required): " : ": ");
    show_text(text_of(schema, "description"), out);
    buf_add_char(out, '\n');
}

void show_kinds(const cJSON *answer, struct buf *out)
{
    const cJSON *kind = NULL;
    cJSON_ArrayForEach(kind, json_member(answer, "items")) {
        const cJSON *schema = json_member(kind, "parameters");
        const cJSON *parameter = NULL;
        buf_add(out, out->length > 0 ? "\n" : "");
        show_text(text_of(kind, "kind"), out);
        buf_add(out, ": ");
        show_text(text_of(kind, "summary"), out);
        buf_add(out, "\n  parameters\n");
        cJSON_ArrayForEach(parameter, json_member(schema, "properties"))
            add_parameter(parameter, json_member(schema, "required"), out);
        buf_add(out, "  its login needs\n");
        add_lines(json_member(kind, "permissions"), "    ", out);
    }
}
