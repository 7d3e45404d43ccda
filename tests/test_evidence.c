/* GET /v1/jobs/{id}/evidence and what is made of it again, for every kind. */
#include "jobs/evidence.h"
#include "jobs/kind.h"
#include "server/buf.h"
#include "tests/markup.h"
#include "tests/snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ALLOW                                                                                      \
    "'allow':{'paths':['/var/opt/mssql/backup','/tmp'],'trace_flags':[3042]},"                     \
    "'limits':{'min_free_disk_mib':1}"
#define DISK "{'name':'disk','paths':['/var/opt/mssql/backup']}"
#define TWICE "'design':{'repetitions':2,'warmups':0}"
#define SHORTEST "'design':{'repetitions':1,'warmups':0}"

/* One short job of every kind; a backup that is remembered comes before the history. */
static const char *const jobs[] = {
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales','buffercount':"
    "['default',50,100],'confirm_on':" DISK "}," TWICE "}",
    "{'kind':'backup_throughput','instance':'sql01','parameters':{'databases':['Sales'],"
    "'targets':[" DISK "]}," TWICE "}",
    "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':['Sales'],'target':" DISK
    "}," TWICE "}",
    SNAPSHOTS(ON_ADVENTURE "," PLACES, "," TWICE),
    "{'kind':'backup_history','instance':'sql01','parameters':{'include_copy_only':true}}",
};

static struct harness *house_for_all_kinds(void)
{
    return house_of("{'time_scale':0,'noise':0.03}", ALLOW);
}

static char *text_of(struct harness *house, const char *id, const char *part)
{
    char *target = mem_format("/v1/jobs/%s/%s", id, part);
    char *text = harness_text(house, target, "application/json", 200);
    free(target);
    return text;
}

/* Runs a job to its end; its id. */
static char *run_job(struct harness *house, const char *body)
{
    char *id = harness_submit(house, body);
    cJSON_Delete(harness_wait(house, id));
    return id;
}

/* The evidence of the shortest sweep, the caller's. */
static char *short_evidence(struct harness *house)
{
    char *id = run_job(house, "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':"
                              "'Sales','buffercount':['default',50]}," SHORTEST "}");
    char *text = text_of(house, id, "evidence");
    free(id);
    return text;
}

static char *analysed(const char *evidence_text)
{
    struct evidence evidence;
    struct outcome outcome;
    struct err err = {0};
    if (evidence_read(evidence_text, strlen(evidence_text), true, &evidence, &err) < 0)
        fail_msg("%s", err.msg);
    cJSON *report = evidence_report(&evidence, &outcome);
    char *text = json_print(report);
    cJSON_Delete(report);
    free(outcome.summary);
    evidence_fini(&evidence);
    return text;
}

/* tests/data/evidence.jsonl was made so, with longer designs. */
static void keep(const char *evidence)
{
    const char *path = getenv("SWEETSPOT_TEST_KEEP_EVIDENCE");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    assert_true(fprintf(file, "%s\n", evidence) > 0);
    assert_int_equal(fclose(file), 0);
}

/* As a browser asks for it. */
static void check_page(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/report", id);
    char *page = harness_text(house, target, "text/html,*/*;q=0.8", 200);
    markup_check(page);
    free(page);
    free(target);
}

static void every_kind_gives_the_stored_report_again(void **state)
{
    (void)state;
    size_t kinds = 0;
    struct harness *house = house_for_all_kinds();
    (void)kind_all(&kinds);
    assert_int_equal(kinds, JSON_COUNT(jobs));
    for (size_t i = 0; i < JSON_COUNT(jobs); i++) {
        char *id = run_job(house, jobs[i]);
        char *evidence = text_of(house, id, "evidence");
        char *report = text_of(house, id, "report");
        char *again = analysed(evidence);
        assert_string_equal(again, report);
        check_page(house, id);
        keep(evidence);
        free(again);
        free(report);
        free(evidence);
        free(id);
    }
    harness_stop(house);
}

static void every_kind_and_its_report_have_one_function(void **state)
{
    (void)state;
    size_t count = 0;
    const struct job_kind *const *kinds = kind_all(&count);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(kinds[i]->report, kind_report_of(kinds[i]->name));
    assert_null(kind_report_of("no_kind"));
}

