/* The parameters of backup_sweep: which arms they make, and what is refused before anything runs.
 */
#include "jobs/definition.h"
#include "jobs/kind.h"
#include "jobs/kinds/sweep.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- arms ---------------------------------------------------------------------------------- */

struct arms {
    cJSON *parameters;
    struct sweep sweep;
    struct plan plan;
};

static struct arms arms_of(const char *parameters)
{
    struct arms arms = {.parameters = jobs_kit_json(parameters)};
    struct json_faults faults = {0};
    sweep_read(arms.parameters, &arms.sweep, &faults);
    jobs_kit_expect_none(&faults);
    sweep_add_arms(&arms.sweep, &arms.plan);
    return arms;
}

static void arms_fini(struct arms *arms)
{
    plan_fini(&arms->plan);
    cJSON_Delete(arms->parameters);
}

static const char *setting(const struct arms *arms, size_t arm)
{
    static char text[2000];
    char *printed = json_print(arms->plan.arms[arm].settings);
    size_t length = strlen(printed) < sizeof text ? strlen(printed) : sizeof text - 1;
    memcpy(text, printed, length);
    text[length] = '\0';
    free(printed);
    return text;
}

/* What must hold for every plan. */
static void expect_sound(const struct arms *arms)
{
    const struct plan *plan = &arms->plan;
    assert_int_equal(plan->arm_count, sweep_arm_count(&arms->sweep));
    assert_true(plan->arms[0].baseline);
    for (size_t i = 0; i < plan->arm_count; i++) {
        const struct arm *arm = &plan->arms[i];
        const struct arm *base = &plan->arms[arm->against];
        assert_int_equal(arm->index, i);
        assert_true(base->baseline);
        assert_true(base->index <= arm->index);
        assert_int_equal(arm->baseline, arm->against == arm->index);
        static const char *const same[] = {"target", "database", "files", "compression"};
        for (size_t s = 0; s < JSON_COUNT(same); s++) {
            const cJSON *own = json_member(arm->settings, same[s]);
            const cJSON *theirs = json_member(base->settings, same[s]);
            assert_true((!own && !theirs) || cJSON_Compare(own, theirs, true));
        }
        assert_non_null(json_member(arm->settings, "target"));
        assert_non_null(json_member(arm->settings, "database"));
        for (size_t other = 0; other < i; other++) {
            assert_false(cJSON_Compare(arm->settings, plan->arms[other].settings, true));
            assert_string_not_equal(arm->label, plan->arms[other].label);
        }
    }
}

static void makes_one_arm_of_a_database_alone(void **state)
{
    (void)state;
    struct arms arms = arms_of("{'database':'Sales'}");
    expect_sound(&arms);
    assert_int_equal(arms.plan.arm_count, 1);
    assert_string_equal(setting(&arms, 0), "{\"target\":\"NUL\",\"database\":\"Sales\"}");
    assert_string_equal(arms.plan.arms[0].label, "default");
    assert_true(isnan(arms.plan.arms[0].buffer_memory_mib));
    arms_fini(&arms);
}

static void adds_the_baseline_when_the_lists_lack_it(void **state)
{
    (void)state;
    static const struct {
        const char *parameters;
        size_t count;
    } cases[] = {
        {"{'database':'S','buffercount':[7,50]}", 3},
        {"{'database':'S','buffercount':['default',7,50]}", 3},
        {"{'database':'S','buffercount':[7,'default'],'blocksize':[4096]}", 3},
        {"{'database':'S','buffercount':[7,'default'],'blocksize':['default',4096]}", 4},
        {"{'database':'S','buffercount':['default']}", 1},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct arms arms = arms_of(cases[i].parameters);
        expect_sound(&arms);
        assert_int_equal(arms.plan.arm_count, cases[i].count);
        arms_fini(&arms);
    }
}

