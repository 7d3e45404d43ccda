/* GET /metrics: the text format to the letter, and figures that are right. */
#include "api/http_inner.h"
#include "api/metrics_text.h"
#include "api/trace.h"
#include "server/ids.h"
#include "server/mem.h"
#include "tests/http_kit.h"
#include "tests/store_kit.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *scrape(struct http_kit *kit)
{
    struct reply reply = call(kit->port, "GET", "/metrics", NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Type"),
                        "text/plain; version=0.0.4; charset=utf-8");
    char *text = mem_copy(reply.body);
    reply_fini(&reply);
    return text;
}

/* The value of a series; fails the test when it is not there. */
static double value_of(const char *text, const char *series)
{
    char *line = mem_format("\n%s ", series);
    const char *found = strstr(text, line);
    if (!found)
        fail_msg("no %s in %s", series, text);
    double value = found ? strtod(found + strlen(line), NULL) : NAN;
    free(line);
    return value;
}

/* --- the format ----------------------------------------------------------------------------- */

struct format {
    char family[128]; /* whose samples may come now */
    char type[16];
    char seen[8192];    /* names of families, each between blanks */
    char series[65536]; /* each behind a newline */
    double bucket;      /* the last one */
};

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == ':')
        length++;
    assert_true(length > 0 && !isdigit((unsigned char)text[0]));
    return length;
}

static void append(char *list, size_t size, const char *before, const char *text, size_t length)
{
    size_t used = strlen(list);
    assert_true(used + length + 3 < size);
    (void)snprintf(list + used, size - used, "%s%.*s%s", before, (int)length, text, before);
}

static void check_help(struct format *format, const char *line)
{
    char name[130];
    size_t length = name_length(line + 7);
    (void)snprintf(name, sizeof name, " %.*s ", (int)length, line + 7);
    assert_null(strstr(format->seen, name)); /* a family stands in one place */
    append(format->seen, sizeof format->seen, " ", line + 7, length);
    (void)snprintf(format->family, sizeof format->family, "%.*s", (int)length, line + 7);
    assert_int_equal(line[7 + length], ' ');
    assert_true(strlen(line + 8 + length) > 8); /* it says something */
    format->type[0] = '\0';
    format->bucket = 0;
}

static void check_type(struct format *format, const char *line)
{
    size_t length = strlen(format->family);
    assert_int_equal(strncmp(line + 7, format->family, length), 0);
    const char *type = line + 7 + length + 1;
    (void)snprintf(format->type, sizeof format->type, "%s", type);
    assert_true(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0 ||
                strcmp(type, "histogram") == 0);
    bool is_total = length > 6 && strcmp(format->family + length - 6, "_total") == 0;
    assert_int_equal(strcmp(type, "counter") == 0, is_total);
}

/* Behind the labels of a sample; the text at its braces. */
static const char *skip_labels(const char *at)
{
    if (*at != '{')
        return at;
    do {
        at += 1 + name_length(at + 1);
        assert_int_equal(at[0], '=');
        assert_int_equal(at[1], '"');
        for (at += 2; *at != '"'; at += at[0] == '\\' ? 2 : 1)
            assert_int_not_equal(*at, '\0');
        at++;
    } while (*at == ',');
    assert_int_equal(*at, '}');
    return at + 1;
}

static void check_sample(struct format *format, const char *line)
{
    size_t length = name_length(line);
    size_t family = strlen(format->family);
    assert_true(format->type[0] != '\0');
    assert_int_equal(strncmp(line, format->family, family), 0);
    char suffix[32];
    (void)snprintf(suffix, sizeof suffix, "%.*s", (int)(length - family), line + family);
    bool is_histogram = strcmp(format->type, "histogram") == 0;
    assert_int_equal(suffix[0] != '\0', is_histogram);
    const char *after = skip_labels(line + length);
    assert_int_equal(*after, ' ');
    char *end = NULL;
    double value = strtod(after + 1, &end);
    assert_true(end > after + 1 && *end == '\0');
    char *series = mem_format("\n%.*s\n", (int)(after - line), line);
    assert_null(strstr(format->series, series)); /* no series comes twice */
    append(format->series, sizeof format->series, "\n", line, (size_t)(after - line));
    free(series);
    if (strcmp(suffix, "_bucket") == 0) {
        assert_true(value >= format->bucket); /* they are cumulative */
        format->bucket = value;
    }
    if (strcmp(suffix, "_count") == 0)
        assert_true(value == format->bucket); /* the last bucket is +Inf */
}

