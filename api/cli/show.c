#include "api/cli/show.h"
#include "api/cli/cli.h"
#include "server/json_scan.h"
#include "server/unseen.h"

#include <stdio.h>
#include <string.h>

/* --- texts of the server ------------------------------------------------------------------- */

void show_text(const char *text, struct buf *out)
{
    bool unseen;
    while (*text) {
        size_t step = unseen_step(text, &unseen);
        buf_add_bytes(out, unseen ? "?" : text, unseen ? 1 : step);
        text += step;
    }
}

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsString(member) ? member->valuestring : "";
}

static double number_of(const cJSON *object, const char *name, double missing)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : missing;
}

/* A copy into a fixed array, cut at a character. */
static void copy_text(const char *text, char *out, size_t size)
{
    struct buf clean = {0};
    show_text(text, &clean);
    const char *from = buf_text(&clean);
    size_t kept = 0;
    size_t bytes = json_utf8_length(from, strlen(from));
    while (from[kept] && kept + bytes < size) {
        kept += bytes;
        bytes = json_utf8_length(from + kept, strlen(from + kept));
    }
    memcpy(out, from, kept);
    out[kept] = '\0';
    buf_fini(&clean);
}

static int count_columns(const char *text)
{
    int columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xC0) != 0x80;
    return columns;
}

/* --- jobs ---------------------------------------------------------------------------------- */

static const struct {
    const char *state;
    int exit;
} ends[] = {
    {"succeeded", CLI_OK},     {"inconclusive", CLI_INCONCLUSIVE}, {"failed", CLI_FAILED},
    {"cancelled", CLI_FAILED}, {"timed_out", CLI_TIMED_OUT},
};

static long whole(double number)
{
    return number > 0 && number < 1e9 ? (long)number : 0;
}

void show_job_read(const cJSON *job, struct show_job *out)
{
    *out = (struct show_job){.label_percent = -1};
    const cJSON *progress = json_member(job, "progress");
    const cJSON *current = json_member(progress, "current");
    const char *label = text_of(current, "label");
    copy_text(text_of(job, "state"), out->state, sizeof out->state);
    copy_text(text_of(job, "state_reason"), out->state_reason, sizeof out->state_reason);
    copy_text(text_of(job, "phase"), out->phase, sizeof out->phase);
    copy_text(*label ? label : text_of(current, "arm"), out->label, sizeof out->label);
    copy_text(text_of(json_member(job, "error"), "message"), out->reason, sizeof out->reason);
    out->percent = number_of(progress, "percent", 0);
    out->label_percent = number_of(current, "percent", -1);
    out->trials_done = whole(number_of(progress, "trials_done", 0));
    out->trials_planned = whole(number_of(progress, "trials_planned", 0));
}

bool show_job_has_ended(const struct show_job *job)
{
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(job->state, ends[i].state) == 0)
            return true;
    }
    return false;
}

int show_job_exit(const struct show_job *job)
{
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(job->state, ends[i].state) == 0)
            return ends[i].exit;
    }
    return CLI_FAILED;
}

static bool is_measuring(const struct show_job *job)
{
    return strcmp(job->state, "running") == 0 && strcmp(job->phase, "measuring") == 0 &&
           job->trials_planned > 0;
}

/* "trial 7 of 60", "waiting: window", "preparing", "queued" */
static void add_state(const struct show_job *job, struct buf *out)
{
    long trial = job->trials_done + (job->trials_done < job->trials_planned);
    bool running = strcmp(job->state, "running") == 0;
    const char *more = running ? job->phase : job->state_reason;
    if (is_measuring(job))
        buf_format(out, "trial %ld of %ld", trial, job->trials_planned);
    else if (running && *more)
        buf_add(out, more);
    else
        buf_format(out, "%s%s%s", *job->state ? job->state : "unknown", *more ? ": " : "", more);
}