static void a_job_that_was_cut_short_gives_its_report_again(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    inject(house, "{'do':'error','match':'BACKUP DATABASE [Sales]','number':262,'nth':4}");
    char *id = run_job(house, jobs[0]);
    char *evidence = text_of(house, id, "evidence");
    char *report = text_of(house, id, "report");
    char *again = analysed(evidence);
    assert_string_equal(again, report);
    assert_non_null(strstr(report, "nothing is recommended"));
    free(again);
    free(report);
    free(evidence);
    free(id);
    harness_stop(house);
}

static void evidence_does_not_change_and_has_a_tag(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    char *id = run_job(house, jobs[1]);
    char *first = text_of(house, id, "evidence");
    harness_stop_daemon(house);
    harness_start_daemon(house);
    char *second = text_of(house, id, "evidence");
    assert_string_equal(first, second);
    free(first);
    free(second);
    free(id);
    harness_stop(house);
}

static void there_is_none_of_an_unknown_or_a_waiting_job(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    cJSON_Delete(harness_call(house, "GET",
                              "/v1/jobs/01981c5e-7a10-7000-8000-000000000001/evidence", NULL, 404));
    char *id = harness_submit(house, "{'kind':'backup_sweep','instance':'sql01','parameters':"
                                     "{'database':'Sales','buffercount':['default',50]},"
                                     "'not_before':'2099-01-01T00:00:00Z'}");
    char *target = mem_format("/v1/jobs/%s/evidence", id);
    cJSON *problem = harness_call(house, "GET", target, NULL, 404);
    assert_non_null(strstr(text_at(problem, "detail"), "it is waiting"));
    cJSON_Delete(problem);
    free(target);
    free(id);
    harness_stop(house);
}

/* --- the checksum --------------------------------------------------------------------------- */

static bool is_accepted(const char *text, size_t length, bool check)
{
    struct evidence evidence;
    struct err err = {0};
    bool accepted = evidence_read(text, length, check, &evidence, &err) == 0;
    if (accepted)
        evidence_fini(&evidence);
    else
        assert_true(err.msg[0] != '\0');
    return accepted;
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    char *text = short_evidence(house);
    size_t length = strlen(text);
    assert_true(is_accepted(text, length, true));
    for (size_t i = 0; i < 8 * length; i++) {
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
        if (is_accepted(text, length, true))
            fail_msg("bit %zu of byte %zu: \"%.20s\" was taken", i % 8, i / 8, text + i / 8);
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
    }
    for (size_t cut = 1; cut < length; cut++)
        assert_false(is_accepted(text, length - cut, true));
    free(text);
    harness_stop(house);
}

/* Whatever a changed bundle says, it is refused or analysed: nothing breaks. */
static void without_the_checksum_changed_evidence_is_refused_or_analysed(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    size_t taken = 0;
    for (size_t i = 0; i < JSON_COUNT(jobs); i++) {
        char *id = run_job(house, jobs[i]);
        char *text = text_of(house, id, "evidence");
        size_t length = strlen(text);
        for (size_t at_byte = i; at_byte < length; at_byte += 3) {
            struct evidence evidence;
            struct outcome outcome;
            struct err err = {0};
            char kept = text[at_byte];
            text[at_byte] = kept >= '0' && kept <= '9' ? (char)('0' + (kept + 5) % 10) : 'x';
            if (evidence_read(text, length, false, &evidence, &err) == 0) {
                cJSON_Delete(evidence_report(&evidence, &outcome));
                free(outcome.summary);
                evidence_fini(&evidence);
                taken++;
            }
            text[at_byte] = kept;
        }
        free(text);
        free(id);
    }
    assert_true(taken > 0);
    harness_stop(house);
}

static void white_space_may_change_and_nothing_else(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    char *text = short_evidence(house);
    struct buf spaced = {0};
    bool inside = false; /* no text in it has a quote of its own */
    for (const char *byte = text; *byte; byte++) {
        inside ^= *byte == '"';
        buf_add_char(&spaced, *byte);
        if (!inside && (*byte == ',' || *byte == ':'))
            buf_add(&spaced, " \n\t ");
    }
    assert_true(is_accepted(buf_text(&spaced), spaced.length, true));
    char *number = strstr(text, "\"format\":1,");
    memcpy(number, "\"format\":01", 11);
    assert_false(is_accepted(text, strlen(text), false));
    buf_fini(&spaced);
    free(text);
    harness_stop(house);
}

/* --- the client ----------------------------------------------------------------------------- */