static void check_format(const char *text)
{
    struct format *format = mem_alloc(1, sizeof *format);
    char *copy = mem_copy(text);
    char *rest = copy;
    assert_int_equal(text[strlen(text) - 1], '\n');
    copy[strlen(copy) - 1] = '\0';
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (strncmp(line, "# HELP ", 7) == 0)
            check_help(format, line);
        else if (strncmp(line, "# TYPE ", 7) == 0)
            check_type(format, line);
        else
            check_sample(format, line);
    }
    free(copy);
    free(format);
}

static void the_text_is_well_formed(void **state)
{
    struct http_kit *kit = *state;
    free(http_kit_submit(kit));
    char *id = http_kit_submit(kit);
    fake_jobs_finish(kit->jobs, id, NULL);
    char *text = scrape(kit);
    check_format(text);
    free(text);
    free(id);
}

static void values_are_escaped_and_odd_numbers_named(void **state)
{
    struct buf out = {0};
    struct metrics_label labels[2] = {{"a", "x\"y\\z\n"}, {"b", ""}};
    (void)state;
    metrics_sample(&out, "m", "", labels, NAN);
    metrics_sample(&out, "m", "_sum", NULL, INFINITY);
    metrics_sample(&out, "m", "", NULL, 9007199254740992.0);
    assert_string_equal(buf_text(&out), "m{a=\"x\\\"y\\\\z\\n\",b=\"\"} NaN\nm_sum +Inf\n"
                                        "m 9.00719925474099e+15\n");
    buf_fini(&out);
}

/* --- the figures ---------------------------------------------------------------------------- */

static void jobs_are_counted_by_state_and_end(void **state)
{
    struct http_kit *kit = *state;
    char *text = scrape(kit);
    assert_true(value_of(text, "sweetspot_jobs{state=\"queued\"}") == 0);
    assert_true(value_of(text, "sweetspot_queue_oldest_seconds") == 0);
    free(text);
    char *done = http_kit_submit(kit);
    char *cancelled = http_kit_submit(kit);
    free(http_kit_submit(kit));
    fake_jobs_finish(kit->jobs, done, NULL);
    char *target = mem_format("/v1/jobs/%s/cancel", cancelled);
    struct line lines[] = {{"POST", target, NULL, NULL, 202, "cancelled"}};
    SPEAK(kit->port, lines);
    text = scrape(kit);
    assert_true(value_of(text, "sweetspot_jobs{state=\"queued\"}") == 1);
    assert_true(value_of(text, "sweetspot_jobs{state=\"waiting\"}") == 0);
    assert_true(value_of(text, "sweetspot_jobs_finished_total{kind=\"backup_sweep\","
                               "outcome=\"succeeded\"}") == 1);
    assert_true(value_of(text, "sweetspot_jobs_finished_total{kind=\"backup_sweep\","
                               "outcome=\"cancelled\"}") == 1);
    assert_true(value_of(text, "sweetspot_job_duration_seconds_count") == 1); /* that started */
    assert_true(value_of(text, "sweetspot_job_duration_seconds_bucket{le=\"1\"}") == 1);
    assert_true(value_of(text, "sweetspot_instance_up{instance=\"sql01\"}") == 1);
    assert_true(value_of(text, "sweetspot_workers{state=\"free\"}") == 4);
    assert_true(value_of(text, "sweetspot_http_request_duration_seconds_count") >= 5);
    assert_true(value_of(text, "sweetspot_store_fsync_seconds_count") >= 4);
    assert_true(value_of(text, "process_open_fds") > 3);
    assert_true(value_of(text, "process_start_time_seconds") > 1.7e9);
    free(text);
    free(target);
    free(done);
    free(cancelled);
}