/* Why it waits, beside "waiting: unreachable": " (Login failed …)", in at most `columns`. */
static void add_reason(const struct show_job *job, int columns, struct buf *out)
{
    char reason[SHOW_REASON];
    if (strcmp(job->state, "waiting") != 0 || !*job->reason || columns < 20)
        return;
    size_t left = (size_t)columns - 4; /* " (", ")" and the mark of a cut */
    size_t size = 0;
    (void)snprintf(reason, sizeof reason, "%s", job->reason);
    while (reason[size] && left > 0) {
        size_t bytes = json_utf8_length(reason + size, strlen(reason + size));
        size += bytes + (bytes == 0);
        left--;
    }
    bool is_cut = reason[size] != '\0';
    reason[size] = '\0';
    buf_format(out, " (%s%s)", reason, is_cut ? "…" : "");
}

static void add_bar(double percent, int width, struct buf *out)
{
    int filled = (int)(percent / 100 * width);
    buf_add_char(out, '[');
    for (int i = 0; i < width; i++)
        buf_add(out, i < filled ? "=" : i == filled ? ">" : " ");
    buf_add_char(out, ']');
}

void show_progress(const struct show_job *job, int columns, struct buf *out)
{
    struct buf state = {0};
    struct buf tail = {0};
    double percent = job->percent < 0 ? 0 : job->percent > 100 ? 100 : job->percent;
    add_state(job, &state);
    add_reason(job, columns - 1 - count_columns(buf_text(&state)), &state);
    buf_format(&tail, "%3.0f %%", percent);
    if (is_measuring(job) && *job->label)
        buf_format(&tail, "   %s", job->label);
    if (is_measuring(job) && *job->label && job->label_percent >= 0)
        buf_format(&tail, ": %.0f %%", job->label_percent);

    int text = count_columns(buf_text(&state)) + count_columns(buf_text(&tail));
    int width = columns - 1 - text - 6; /* two gaps of two, two brackets */
    width = width > 30 ? 30 : width;
    buf_add(out, buf_text(&state));
    if (job->trials_planned > 0 && width >= 8) {
        buf_add(out, "  ");
        add_bar(percent, width, out);
    }
    if (job->trials_planned > 0 && text + 2 < columns)
        buf_format(out, "  %s", buf_text(&tail));
    buf_fini(&state);
    buf_fini(&tail);
}

void show_step(const struct show_job *job, struct buf *out)
{
    add_state(job, out);
    add_reason(job, SHOW_REASON, out);
    if (is_measuring(job) && *job->label)
        buf_format(out, ": %s", job->label);
}

/* --- errors -------------------------------------------------------------------------------- */

static void add_faults(const cJSON *problem, struct buf *out)
{
    const cJSON *fault = NULL;
    cJSON_ArrayForEach(fault, json_member(problem, "errors")) {
        const char *pointer = text_of(fault, "pointer");
        buf_add(out, "  ");
        show_text(*pointer ? pointer : "(the whole)", out);
        buf_add(out, ": ");
        show_text(text_of(fault, "detail"), out);
        buf_add_char(out, '\n');
    }
}

void show_problem(long status, const char *body, size_t body_bytes, struct buf *out)
{
    cJSON *problem = NULL;
    struct err err = {0};
    if (json_parse(body, body_bytes, &problem, &err) < 0 || !cJSON_IsObject(problem)) {
        buf_format(out, "the server answered %ld without saying why\n", status);
        cJSON_Delete(problem);
        return;
    }
    const char *title = text_of(problem, "title");
    const char *detail = text_of(problem, "detail");
    show_text(*title ? title : "Error", out);
    buf_format(out, " (%ld)", status);
    if (*detail) {
        buf_add(out, ": ");
        show_text(detail, out);
    }
    buf_add_char(out, '\n');
    add_faults(problem, out);
    cJSON_Delete(problem);
}

int show_problem_exit(long status)
{
    switch (status) {
    case 408:
        return CLI_TIMED_OUT;
    case 429:
    case 502:
    case 503:
    case 504:
        return CLI_UNREACHABLE;
    default:
        return status >= 400 && status < 500 ? CLI_REFUSED : CLI_FAILED;
    }
}

/* --- lists --------------------------------------------------------------------------------- */

void show_jobs(const cJSON *answer, struct buf *out)
{
    const cJSON *job = NULL;
    cJSON_ArrayForEach(job, json_member(answer, "items")) {
        char instance[SHOW_LABEL];
        struct show_job read;
        const char *summary = text_of(job, "summary");
        show_job_read(job, &read);
        copy_text(text_of(job, "instance"), instance, sizeof instance);
        show_text(text_of(job, "id"), out);
        buf_format(out, "  %-12s  %-16s", read.state, instance);
        if (*read.state_reason)
            buf_format(out, "  %s", read.state_reason);
        if (*read.reason)
            buf_format(out, "  %s", read.reason);
        if (*summary) {
            buf_add(out, "  ");
            show_text(summary, out);
        }
        buf_add_char(out, '\n');
    }
}

