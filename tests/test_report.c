#include "jobs/measure/report.h"
#include "server/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define BLOCKS 5
#define ARMS 3

/* --- a sweep of three settings ---------------------------------------------------------------- */

struct fixture {
    struct server_facts facts;
    struct design design;
    struct arm arms[ARMS];
    struct trial trials[64];
    struct bundle bundle;
};

static const char *const labels[ARMS] = {"default", "BUFFERCOUNT=50", "BUFFERCOUNT=100"};
static const double memories[ARMS] = {NAN, 50, 100};

static void add_trial(struct fixture *it, int arm, int block, double seconds)
{
    struct trial *trial = &it->trials[it->bundle.trial_count++];
    *trial = trial_new((int64_t)it->bundle.trial_count, block, arm, block == 0);
    trial->started_at = 1796093588000;
    trial->server_s = seconds;
    trial->elapsed_s = seconds + 0.01;
    trial->pages = 1280000; /* 10000 MiB */
    trial->bytes = trial->pages * 8192;
    trial->file_bytes = 0;
    trial->cpu_s = seconds * 2;
    trial->cpu_count = 8;
    trial->waits = cJSON_Parse(block % 2 ? "[{\"type\":\"BACKUPIO\",\"ms\":100,\"count\":3},"
                                           "{\"type\":\"ASYNC_IO_COMPLETION\",\"ms\":900}]"
                                         : "[{\"type\":\"BACKUPIO\",\"ms\":120,\"count\":3}]");
}

static void set_up(struct fixture *it)
{
    static const double seconds[ARMS] = {20, 11, 10.9};
    static const double ripple[] = {1.001, 0.999, 1.002, 0.998, 1.0, 1.0015, 0.9985};
    memset(it, 0, sizeof *it);
    it->facts = (struct server_facts){.major = 16,
                                      .version = mem_copy("16.0.4100.1"),
                                      .edition = mem_copy("Developer Edition (64-bit)"),
                                      .platform = mem_copy("Linux"),
                                      .cpu_count = 8,
                                      .memory_mib = 16384};
    it->design = (struct design){
        .repetitions = BLOCKS, .warmups = 1, .seed = 42, .confidence = 0.95, .tolerance = 0.02};
    it->bundle = (struct bundle){.job = "0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
                                 .kind = "backup_sweep",
                                 .instance = "sql01",
                                 .facts = &it->facts,
                                 .authenticated = true,
                                 .design = &it->design,
                                 .arms = it->arms,
                                 .arm_count = ARMS,
                                 .trials = it->trials};
    for (int a = 0; a < ARMS; a++)
        it->arms[a] = (struct arm){
            .index = a,
            .label = mem_copy(labels[a]),
            .settings = cJSON_Parse("{\"target\":\"NUL\",\"buffercount\":\"default\"}"),
            .baseline = a == 0,
            .against = 0,
            .buffer_memory_mib = memories[a]};
    for (int b = 0; b <= BLOCKS; b++)
        for (int a = 0; a < ARMS; a++)
            add_trial(it, a, b, seconds[a] * ripple[(a * 3 + b * 5) % 7]);
}

static void tear_down(struct fixture *it)
{
    for (int a = 0; a < ARMS; a++)
        arm_fini(&it->arms[a]);
    for (size_t i = 0; i < it->bundle.trial_count; i++)
        trial_fini(&it->trials[i]);
    server_facts_fini(&it->facts);
}

static cJSON *make(struct fixture *it)
{
    struct analysis analysis;
    analysis_make(&it->bundle, &analysis);
    cJSON *report = report_make(&it->bundle, &analysis);
    analysis_fini(&analysis);
    return report;
}

static bool warns(const cJSON *report, const char *words)
{
    const cJSON *warning = NULL;
    cJSON_ArrayForEach(warning, json_member(report, "warnings")) {
        if (strstr(warning->valuestring, words))
            return true;
    }
    return false;
}

static void assert_warns(const cJSON *report, const char *words)
{
    if (warns(report, words))
        return;
    char *printed = json_print(json_member(report, "warnings"));
    print_error("no warning says \"%s\": %s\n", words, printed);
    free(printed);
    fail();
}