static void the_rate_is_that_of_the_last_report(void **state)
{
    struct http_kit *kit = *state;
    static const struct {
        const char *report;
        double mib_s;
    } reports[] = {
        {"{\"arms\":[{\"arm\":\"a0\",\"rate_mib_s\":{\"median\":100}},"
         "{\"arm\":\"a1\",\"rate_mib_s\":{\"median\":250.5}}],\"recommendation\":{\"arm\":\"a1\"}}",
         250.5},
        {"{\"arms\":[{\"arm\":\"a0\",\"rate_mib_s\":{\"median\":100}}],\"recommendation\":null}",
         100},
        {"{\"arms\":[{\"arm\":\"a0\",\"rate_mib_s\":{\"median\":null}}]}", 100},
        {"no JSON", 100},
    };
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        char *id = http_kit_submit(kit);
        fake_jobs_finish(kit->jobs, id, reports[i].report);
        char *text = scrape(kit);
        assert_true(value_of(text, "sweetspot_backup_throughput_bytes_per_second"
                                   "{instance=\"sql01\"}") == reports[i].mib_s * 1048576);
        free(text);
        free(id);
    }
}

static int undo_work(struct db *db, void *arg, struct err *err)
{
    for (int i = 0; i < 2; i++) {
        char id[IDS_TEXT_SIZE];
        struct intent_row row = {.id = mem_copy(ids_new(id)),
                                 .job = mem_copy(arg),
                                 .instance = mem_copy("sql01"),
                                 .action = mem_copy("file"),
                                 .object = mem_copy("/tmp/a.bak"),
                                 .state = mem_copy("open")};
        int rc = store_intent_insert(db, &row, err);
        intent_row_fini(&row);
        if (rc < 0 || (i == 1 && store_intent_close(db, id, "undone", NULL, err) < 0))
            return -1;
    }
    return 0;
}

static void what_is_undone_and_what_is_not_is_counted(void **state)
{
    struct http_kit *kit = *state;
    struct err err;
    char *id = http_kit_submit(kit);
    kit_ok(store_write(kit->store, undo_work, id, &err), &err);
    char *text = scrape(kit);
    assert_true(value_of(text, "sweetspot_intents_open") == 1);
    assert_true(value_of(text, "sweetspot_reconcile_undone_total{kind=\"file\"}") == 1);
    free(text);
    free(id);
}

static void a_pause_shows(void **state)
{
    struct http_kit *kit = *state;
    struct line lines[] = {
        {"GET", "/readyz", NULL, NULL, 200, "\"scheduler\":{\"ok\":true,\"detail\":null}"},
        {"POST", "/v1/mode", NULL, "{\"mode\":\"paused\"}", 200, "paused"},
        {"GET", "/readyz", NULL, NULL, 200, "\"scheduler\":{\"ok\":true,\"detail\":\"paused"},
        {"GET", "/metrics", NULL, NULL, 200, "\nsweetspot_paused 1\n"},
        {"GET", "/metrics", "Accept: application/json\r\n", NULL, 406, NULL},
        {"GET", "/metrics",
         "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,"
         "*/*;q=0.1\r\n",
         NULL, 200, "# TYPE"},
    };
    SPEAK(kit->port, lines);
}

/* --- traces --------------------------------------------------------------------------------- */

static void a_trace_is_read_or_ignored(void **state)
{
#define ID "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
    static const struct {
        const char *header;
        bool good;
    } cases[] = {
        {"00-" ID "-" PARENT "-01", true},
        {"cc-" ID "-" PARENT "-01-what-will-be", true},
        {"cc-" ID "-" PARENT "-01.what-will-be", false},
        {"00-" ID "-" PARENT "-01-more", false},
        {"ff-" ID "-" PARENT "-01", false},
        {"00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", false},
        {"00-00000000000000000000000000000000-" PARENT "-01", false},
        {"00-" ID "-0000000000000000-01", false},
        {"00-" ID "-" PARENT, false},
        {"", false},
        {NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char trace[TRACE_ID_SIZE] = "";
        assert_int_equal(trace_id_of(cases[i].header, trace), cases[i].good);
        assert_string_equal(trace, cases[i].good ? ID : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(the_text_is_well_formed),
        cmocka_unit_test(values_are_escaped_and_odd_numbers_named),
        HTTP_TEST(jobs_are_counted_by_state_and_end),
        HTTP_TEST(the_rate_is_that_of_the_last_report),
        HTTP_TEST(what_is_undone_and_what_is_not_is_counted),
        HTTP_TEST(a_pause_shows),
        cmocka_unit_test(a_trace_is_read_or_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