static void makes_a_baseline_per_target_files_and_compression(void **state)
{
    (void)state;
    struct arms arms = arms_of("{'database':'S','targets':[{'name':'a','paths':['/a']},"
                               "{'name':'b','paths':['NUL']}],'files':[1,4],"
                               "'compression':['off','on','default'],'buffercount':[50],"
                               "'maxtransfersize':['default',4194304]}");
    expect_sound(&arms);
    size_t baselines = 0;
    for (size_t i = 0; i < arms.plan.arm_count; i++)
        baselines += arms.plan.arms[i].baseline;
    assert_int_equal(baselines, 2 * 2 * 3);
    assert_int_equal(arms.plan.arm_count, 2 * 2 * 3 * (1 + 2));
    assert_string_equal(setting(&arms, 2),
                        "{\"buffercount\":50,\"maxtransfersize\":4194304,\"files\":1,"
                        "\"compression\":\"off\",\"target\":\"a\",\"database\":\"S\"}");
    assert_string_equal(setting(&arms, 0),
                        "{\"buffercount\":\"default\",\"maxtransfersize\":\"default\",\"files\":1,"
                        "\"compression\":\"off\",\"target\":\"a\",\"database\":\"S\"}");
    arms_fini(&arms);
}

static void names_in_labels_what_differs_between_the_arms(void **state)
{
    (void)state;
    static const struct {
        const char *parameters;
        size_t arm;
        const char *label;
    } cases[] = {
        {"{'database':'S','buffercount':[50]}", 1, "BUFFERCOUNT=50"},
        {"{'database':'S','buffercount':[50],'maxtransfersize':[65536]}", 1,
         "BUFFERCOUNT=50, MAXTRANSFERSIZE=65536"},
        {"{'database':'S','blocksize':[512],'compression':['on']}", 1, "BLOCKSIZE=512"},
        {"{'database':'S','compression':['on','off']}", 0, "default, compression on"},
        {"{'database':'S','files':[1,2]}", 0, "default, 1 file"},
        {"{'database':'S','files':[1,2]}", 1, "default, 2 files"},
        {"{'database':'S','targets':[{'name':'a b','paths':['/a']},{'name':'c','paths':['/c']}]}",
         1, "default, to c"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct arms arms = arms_of(cases[i].parameters);
        expect_sound(&arms);
        assert_string_equal(arms.plan.arms[cases[i].arm].label, cases[i].label);
        arms_fini(&arms);
    }
}

static void takes_the_files_of_a_target_into_the_settings(void **state)
{
    (void)state;
    struct arms arms = arms_of("{'database':'S','targets':[{'name':'a','paths':['/a','/b'],"
                               "'files':4},{'name':'c','paths':['/c']}]}");
    expect_sound(&arms);
    assert_string_equal(setting(&arms, 0), "{\"files\":4,\"target\":\"a\",\"database\":\"S\"}");
    assert_string_equal(setting(&arms, 1), "{\"target\":\"c\",\"database\":\"S\"}");
    arms_fini(&arms);
}

static void counts_the_memory_of_the_buffers(void **state)
{
    (void)state;
    static const struct {
        const char *parameters;
        double mib;
    } cases[] = {
        {"{'database':'S','buffercount':[50]}", 50},
        {"{'database':'S','buffercount':[50],'compression':['on']}", 150},
        {"{'database':'S','buffercount':[50],'compression':['default']}", 150},
        {"{'database':'S','buffercount':[50],'maxtransfersize':[4194304]}", 200},
        {"{'database':'S','buffercount':[16],'maxtransfersize':[65536]}", 1},
        {"{'database':'S','buffercount':[600],'maxtransfersize':[4194304],'compression':['ZSTD']}",
         7200},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct arms arms = arms_of(cases[i].parameters);
        assert_true(arms.plan.arms[1].buffer_memory_mib == cases[i].mib);
        arms_fini(&arms);
    }
    struct arms arms = arms_of("{'database':'S','maxtransfersize':[4194304]}");
    assert_true(isnan(arms.plan.arms[1].buffer_memory_mib));
    arms_fini(&arms);
}

static void repeats_default_and_winner_where_it_is_confirmed(void **state)
{
    (void)state;
    struct arms arms = arms_of("{'database':'S','buffercount':[50,100],'confirm_on':"
                               "{'name':'disk','paths':['/a','/b'],'files':2}}");
    int first = sweep_add_confirmation(&arms.sweep, &arms.plan, 0, -1);
    int second = sweep_add_confirmation(&arms.sweep, &arms.plan, 2, first);
    assert_int_equal(first, 3);
    assert_int_equal(second, 4);
    const struct arm *base = &arms.plan.arms[first];
    const struct arm *like = &arms.plan.arms[second];
    assert_true(base->baseline);
    assert_int_equal(base->against, first);
    assert_false(like->baseline);
    assert_int_equal(like->against, first);
    assert_true(like->buffer_memory_mib == 100);
    assert_string_equal(like->label, "BUFFERCOUNT=100, to disk");
    cJSON *wanted = jobs_kit_json("{'buffercount':100,'files':2,'target':'disk','database':'S'}");
    assert_true(cJSON_Compare(like->settings, wanted, true));
    cJSON_Delete(wanted);
    arms_fini(&arms);
}

static void keeps_swept_files_when_it_confirms(void **state)
{
    (void)state;
    struct arms arms = arms_of("{'database':'S','files':[1,4],'buffercount':[50],'confirm_on':"
                               "{'name':'disk','paths':['/a']}}");
    int arm = sweep_add_confirmation(&arms.sweep, &arms.plan, 3, -1);
    const cJSON *files = json_member(arms.plan.arms[arm].settings, "files");
    assert_int_equal(cJSON_GetNumberValue(files), 4);
    arms_fini(&arms);
}

/* --- faults -------------------------------------------------------------------------------- */

static void check(const char *parameters, const char *const *job_changes,
                  const char *const *instance_changes, struct json_faults *faults)
{
    struct definition definition;
    struct instance instance = {0};
    struct json_faults own = {0};
    struct err err = {0};
    cJSON *job = jobs_kit_json(JOBS_KIT_JOB);
    jobs_kit_set(job, "/parameters", parameters);
    for (; job_changes && job_changes[0]; job_changes += 2)
        jobs_kit_set(job, job_changes[0], job_changes[1]);
    cJSON *tree = jobs_kit_json(JOBS_KIT_INSTANCE);
    for (; instance_changes && instance_changes[0]; instance_changes += 2)
        jobs_kit_set(tree, instance_changes[0], instance_changes[1]);
    char *text = json_print(tree);
    assert_int_equal(instance_load(text, &instance, &err), 0);
    assert_int_equal(definition_read(job, &definition, &own), 0);
    definition.kind->check(&definition, &instance, faults);
    instance_fini(&instance);
    cJSON_Delete(tree);
    cJSON_Delete(job);
    free(text);
}

struct wrong {
    const char *parameters, *fault, *words;
};

/* clang-format off */
static const struct wrong wrongs[] = {
    {"{}", "/parameters/database", "required"},
    {"{'database':''}", "/parameters/database", "1 to 128"},
    {"{'database':'a\\tb'}", "/parameters/database", "control characters"},
    {"{'database':'TempDB'}", "/parameters/database", "tempdb"},
    {"{'database':'S','buffers':[7]}", "/parameters/buffers", "buffercount"},
    {"{'database':'S','buffercount':[]}", "/parameters/buffercount", "1 to 256"},
    {"{'database':'S','buffercount':50}", "/parameters/buffercount", ""},
    {"{'database':'S','buffercount':['default',7,50,0]}", "/parameters/buffercount/3", "positive integer"},
    {"{'database':'S','buffercount':[1,2,3,4,5,6,-7]}", "/parameters/buffercount/6", "positive integer"},
    {"{'database':'S','buffercount':[0,-1,-2,-3,-4,-5,-6]}", "/parameters/buffercount/6", "positive integer"},
    {"{'database':'S','buffercount':[1.5]}", "/parameters/buffercount/0", "positive integer"},
    {"{'database':'S','buffercount':[1e15]}", "/parameters/buffercount/0", "2147483647"},
    {"{'database':'S','buffercount':['seven']}", "/parameters/buffercount/0", "\"default\""},
    {"{'database':'S','buffercount':[null]}", "/parameters/buffercount/0", "\"default\""},
    {"{'database':'S','buffercount':[7,50,7]}", "/parameters/buffercount/2", "twice"},
    {"{'database':'S','buffercount':[7,7.0]}", "/parameters/buffercount/1", "twice"},
    {"{'database':'S','buffercount':['default','default']}", "/parameters/buffercount/1", "twice"},
    {"{'database':'S','maxtransfersize':[65537]}", "/parameters/maxtransfersize/0", "multiple of 65536"},
    {"{'database':'S','maxtransfersize':[4259840]}", "/parameters/maxtransfersize/0", "4194304"},
    {"{'database':'S','maxtransfersize':[1e300]}", "/parameters/maxtransfersize/0", "multiple of 65536"},
    {"{'database':'S','blocksize':[65536,1000]}", "/parameters/blocksize/1", "512, 1024"},
    {"{'database':'S','files':[0]}", "/parameters/files/0", "1 to 64"},
    {"{'database':'S','files':[1,65]}", "/parameters/files/1", "1 to 64"},
    {"{'database':'S','files':['default']}", "/parameters/files/0", "1 to 64"},
    {"{'database':'S','files':[2,2]}", "/parameters/files/1", "twice"},
    {"{'database':'S','compression':['zip']}", "/parameters/compression/0", "MS_XPRESS"},
    {"{'database':'S','compression':['ON']}", "/parameters/compression/0", "on"},
    {"{'database':'S','compression':[true]}", "/parameters/compression/0", "MS_XPRESS"},
    {"{'database':'S','compression':['on','on']}", "/parameters/compression/1", "twice"},
    {"{'database':'S','targets':[]}", "/parameters/targets", "1 to 16"},
    {"{'database':'S','targets':['NUL']}", "/parameters/targets/0", ""},
    {"{'database':'S','targets':[{'paths':['NUL']}]}", "/parameters/targets/0/name", "required"},
    {"{'database':'S','targets':[{'name':'a'}]}", "/parameters/targets/0/paths", "required"},
    {"{'database':'S','targets':[{'name':'a','paths':[]}]}", "/parameters/targets/0/paths", "1 to 64"},
    {"{'database':'S','targets':[{'name':'a','paths':[5]}]}", "/parameters/targets/0/paths/0", "folder"},
    {"{'database':'S','targets':[{'name':'a','paths':['/backup','NUL']}]}", "/parameters/targets/0/paths/1", "mixed"},
    {"{'database':'S','targets':[{'name':'a','paths':['/other']}]}", "/parameters/targets/0/paths/0", "allow.paths"},
    {"{'database':'S','targets':[{'name':'a','paths':['/backups']}]}", "/parameters/targets/0/paths/0", "allow.paths"},
    {"{'database':'S','targets':[{'name':'a','paths':['/backup/../etc']}]}", "/parameters/targets/0/paths/0", "allow.paths"},
    {"{'database':'S','targets':[{'name':'a','paths':['D:\\\\Backup2']}]}", "/parameters/targets/0/paths/0", "allow.paths"},
    {"{'database':'S','targets':[{'name':'a','paths':['nul']}]}", "/parameters/targets/0/paths/0", "allow.paths"},
    {"{'database':'S','targets':[{'name':'a','paths':['/backup','/x1','/x2','/x3','/x4','/x5']}]}", "/parameters/targets/0/paths/5", "allow.paths"},
    {"{'database':'S','targets':[{'name':'a','paths':['NUL'],'files':65}]}", "/parameters/targets/0/files", "1 to 64"},
    {"{'database':'S','targets':[{'name':'a','paths':['NUL'],'files':2}],'files':[1]}", "/parameters/targets/0/files", "swept list"},
    {"{'database':'S','targets':[{'name':'a','paths':['NUL']},{'name':'a','paths':['NUL']}]}", "/parameters/targets/1/name", "already"},
    {"{'database':'S','targets':[{'name':'a','paths':['NUL'],'kind':'x'}]}", "/parameters/targets/0/kind", ""},
    {"{'database':'S','confirm_on':{'name':'x'}}", "/parameters/confirm_on/paths", "required"},
    {"{'database':'S','confirm_on':{'name':'x','paths':['/other']}}", "/parameters/confirm_on/paths/0", "allow.paths"},
    {"{'database':'S','confirm_on':{'name':'NUL','paths':['/backup']}}", "/parameters/confirm_on/name", "swept target"},
    {"{'database':'S','confirm_on':{'name':'x','paths':['/backup'],'files':2},'files':[1]}", "/parameters/confirm_on/files", "swept list"},
    {"{'database':'S','confirm_on':'x'}", "/parameters/confirm_on", ""},
    {"{'database':'S'}", "/parameters", "nothing to compare"},
    {"{'database':'S','buffercount':['default']}", "/parameters", "nothing to compare"},
    {"{'database':'S','confirm_on':{'name':'x','paths':['/backup']}}", "/parameters", "nothing to compare"},
};
/* clang-format on */

static void refuses_each_wrong_value_where_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < JSON_COUNT(wrongs); i++) {
        struct json_faults faults = {0};
        check(wrongs[i].parameters, NULL, NULL, &faults);
        jobs_kit_expect_fault(&faults, wrongs[i].fault, wrongs[i].words);
        json_faults_fini(&faults);
    }
}

