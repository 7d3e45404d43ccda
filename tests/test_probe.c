/* What two samples around a trial say about it. */
#include "jobs/probe.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct probe plain; /* nothing always shown */

static struct probe_sample sample(int64_t cpu_ms, const char *started, const char *foreign)
{
    struct probe_sample made = {.cpu_ms = cpu_ms, .cpu_count = 8};
    memcpy(made.started, started, strlen(started) + 1);
    memcpy(made.foreign, foreign, strlen(foreign) + 1);
    return made;
}

static void add_wait(struct probe_sample *made, const char *type, int64_t ms, int64_t count)
{
    struct probe_wait *waits = mem_alloc(made->wait_count + 1, sizeof *waits);
    if (made->wait_count > 0)
        memcpy(waits, made->waits, made->wait_count * sizeof *waits);
    free(made->waits);
    made->waits = waits;
    struct probe_wait *wait = &waits[made->wait_count++];
    memcpy(wait->type, type, strlen(type) + 1);
    wait->ms = ms;
    wait->count = count;
}

static void measures_the_difference_of_two_samples(void **state)
{
    (void)state;
    struct probe_sample before = sample(1000, "2026-01-01", "");
    struct probe_sample after = sample(3500, "2026-01-01", "");
    add_wait(&before, "BACKUPIO", 100, 10);
    add_wait(&before, "IDLE", 50, 5);
    add_wait(&after, "BACKUPBUFFER", 90, 9);
    add_wait(&after, "BACKUPIO", 912, 100);
    add_wait(&after, "IDLE", 50, 5);
    struct trial trial = trial_new(1, 1, 0, false);
    trial.status = TRIAL_OK;
    probe_judge(&plain, &before, &after, &trial);
    assert_true(trial.cpu_s == 2.5);
    assert_int_equal(trial.cpu_count, 8);
    assert_int_equal(trial.status, TRIAL_OK);
    cJSON *wanted = jobs_kit_json("[{'type':'BACKUPIO','ms':812,'count':90},"
                                  "{'type':'BACKUPBUFFER','ms':90,'count':9}]");
    assert_true(cJSON_Compare(trial.waits, wanted, true));
    cJSON_Delete(wanted);
    trial_fini(&trial);
    probe_sample_fini(&before);
    probe_sample_fini(&after);
}

static void leaves_unknown_what_went_backwards(void **state)
{
    (void)state;
    struct probe_sample before = sample(5000, "", "");
    struct probe_sample after = sample(10, "", "");
    add_wait(&before, "BACKUPIO", 500, 10);
    add_wait(&after, "BACKUPIO", 20, 1);
    add_wait(&after, "NEW", 20, 1);
    struct trial trial = trial_new(1, 1, 0, false);
    trial.status = TRIAL_OK;
    probe_judge(&plain, &before, &after, &trial);
    assert_true(isnan(trial.cpu_s));
    assert_int_equal(cJSON_GetArraySize(trial.waits), 0);
    assert_int_equal(trial.status, TRIAL_OK);
    trial_fini(&trial);
    probe_sample_fini(&before);
    probe_sample_fini(&after);
}

struct foreign_case {
    const char *started_before, *started_after, *foreign_before, *foreign_after;
    enum trial_status status, wanted;
    const char *note; /* NULL: none */
};