static double number_at(const cJSON *tree, const char *first, int index, const char *second,
                        const char *third)
{
    const cJSON *row = cJSON_GetArrayItem(json_member(tree, first), index);
    const cJSON *value = json_member(row, second);
    value = third ? json_member(value, third) : value;
    return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

static void recommend(cJSON *report, bool keep_default)
{
    const char *text =
        "{\"arm\":\"a1\",\"settings\":{\"buffercount\":50},\"interval\":{\"buffercount\":"
        "[50,100]},\"keep_default\":false,\"reason\":\"the cheapest that keeps up\","
        "\"buffer_memory_mib\":50,\"tsql\":\"BACKUP DATABASE [a`b] TO DISK = N'```'\","
        "\"ola\":\"EXECUTE dbo.DatabaseBackup\",\"dbatools\":\"Backup-DbaDatabase\"}";
    cJSON *recommendation = cJSON_Parse(text);
    if (keep_default)
        (void)cJSON_ReplaceItemInObject(recommendation, "keep_default", cJSON_CreateTrue());
    (void)cJSON_ReplaceItemInObjectCaseSensitive(report, "recommendation", recommendation);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */

static void a_report_has_the_members_of_the_contract(void **state)
{
    (void)state;
    static const char *const members[] = {"job",      "kind",        "instance",       "design",
                                          "arms",     "comparisons", "recommendation", "baseline",
                                          "warnings", "left_behind", "chain"};
    static const char *const arm_members[] = {
        "arm",          "label",     "settings",   "baseline", "n",           "failed",
        "contaminated", "elapsed_s", "rate_mib_s", "cpu_s",    "cpu_percent", "buffer_memory_mib",
        "file_bytes",   "waits"};
    struct fixture it;
    set_up(&it);
    cJSON *report = make(&it);
    for (size_t i = 0; i < COUNT(members); i++)
        assert_non_null(json_member(report, members[i]));
    const cJSON *arm = cJSON_GetArrayItem(json_member(report, "arms"), 1);
    for (size_t i = 0; i < COUNT(arm_members); i++)
        assert_non_null(json_member(arm, arm_members[i]));
    assert_true(number_at(report, "arms", 1, "n", NULL) == BLOCKS);
    assert_true(number_at(report, "arms", 1, "rate_mib_s", "level") == 0.9375);
    assert_true(fabs(number_at(report, "arms", 1, "rate_mib_s", "median") - 909) < 3);
    assert_true(fabs(number_at(report, "arms", 1, "cpu_percent", "median") - 25) < 0.1);
    assert_true(number_at(report, "arms", 1, "buffer_memory_mib", NULL) == 50);
    assert_true(isnan(number_at(report, "arms", 0, "buffer_memory_mib", NULL)));
    assert_true(fabs(number_at(report, "comparisons", 0, "ratio", NULL) - 1.818) < 0.01);
    assert_true(json_member(json_member(report, "design"), "blocks")->valuedouble == BLOCKS);
    cJSON_Delete(report);
    tear_down(&it);
}

static void the_median_can_be_found_among_the_trials(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    cJSON *report = make(&it);
    int seq = (int)number_at(report, "arms", 2, "median_seq", NULL);
    assert_in_range(seq, 4, 18);
    assert_int_equal(it.trials[seq - 1].arm, 2);
    double rate = trial_rate(&it.trials[seq - 1]);
    assert_true(fabs(rate - number_at(report, "arms", 2, "rate_mib_s", "median")) < 0.01);
    cJSON_Delete(report);
    tear_down(&it);
}

static void waits_are_medians_with_zero_where_they_did_not_occur(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    cJSON *report = make(&it);
    const cJSON *waits = json_member(cJSON_GetArrayItem(json_member(report, "arms"), 0), "waits");
    /* ASYNC_IO_COMPLETION: 900 in blocks 1, 3, 5 */
    assert_int_equal(cJSON_GetArraySize(waits), 2);
    assert_string_equal(json_member(cJSON_GetArrayItem(waits, 0), "type")->valuestring,
                        "ASYNC_IO_COMPLETION");
    assert_true(json_member(cJSON_GetArrayItem(waits, 0), "ms")->valuedouble == 900);
    assert_true(json_member(cJSON_GetArrayItem(waits, 1), "ms")->valuedouble == 100);
    cJSON_Delete(report);
    tear_down(&it);
}

static void what_is_unknown_is_null_and_never_nan(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    for (size_t i = 0; i < it.bundle.trial_count; i++) {
        it.trials[i].status = i % 2 ? TRIAL_FAILED : TRIAL_CANCELLED;
        it.trials[i].cpu_s = NAN;
    }
    it.arms[1].buffer_memory_mib = INFINITY;
    cJSON *report = make(&it);
    char *printed = json_print(report);
    assert_null(strstr(printed, "nan"));
    assert_null(strstr(printed, "inf"));
    assert_true(number_at(report, "arms", 1, "n", NULL) == 0);
    assert_true(isnan(number_at(report, "arms", 1, "rate_mib_s", "median")));
    free(printed);
    char *markdown = report_markdown(report);
    assert_null(strstr(markdown, "nan"));
    free(markdown);
    cJSON_Delete(report);
    tear_down(&it);
}

static void the_same_bundle_gives_the_same_bytes(void **state)
{
    (void)state;
    struct fixture one;
    struct fixture two;
    set_up(&one);
    set_up(&two);
    cJSON *first = make(&one);
    cJSON *second = make(&two);
    char *first_text = json_print(first);
    char *second_text = json_print(second);
    assert_string_equal(first_text, second_text);
    free(first_text);
    free(second_text);
    cJSON_Delete(first);
    cJSON_Delete(second);
    tear_down(&one);
    tear_down(&two);
}

/* --- warnings ------------------------------------------------------------------------------------
 */

static void a_quiet_sweep_warns_of_its_few_runs_only(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    cJSON *report = make(&it);
    assert_warns(report, "5 runs allow an interval of at most 93.75 %");
    assert_int_equal(cJSON_GetArraySize(json_member(report, "warnings")), 1);
    cJSON_Delete(report);
    tear_down(&it);
}

static void what_weakens_a_report_is_said(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    it.facts.simulated = true;
    it.bundle.authenticated = false;
    it.design.order = DESIGN_SEQUENTIAL;
    for (size_t i = 0; i < it.bundle.trial_count; i++)
        if (it.trials[i].arm == 2)
            it.trials[i].pages += 100000;
    it.trials[6].elapsed_s += 3;
    trial_note(&it.trials[7], TRIAL_NOTE_PRINTED_RATE);
    it.trials[10].server_s *= 2;
    it.trials[10].elapsed_s *= 2;
    add_trial(&it, 1, 3, 30);
    it.trials[18].status = TRIAL_CONTAMINATED;
    add_trial(&it, 1, 3, 30);
    it.trials[19].status = TRIAL_FAILED;
    it.trials[19].error_number = 701;
    it.trials[19].error_text = mem_copy("insufficient memory");
    cJSON *report = make(&it);
    assert_warns(report, "SIMULATED");
    assert_warns(report, "not authenticated");
    assert_warns(report, "fixed order");
    assert_warns(report, "BUFFERCOUNT=100 read 1380000 pages, default 1280000");
    assert_warns(report, "differ by more than 5 % (most in trial 7: 3.01 s)");
    assert_warns(report, TRIAL_NOTE_PRINTED_RATE);
    assert_warns(report, "1 trial lay too far");
    assert_warns(report, "BUFFERCOUNT=50 in block 3");
    assert_warns(report, "1 trial ran beside other work");
    assert_warns(report, "BUFFERCOUNT=50 failed in 1 trial (error 701: insufficient memory)");
    cJSON_Delete(report);
    tear_down(&it);
}

static void very_short_runs_are_said_to_be(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    for (size_t i = 0; i < it.bundle.trial_count; i++) {
        it.trials[i].server_s /= 100;
        it.trials[i].elapsed_s = it.trials[i].server_s;
    }
    cJSON *report = make(&it);
    assert_warns(report, "The shortest runs took 0.109 s");
    cJSON_Delete(report);
    tear_down(&it);
}

/* --- Markdown ------------------------------------------------------------------------------------
 */

static void assert_says(const char *markdown, const char *words)
{
    if (strstr(markdown, words))
        return;
    print_error("\"%s\" is missing in:\n%s\n", words, markdown);
    fail();
}

static void the_verdict_comes_first_in_words(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    cJSON *report = make(&it);

    char *markdown = report_markdown(report);
    assert_ptr_equal(strstr(markdown, "**No recommendation**: the data do not decide"), markdown);
    free(markdown);

    (void)cJSON_AddStringToObject(report, "no_recommendation", "every arm failed.");
    markdown = report_markdown(report);
    assert_ptr_equal(strstr(markdown, "**No recommendation**: every arm failed."), markdown);
    free(markdown);

    recommend(report, true);
    markdown = report_markdown(report);
    assert_ptr_equal(strstr(markdown, "**Keep the default**: the data do not show that any setting "
                                      "is more than 2 % faster. The default here: "),
                     markdown);
    free(markdown);

    recommend(report, false);
    markdown = report_markdown(report);
    assert_ptr_equal(strstr(markdown,
                            "**BUFFERCOUNT=50** reads 1.82 times as fast as the default (95 % "
                            "interval 1.81 to 1.82) and takes 50 MiB of buffers. The default "
                            "here: BUFFERCOUNT not sent, NO_COMPRESSION.\n"),
                     markdown);
    free(markdown);
    cJSON_Delete(report);
    tear_down(&it);
}

static void the_report_reads_from_top_to_bottom(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    it.facts.simulated = true;
    cJSON *report = make(&it);
    recommend(report, false);
    (void)cJSON_AddItemToArray(cJSON_GetObjectItem(report, "left_behind"),
                               cJSON_CreateString("D:\\Backup\\x.bak"));
    (void)cJSON_ReplaceItemInObject(
        report, "chain",
        cJSON_Parse("{\"differential_base_unchanged\":true,\"log_chain_unchanged\":false}"));
    (void)cJSON_ReplaceItemInObject(
        report, "baseline",
        cJSON_Parse("{\"job\":\"0193\",\"ratio\":0.97,\"low\":0.94,\"high\":1.0,\"verdict\":"
                    "\"no_difference\"}"));
    char *markdown = report_markdown(report);
    static const char *const in_order[] = {
        "**BUFFERCOUNT=50** reads",
        "> **SIMULATED SERVER.**",
        "Instance **sql01**, SQL Server 16.0.4100.1",
        "## Settings",
        "| default | ",
        "| baseline |",
        "| BUFFERCOUNT=50 | ",
        "| 1.82× | 50 | 25 % | 5 |",
        "5 runs give 93.75 %",
        "## Comparisons",
        "| < 0.0001 | faster |",
        "## Recommendation",
        "The data cannot tell apart from the best: buffercount 50 to 100.",
        "a restore with the same options takes them too",
        "What follows is meant for your regular backups: it has no COPY_ONLY",
        "T-SQL:\n\n````sql\nBACKUP DATABASE [a`b] TO DISK = N'```'\n````\n",
        "Ola Hallengren's DatabaseBackup:\n\n```sql\n",
        "dbatools:\n\n```powershell\n",
        "## Against an earlier job",
        "0.970 times as fast as in job 0193 (0.940 to 1.000)",
        "## Warnings",
        "## Left behind",
        "D:\\\\Backup\\\\x.bak",
        "The differential base is unchanged. **The log chain changed during the job.**",
        "Design: 5 blocks in random order within each block, seed 42, confidence 95 %,",
        " tolerance 2 %.",
    };
    const char *at = markdown;
    for (size_t i = 0; i < COUNT(in_order); i++) {
        const char *found = strstr(at, in_order[i]);
        if (!found)
            fail_msg("\"%s\" is missing or too early in:\n%s", in_order[i], markdown);
        else
            at = found;
    }
    assert_string_equal(markdown + strlen(markdown) - strlen("tolerance 2 %.\n"),
                        "tolerance 2 %.\n");
    free(markdown);
    cJSON_Delete(report);
    tear_down(&it);
}

static void text_from_outside_stays_text(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it);
    mem_replace(&it.arms[1].label, "<script>|**x**|\n# y [a](b) `c`");
    it.bundle.instance = "a_b<img>";
    cJSON *report = make(&it);
    report_warn(report, "- 1. <b>%s</b>", "x");
    report_warn(report, "12. x");
    char *markdown = report_markdown(report);
    assert_says(markdown, "\\<script\\>\\|\\*\\*x\\*\\*\\| \\# y \\[a\\](b) \\`c\\`");
    assert_says(markdown, "a\\_b\\<img\\>");
    assert_says(markdown, "- \\- 1. \\<b\\>x\\</b\\>\n");
    assert_says(markdown, "- 12\\. x\n");
    for (const char *at = strchr(markdown, '<'); at; at = strchr(at + 1, '<'))
        assert_true(at[-1] == '\\' || at[1] == ' ');
    assert_null(strstr(markdown, "\n# y"));
    free(markdown);
    cJSON_Delete(report);
    tear_down(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_has_the_members_of_the_contract),
        cmocka_unit_test(the_median_can_be_found_among_the_trials),
        cmocka_unit_test(waits_are_medians_with_zero_where_they_did_not_occur),
        cmocka_unit_test(what_is_unknown_is_null_and_never_nan),
        cmocka_unit_test(the_same_bundle_gives_the_same_bytes),
        cmocka_unit_test(a_quiet_sweep_warns_of_its_few_runs_only),
        cmocka_unit_test(what_weakens_a_report_is_said),
        cmocka_unit_test(very_short_runs_are_said_to_be),
        cmocka_unit_test(the_verdict_comes_first_in_words),
        cmocka_unit_test(the_report_reads_from_top_to_bottom),
        cmocka_unit_test(text_from_outside_stays_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