static void accepts_what_the_contract_allows(void **state)
{
    (void)state;
    static const char *const rights[] = {
        "{'database':'S','buffercount':['default',7]}",
        "{'database':'na]me [x] \\u00e4','buffercount':['default',7]}",
        "{'database':'S','buffercount':['default',7,50],'blocksize':[512,65536]}",
        "{'database':'S','buffercount':[7],'maxtransfersize':['default',65536,4194304]}",
        "{'database':'S','files':[1,64],'compression':['default','off','on','MS_XPRESS']}",
        "{'database':'S','targets':[{'name':'a','paths':['/backup/x','/backup'],'files':3}],"
        "'buffercount':['default',7]}",
        "{'database':'S','targets':[{'name':'b','paths':['d:\\\\BACKUP\\\\x']}],"
        "'buffercount':['default',7]}",
        "{'database':'S','targets':[{'name':'c','paths':['NUL'],'files':2}],'blocksize':[512]}",
        "{'database':'S','confirm_on':{'name':'x','paths':['/backup']},"
        "'buffercount':['default',7]}",
        "{'database':'S','confirm_on':null,'buffercount':['default',7]}",
    };
    for (size_t i = 0; i < JSON_COUNT(rights); i++) {
        struct json_faults faults = {0};
        static const char *const roomy[] = {"/limits/buffer_memory_mib", "1048576", NULL};
        check(rights[i], NULL, roomy, &faults);
        jobs_kit_expect_none(&faults);
        json_faults_fini(&faults);
    }
}