void show_instances(const cJSON *answer, struct buf *out)
{
    const cJSON *instance = NULL;
    cJSON_ArrayForEach(instance, json_member(answer, "items")) {
        char name[SHOW_LABEL];
        char host[SHOW_LABEL];
        char address[SHOW_LABEL + 16];
        copy_text(text_of(instance, "name"), name, sizeof name);
        copy_text(text_of(instance, "host"), host, sizeof host);
        (void)snprintf(address, sizeof address, "%s:%ld", host,
                       whole(number_of(instance, "port", 0)));
        buf_format(out, "%-20s %-32s ", name, address);
        show_text(text_of(instance, "environment"), out);
        if (*text_of(instance, "held")) {
            buf_add(out, "   held: ");
            show_text(text_of(instance, "held"), out);
        }
        buf_add_char(out, '\n');
    }
}

static void add_kind(const cJSON *kind, struct buf *out)
{
    char name[SHOW_LABEL];
    const cJSON *missing = NULL;
    copy_text(kind->string, name, sizeof name);
    buf_format(out, "%-20s %s\n", name,
               cJSON_IsTrue(json_member(kind, "ready")) ? "ready" : "not ready");
    cJSON_ArrayForEach(missing, json_member(kind, "missing")) {
        buf_add(out, "    grant ");
        show_text(cJSON_IsString(missing) ? missing->valuestring : "?", out);
        buf_add_char(out, '\n');
    }
}

bool show_check(const cJSON *answer, struct buf *out)
{
    const cJSON *kind = NULL;
    const cJSON *warning = NULL;
    if (!cJSON_IsTrue(json_member(answer, "reachable"))) {
        const cJSON *error = json_member(answer, "error");
        bool was_asked = strcmp(text_of(error, "cause"), "password") != 0;
        buf_add(out, was_asked ? "not reachable: " : "not asked: ");
        show_text(text_of(error, "message"), out);
        buf_add_char(out, '\n');
        return false;
    }
    buf_add(out, "SQL Server ");
    show_text(text_of(answer, "version"), out);
    buf_add(out, ", ");
    show_text(text_of(answer, "edition"), out);
    buf_add(out, ", ");
    show_text(text_of(answer, "platform"), out);
    buf_format(out, ", %s; its clock is %+.3f s from ours\n",
               cJSON_IsTrue(json_member(answer, "authenticated")) ? "authenticated"
                                                                  : "not authenticated",
               number_of(answer, "clock_offset_s", 0));
    cJSON_ArrayForEach(kind, json_member(answer, "kinds"))
        add_kind(kind, out);
    cJSON_ArrayForEach(warning, json_member(answer, "warnings")) {
        buf_add(out, "warning: ");
        show_text(cJSON_IsString(warning) ? warning->valuestring : "?", out);
        buf_add_char(out, '\n');
    }
    return true;
}

static bool add_intent(const cJSON *intent, struct buf *out)
{
    static const char *const members[] = {"state", "action", "object", "job", "detail"};
    for (size_t i = 0; i < JSON_COUNT(members); i++) {
        const char *text = text_of(intent, members[i]);
        if (!*text)
            continue;
        buf_add(out, i > 0 ? "  " : "");
        show_text(text, out);
    }
    buf_add_char(out, '\n');
    return strcmp(text_of(intent, "state"), "undone") == 0;
}

bool show_reconciled(const cJSON *answer, struct buf *out)
{
    const cJSON *intent = NULL;
    bool is_clean = true;
    cJSON_ArrayForEach(intent, json_member(answer, "intents"))
        is_clean &= add_intent(intent, out);
    const char *pending = text_of(answer, "pending");
    if (*pending) {
        buf_add(out, "pending: ");
        show_text(pending, out);
        buf_add_char(out, '\n');
    } else if (out->length == 0) {
        buf_add(out, "nothing is left to undo\n");
    }
    return is_clean && !*pending;
}