/* What `sweetspot analyze OPTIONS FILE` prints on both outputs; its exit status. */
static int analyze(struct harness *house, const char *options, const char *input, char **out_text)
{
    const char *daemon = getenv("SWEETSPOT_TEST_DAEMON");
    assert_non_null(daemon); /* the client lies beside it */
    char *path = mem_format("%s/evidence.jsonl", house->dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(input, file) >= 0);
    assert_int_equal(fclose(file), 0);
    char *folder = mem_copy(daemon);
    *strrchr(folder, '/') = '\0';
    char *command = mem_format("%s/sweetspot analyze %s %s 2>&1", folder, options, path);
    FILE *pipe = popen(command, "re"); /* NOLINT(cert-env33-c): our own program */
    assert_non_null(pipe);
    struct buf text = {0};
    char block[4096];
    size_t bytes;
    while ((bytes = fread(block, 1, sizeof block, pipe)) > 0)
        buf_add_bytes(&text, block, bytes);
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    (void)unlink(path);
    free(command);
    free(folder);
    free(path);
    *out_text = buf_take(&text);
    return WEXITSTATUS(status);
}

static void the_client_prints_one_report_a_line(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    struct buf lines = {0};
    struct buf wanted = {0};
    for (size_t i = 0; i < 2; i++) {
        char *id = run_job(house, jobs[i]);
        char *evidence = text_of(house, id, "evidence");
        char *report = text_of(house, id, "report");
        buf_format(&lines, "%s\n", evidence);
        buf_format(&wanted, "%s\n", report);
        free(report);
        free(evidence);
        free(id);
    }
    char *text = NULL;
    assert_int_equal(analyze(house, "", buf_text(&lines), &text), 0);
    assert_string_equal(text, buf_text(&wanted));
    free(text);
    buf_fini(&lines);
    buf_fini(&wanted);
    harness_stop(house);
}

static void the_client_writes_reports_for_people_too(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    char *good = short_evidence(house);
    char *twice = mem_format("%s\n%s\n", good, good);
    char *text = NULL;
    assert_int_equal(analyze(house, "--markdown", good, &text), 0);
    assert_non_null(strstr(text, "\n## Settings\n"));
    free(text);
    assert_int_equal(analyze(house, "--html", good, &text), 0);
    assert_non_null(strstr(text, "<h2>Settings</h2>"));
    free(text);
    assert_int_equal(analyze(house, "--html", twice, &text), 4);
    assert_non_null(strstr(text, "line 2: --html makes one page"));
    free(text);
    free(twice);
    free(good);
    harness_stop(house);
}

static void the_client_names_bad_lines_and_goes_on(void **state)
{
    (void)state;
    struct harness *house = house_for_all_kinds();
    char *good = short_evidence(house);
    char *bad = mem_copy(good);
    char *digit = strstr(bad, "\"elapsed_s\":");
    digit += strlen("\"elapsed_s\":");
    *digit = *digit == '9' ? '1' : '9';
    char *input = mem_format("{\"format\":1}\nnot json\n\n%s\n%s\n", bad, good);
    char *report = analysed(good);
    char *text = NULL;
    assert_int_equal(analyze(house, "", input, &text), 4);
    assert_non_null(strstr(text, "line 1: its last member must be the checksum"));
    assert_non_null(strstr(text, "line 2: byte 1: expected a value"));
    assert_non_null(strstr(text, "line 4: the checksum is wrong"));
    assert_null(strstr(text, "line 3"));
    assert_null(strstr(text, "line 5"));
    assert_non_null(strstr(text, report));
    free(text);

    assert_int_equal(analyze(house, "--no-checksum", bad, &text), 0);
    assert_non_null(strstr(text, "\"arms\""));
    free(text);
    assert_int_equal(analyze(house, "", "\n", &text), 4);
    assert_non_null(strstr(text, "holds no evidence"));
    free(text);
    free(report);
    free(input);
    free(bad);
    free(good);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_gives_the_stored_report_again),
        cmocka_unit_test(every_kind_and_its_report_have_one_function),
        cmocka_unit_test(a_job_that_was_cut_short_gives_its_report_again),
        cmocka_unit_test(evidence_does_not_change_and_has_a_tag),
        cmocka_unit_test(there_is_none_of_an_unknown_or_a_waiting_job),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(without_the_checksum_changed_evidence_is_refused_or_analysed),
        cmocka_unit_test(white_space_may_change_and_nothing_else),
        cmocka_unit_test(the_client_prints_one_report_a_line),
        cmocka_unit_test(the_client_writes_reports_for_people_too),
        cmocka_unit_test(the_client_names_bad_lines_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
