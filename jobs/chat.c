#include "jobs/chat.h"
#include "jobs/effects.h"
#include "jobs/event.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/clock.h"
#include "server/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EFFECTS_SAID 3 /* a phone shows no more */
#define NAMES_SAID 5

struct words {
    const char *name;
    enum chat_tone tone;
    const char *words;
};

/* Events that say more than the job's end. */
static const struct words events[] = {
    {EVENT_JOB_REGRESSED, CHAT_BAD, "Slower than its baseline"},
    {EVENT_CLEANUP_FAILED, CHAT_BAD, "Clean-up failed"},
    {EVENT_INSTANCE_UNREACHABLE, CHAT_BAD, "Instance not reached"},
    {EVENT_WEBHOOK_TEST, CHAT_GOOD, "Test message"},
};

static const struct words states[] = {
    {"succeeded", CHAT_GOOD, "Benchmark done"},
    {"inconclusive", CHAT_OPEN, "No answer"},
    {"failed", CHAT_BAD, "Benchmark failed"},
    {"cancelled", CHAT_OPEN, "Benchmark cancelled"},
    {"timed_out", CHAT_BAD, "Benchmark out of time"},
};

static const struct words *find(const struct words *table, size_t count, const char *name)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(name, table[i].name) == 0)
            return &table[i];
    return NULL;
}

/* --- the verdict ---------------------------------------------------------------------------- */

static bool any_verdict(const cJSON *effects, const char *verdict)
{
    const cJSON *effect;
    cJSON_ArrayForEach(effect, effects) {
        const char *is = member_text(effect, "verdict");
        if (is && strcmp(is, verdict) == 0)
            return true;
    }
    return false;
}

/* What a job that succeeded found, by what its first effect measures; NULL when it tells none. */
static const char *answer_of(const cJSON *data)
{
    const cJSON *recommendation = json_member(data, "recommendation");
    const cJSON *effects = json_member(data, "effects");
    const char *measure = member_text(cJSON_GetArrayItem(effects, 0), "measure");
    if (cJSON_IsTrue(json_member(recommendation, "keep_default")))
        return "Keep the default";
    if (member_text(recommendation, "arm"))
        return "Sweet spot found";
    if (!measure)
        return NULL;
    if (strcmp(measure, "fraction_of_ceiling") == 0)
        return "Bottleneck found";
    if (strcmp(measure, "mib_s") == 0)
        return "History read";
    if (strcmp(measure, "time") != 0)
        return NULL;
    if (any_verdict(effects, "slower"))
        return "It costs time";
    return any_verdict(effects, "faster") ? "It saves time" : "No overhead found";
}

static void read_verdict(const cJSON *payload, const cJSON *data, struct chat *out)
{
    const char *state = member_text(json_member(data, "job"), "state");
    const struct words *words = find(events, JSON_COUNT(events), member_text(payload, "type"));
    const char *answer = NULL;
    if (!words && state && strcmp(state, "succeeded") == 0)
        answer = answer_of(data);
    if (!words)
        words = find(states, JSON_COUNT(states), state);
    out->tone = words ? words->tone : CHAT_OPEN;
    out->verdict = answer ? answer : words ? words->words : "Benchmark";
}

/* --- facts ---------------------------------------------------------------------------------- */

/* Takes value over; an absent or empty one is no fact. */
static void add_fact(struct chat *out, const char *name, char *value)
{
    if (!value || !*value || out->fact_count == CHAT_FACTS) {
        free(value);
        return;
    }
    out->facts[out->fact_count++] = (struct chat_fact){name, value};
}

static void add_text_fact(struct chat *out, const char *name, const char *value)
{
    add_fact(out, name, value ? mem_copy(value) : NULL);
}

/* "a, b, c and 4 more" of an array of texts, of which `more` were left out before. */
static char *join(const cJSON *texts, int64_t more)
{
    struct buf out = {0};
    int said = 0;
    const cJSON *text;
    cJSON_ArrayForEach(text, texts) {
        if (!cJSON_IsString(text))
            continue;
        if (said == NAMES_SAID)
            more++;
        else
            buf_format(&out, "%s%s", said++ ? ", " : "", text->valuestring);
    }
    if (more > 0)
        buf_format(&out, " and %" PRId64 " more", more);
    return buf_take(&out);
}

static void add_databases(const cJSON *job, struct chat *out)
{
    const cJSON *parameters = json_member(json_member(job, "definition"), "parameters");
    const cJSON *databases = json_member(parameters, "databases");
    bool several = cJSON_GetArraySize(databases) > 1;
    add_text_fact(out, "Database", member_text(parameters, "database"));
    if (cJSON_IsArray(databases))
        add_fact(out, several ? "Databases" : "Database", join(databases, 0));
    else if (databases)
        add_text_fact(out, "Databases", "all");
}

static void add_effects(const cJSON *data, struct chat *out)
{
    struct buf text = {0};
    int64_t more = member_int(data, "effects_more", 0);
    int said = 0;
    const cJSON *effect;
    cJSON_ArrayForEach(effect, json_member(data, "effects")) {
        if (said == EFFECTS_SAID) {
            more++;
            continue;
        }
        char *words = effects_words(effect);
        buf_format(&text, "%s%s", said++ ? "; " : "", words);
        free(words);
    }
    if (more > 0)
        buf_format(&text, "; %" PRId64 " more in the report", more);
    add_fact(out, "Effect", buf_take(&text));
}