static void counts_memory_against_the_tighter_limit(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *job_limit, *instance_limit;
        bool fits;
    } cases[] = {
        {"{'database':'S','buffercount':[1024]}", NULL, NULL, true},
        {"{'database':'S','buffercount':[1025]}", NULL, NULL, false},
        {"{'database':'S','buffercount':[1025]}", NULL, "1025", true},
        {"{'database':'S','buffercount':[100]}", "99", NULL, false},
        {"{'database':'S','buffercount':[100]}", "100", NULL, true},
        {"{'database':'S','buffercount':[1025]}", "5000", NULL, false},
        {"{'database':'S','buffercount':[342],'compression':['on']}", NULL, NULL, false},
        {"{'database':'S','buffercount':[341],'compression':['on']}", NULL, NULL, true},
        {"{'database':'S','buffercount':[342],'compression':['off','default']}", NULL, NULL, false},
        {"{'database':'S','buffercount':[257],'maxtransfersize':[65536,4194304]}", NULL, NULL,
         false},
        {"{'database':'S','buffercount':[256],'maxtransfersize':[65536,4194304]}", NULL, NULL,
         true},
        /* no arm has 2000 buffers of the default size */
        {"{'database':'S','buffercount':[2000],'maxtransfersize':[65536]}", NULL, NULL, true},
        {"{'database':'S','buffercount':[2000],'maxtransfersize':['default',65536]}", NULL, NULL,
         false},
        {"{'database':'S','buffercount':['default'],'maxtransfersize':[4194304]}", "1", NULL, true},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct json_faults faults = {0};
        const char *job[] = {"/limits/buffer_memory_mib", cases[i].job_limit, NULL};
        const char *instance[] = {"/limits/buffer_memory_mib", cases[i].instance_limit, NULL};
        check(cases[i].parameters, cases[i].job_limit ? job : NULL,
              cases[i].instance_limit ? instance : NULL, &faults);
        if (cases[i].fits)
            jobs_kit_expect_none(&faults);
        else
            jobs_kit_expect_fault(&faults, "/parameters/buffercount/0", "buffer_memory_mib is");
        json_faults_fini(&faults);
    }
}