static void contaminates_a_trial_that_was_not_alone(void **state)
{
    (void)state;
    static const struct foreign_case cases[] = {
        {"a", "a", "", "", TRIAL_OK, TRIAL_OK, NULL},
        {"a", "b", "", "", TRIAL_OK, TRIAL_CONTAMINATED, "restarted"},
        {"", "b", "", "", TRIAL_OK, TRIAL_OK, NULL},
        {"a", "", "", "", TRIAL_OK, TRIAL_OK, NULL},
        {"a", "a", "BACKUP DATABASE", "", TRIAL_OK, TRIAL_CONTAMINATED, "BACKUP DATABASE"},
        {"a", "a", "", "RESTORE LOG", TRIAL_OK, TRIAL_CONTAMINATED, "RESTORE LOG"},
        {"a", "b", "", "DBCC", TRIAL_FAILED, TRIAL_FAILED, "DBCC"},
        {"a", "b", "", "DBCC", TRIAL_CANCELLED, TRIAL_CANCELLED, "restarted"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct probe_sample before = sample(1, cases[i].started_before, cases[i].foreign_before);
        struct probe_sample after = sample(2, cases[i].started_after, cases[i].foreign_after);
        struct trial trial = trial_new(1, 1, 0, false);
        trial.status = cases[i].status;
        probe_judge(&plain, &before, &after, &trial);
        assert_int_equal(trial.status, cases[i].wanted);
        char *notes = trial.notes ? json_print(trial.notes) : mem_copy("");
        if (cases[i].note)
            assert_non_null(strstr(notes, cases[i].note));
        else
            assert_int_equal(cJSON_GetArraySize(trial.notes), 0);
        free(notes);
        trial_fini(&trial);
        probe_sample_fini(&before);
        probe_sample_fini(&after);
    }
}

static void contaminates_a_trial_in_which_somebody_elses_backup_ended(void **state)
{
    (void)state;
    static const struct {
        int64_t before, after;
        bool frozen;
        const char *note; /* NULL: it counts */
    } cases[] = {
        {7, 7, false, NULL},
        {7, 9, false, "somebody else's backup ended during this trial"},
        {0, 1, true, "a VSS snapshot froze the server's writes during this trial"},
        {7, 0, false, NULL},  /* msdb was cleaned */
        {-1, 9, false, NULL}, /* msdb cannot be read, or could not be then */
        {7, -1, false, NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct probe_sample before = sample(1000, "", "");
        struct probe_sample after = sample(1000, "", "");
        struct trial trial = trial_new(1, 1, 0, false);
        trial.status = TRIAL_OK;
        before.foreign_set = cases[i].before;
        after.foreign_set = cases[i].after;
        after.foreign_frozen = cases[i].frozen;
        probe_judge(&plain, &before, &after, &trial);
        assert_int_equal(trial.status, cases[i].note ? TRIAL_CONTAMINATED : TRIAL_OK);
        assert_int_equal(cJSON_GetArraySize(trial.notes), cases[i].note ? 1 : 0);
        if (cases[i].note)
            assert_string_equal(cJSON_GetArrayItem(trial.notes, 0)->valuestring, cases[i].note);
        trial_fini(&trial);
        probe_sample_fini(&before);
        probe_sample_fini(&after);
    }
}

/* Rights to look at the server's state are often missing. */
static void leaves_unknown_what_the_server_refuses(void **state)
{
    (void)state;
    struct probe probe = {.absent = {false}};
    struct probe_sample made;
    for (int i = 0; i < PROBE_QUERY_COUNT; i++)
        probe.absent[i] = true;
    probe_take(&probe, NULL, "Sales", &made);
    assert_int_equal(made.cpu_ms, -1);
    assert_int_equal(made.cpu_count, -1);
    assert_string_equal(made.started, "");
    assert_string_equal(made.foreign, "");
    assert_int_equal(made.wait_count, 0);
    struct trial trial = trial_new(1, 1, 0, false);
    trial.status = TRIAL_OK;
    probe_judge(&probe, &made, &made, &trial);
    assert_int_equal(trial.status, TRIAL_OK);
    assert_true(isnan(trial.cpu_s));
    trial_fini(&trial);
    probe_sample_fini(&made);
    probe_fini(&probe);
}

static void compares_log_sequence_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after, *wanted;
    } cases[] = {
        {"{'differential_base_lsn':'5','last_log_backup_lsn':'7'}",
         "{'differential_base_lsn':'5','last_log_backup_lsn':'8'}",
         "{'differential_base_unchanged':true,'log_chain_unchanged':false}"},
        {"{'differential_base_lsn':null,'last_log_backup_lsn':null}",
         "{'differential_base_lsn':null,'last_log_backup_lsn':null}",
         "{'differential_base_unchanged':true,'log_chain_unchanged':true}"},
        {"{'differential_base_lsn':null}", "{'differential_base_lsn':'5'}",
         "{'differential_base_unchanged':false,'log_chain_unchanged':null}"},
        {"{'differential_base_lsn':'5'}", "{}",
         "{'differential_base_unchanged':null,'log_chain_unchanged':null}"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        cJSON *before = jobs_kit_json(cases[i].before);
        cJSON *after = jobs_kit_json(cases[i].after);
        cJSON *wanted = jobs_kit_json(cases[i].wanted);
        cJSON *chain = probe_chain_compare(before, after);
        assert_true(cJSON_Compare(chain, wanted, true));
        cJSON_Delete(chain);
        cJSON_Delete(wanted);
        cJSON_Delete(after);
        cJSON_Delete(before);
    }
    cJSON *chain = probe_chain_compare(NULL, NULL); /* a plan without a chain */
    assert_true(cJSON_IsNull(json_member(chain, "log_chain_unchanged")));
    cJSON_Delete(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_the_difference_of_two_samples),
        cmocka_unit_test(leaves_unknown_what_went_backwards),
        cmocka_unit_test(contaminates_a_trial_that_was_not_alone),
        cmocka_unit_test(contaminates_a_trial_in_which_somebody_elses_backup_ended),
        cmocka_unit_test(leaves_unknown_what_the_server_refuses),
        cmocka_unit_test(compares_log_sequence_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