static void add_baseline(const cJSON *data, struct chat *out)
{
    const cJSON *baseline = json_member(data, "baseline");
    if (!cJSON_IsObject(baseline))
        return;
    cJSON *effect = cJSON_CreateObject();
    static const struct {
        const char *from, *to;
    } members[] = {{"ratio", "value"},
                   {"low", "low"},
                   {"high", "high"},
                   {"level", "level"},
                   {"verdict", "verdict"}};
    cJSON_AddItemToObject(effect, "what", json_text(member_text(baseline, "job")));
    for (size_t i = 0; i < JSON_COUNT(members); i++)
        cJSON_AddItemToObject(
            effect, members[i].to,
            member_copy_or(json_member(baseline, members[i].from), cJSON_CreateNull()));
    add_fact(out, "Against the baseline", effects_words(effect));
    cJSON_Delete(effect);
}

static bool ended_early(const cJSON *job)
{
    const char *state = member_text(job, "state");
    return state && (strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0 ||
                     strcmp(state, "timed_out") == 0);
}

static void add_undecided(const cJSON *data, const cJSON *job, struct chat *out)
{
    const cJSON *progress = json_member(job, "progress");
    const char *why = member_text(data, "no_recommendation");
    char *names = join(json_member(data, "undecided"), member_int(data, "undecided_more", 0));
    if (*names || !(why || ended_early(job))) {
        add_fact(out, "Not decided", names);
        return;
    }
    free(names);
    if (ended_early(job) && member_int(progress, "trials_done", 0) == 0)
        add_fact(out, "Not decided", mem_copy("anything: no trial was done"));
    else if (ended_early(job))
        add_fact(out, "Not decided",
                 mem_format("anything: %" PRId64 " of %" PRId64 " trials were done",
                            member_int(progress, "trials_done", 0),
                            member_int(progress, "trials_planned", 0)));
    else
        add_text_fact(out, "Not decided", why);
}

static void add_left_behind(const cJSON *data, struct chat *out)
{
    cJSON *names = cJSON_CreateArray();
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(data, "left_behind"))
        cJSON_AddItemToArray(names, json_text(member_text(item, "object")));
    add_fact(out, "Left behind", join(names, 0));
    cJSON_Delete(names);
}

/* "1 h 12 min", "3 min 20 s", "45 s"; NULL when the job did not run or has not ended. */
static char *duration_of(const cJSON *job)
{
    const char *from = member_text(job, "started_at");
    const char *to = member_text(job, "finished_at");
    int64_t start = 0;
    int64_t end = 0;
    if (!from || !to || !clock_parse(from, &start) || !clock_parse(to, &end) || end < start)
        return NULL;
    int64_t s = (end - start) / 1000;
    if (s >= 3600)
        return mem_format("%" PRId64 " h %" PRId64 " min", s / 3600, s % 3600 / 60);
    if (s >= 60)
        return mem_format("%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
    return s > 0 ? mem_format("%" PRId64 " s", s) : mem_copy("under 1 s");
}

static void add_facts(const cJSON *data, const cJSON *job, struct chat *out)
{
    add_text_fact(out, "Instance", member_text(job, "instance"));
    add_databases(job, out);
    add_effects(data, out);
    add_baseline(data, out);
    add_undecided(data, job, out);
    add_left_behind(data, out);
    add_text_fact(out, "What may help", member_text(json_member(job, "error"), "advice"));
    add_fact(out, "Took", duration_of(job));
    add_text_fact(out, "Kind", member_text(job, "kind"));
    add_text_fact(out, "Job", member_text(job, "id"));
}

/* --- the whole ------------------------------------------------------------------------------ */

/* The error where there is one, with its number: an operator looks it up. */
static char *lead_of(const cJSON *data, const cJSON *job)
{
    const cJSON *error = json_member(job, "error");
    const char *message = member_text(error, "message");
    const char *summary = member_text(job, "summary");
    const char *said = member_text(data, "message");
    int64_t number = member_int(error, "number", 0);
    if (summary)
        return mem_copy(summary);
    if (message && number != 0)
        return mem_format("Error %" PRId64 ": %s", number, message);
    if (message)
        return mem_copy(message);
    return mem_copy(said ? said : "No further details.");
}

/* As we make them; nothing else becomes part of a link. */
static bool is_id(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= 36 && strspn(text, "0123456789abcdef-") == length;
}

static char *url_of(const cJSON *data, const cJSON *job, const char *public_url)
{
    const char *id = member_text(job, "id");
    if (!public_url || !*public_url)
        return NULL;
    int length = (int)strlen(public_url);
    while (length > 0 && public_url[length - 1] == '/')
        length--;
    if (!id || !is_id(id))
        return mem_format("%.*s/", length, public_url);
    bool reported = json_member(data, "effects") != NULL; /* added from a report only */
    return mem_format("%.*s/v1/jobs/%s%s", length, public_url, id, reported ? "/report" : "");
}

void chat_read(const cJSON *payload, const char *public_url, struct chat *out)
{
    const cJSON *data = json_member(payload, "data");
    const cJSON *job = json_member(data, "job");
    const char *instance = member_text(job, "instance");
    bool of_none = json_member(data, "webhook") != NULL; /* a test message */
    *out = (struct chat){
        .instance = instance || of_none ? instance : "?",
        .lead = lead_of(data, job),
        .statement = member_text(json_member(data, "recommendation"), "tsql"),
        .url = url_of(data, job, public_url),
        .simulated = cJSON_IsTrue(json_member(data, "simulated")),
    };
    read_verdict(payload, data, out);
    add_facts(data, job, out);
}

void chat_fini(struct chat *chat)
{
    for (size_t i = 0; i < chat->fact_count; i++)
        free(chat->facts[i].value);
    free(chat->lead);
    free(chat->url);
    *chat = (struct chat){0};
}