static void refuses_more_arms_or_trials_than_anybody_waits_for(void **state)
{
    (void)state;
    cJSON *parameters = jobs_kit_json("{'database':'S','buffercount':[],'blocksize':[512,1024]}");
    cJSON *counts = cJSON_GetObjectItemCaseSensitive(parameters, "buffercount");
    for (int i = 1; i <= 127; i++)
        cJSON_AddItemToArray(counts, cJSON_CreateNumber(i));
    for (int more = 0; more < 2; more++) { /* 255 arms, then 257 */
        struct json_faults faults = {0};
        char *text = json_print(parameters);
        check(text, NULL, NULL, &faults);
        if (more)
            jobs_kit_expect_fault(&faults, "/parameters", "257 arms; the limit is 256");
        else
            jobs_kit_expect_none(&faults);
        json_faults_fini(&faults);
        if (!more) {
            static const char *const many[] = {"/design/repetitions", "40", NULL};
            check(text, many, NULL, &faults);
            jobs_kit_expect_fault(&faults, "/design/repetitions", "the limit is 10000");
            json_faults_fini(&faults);
        }
        free(text);
        cJSON_AddItemToArray(counts, cJSON_CreateNumber(128));
    }
    cJSON_Delete(parameters);
}

static void lists_every_parameter_in_its_table(void **state)
{
    (void)state;
    size_t count = 0;
    const struct job_kind *const *kinds = kind_all(&count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(kind_by_name(kinds[i]->name), kinds[i]);
        assert_non_null(strstr(kind_names(), kinds[i]->name));
        for (size_t f = 0; f < kinds[i]->parameter_count; f++)
            assert_true(kinds[i]->parameters[f].name && kinds[i]->parameters[f].help);
    }
    assert_null(kind_by_name("restore"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_one_arm_of_a_database_alone),
        cmocka_unit_test(adds_the_baseline_when_the_lists_lack_it),
        cmocka_unit_test(makes_a_baseline_per_target_files_and_compression),
        cmocka_unit_test(names_in_labels_what_differs_between_the_arms),
        cmocka_unit_test(takes_the_files_of_a_target_into_the_settings),
        cmocka_unit_test(counts_the_memory_of_the_buffers),
        cmocka_unit_test(repeats_default_and_winner_where_it_is_confirmed),
        cmocka_unit_test(keeps_swept_files_when_it_confirms),
        cmocka_unit_test(refuses_each_wrong_value_where_it_stands),
        cmocka_unit_test(accepts_what_the_contract_allows),
        cmocka_unit_test(counts_memory_against_the_tighter_limit),
        cmocka_unit_test(refuses_more_arms_or_trials_than_anybody_waits_for),
        cmocka_unit_test(lists_every_parameter_in_its_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
