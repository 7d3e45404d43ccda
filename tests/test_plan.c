/* A plan's way to the store and back. */
#include "jobs/member.h"
#include "jobs/plan.h"
#include "jobs/preview.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct plan sample(int arms, int64_t repetitions)
{
    struct plan plan = {.reserved = 12, .authenticated = true, .deletes = true};
    struct plan_database *sales = plan_add_database(&plan, "Sales");
    sales->bytes = 9007199254740991;
    sales->chain = jobs_kit_json("{'differential_base_lsn':'42'}");
    assert_ptr_equal(plan_add_database(&plan, "Sales"), sales); /* it is there already */
    plan_add_database(&plan, "\xE8\xB3\x87\xE6\x96\x99")->bytes = -1;
    plan.facts.major = 16;
    plan.facts.version = mem_copy("16.0.4100.1");
    plan.facts.cpu_count = -1;
    struct design design = {.repetitions = repetitions, .warmups = 1, .seed = 42};
    for (int i = 0; i < arms; i++) {
        struct arm *arm = plan_add_arm(&plan);
        arm->label = mem_format("arm %d", i);
        arm->settings = jobs_kit_json("{'buffercount':50,'target':'NUL','database':'S'}");
        arm->baseline = i == 0;
        arm->buffer_memory_mib = i == 0 ? NAN : 50;
    }
    plan_add_steps(&plan, &design, 0, arms);
    return plan;
}

static void expect_round_trip(const struct plan *plan)
{
    struct plan back;
    struct err err = {0};
    cJSON *first = plan_to_json(plan);
    char *text = json_print(first);
    cJSON *parsed = NULL;
    assert_int_equal(member_parse_own(text, &parsed, &err), 0);
    if (plan_from_json(parsed, &back, &err) < 0)
        fail_msg("%s", err.msg);
    cJSON *second = plan_to_json(&back);
    char *again = json_print(second);
    assert_string_equal(text, again);
    assert_int_equal(back.step_count, plan->step_count);
    assert_int_equal(back.arm_count, plan->arm_count);
    free(again);
    free(text);
    cJSON_Delete(second);
    cJSON_Delete(parsed);
    cJSON_Delete(first);
    plan_fini(&back);
}

static void comes_back_as_it_went(void **state)
{
    (void)state;
    struct plan plan = sample(3, 5);
    assert_int_equal(plan.step_count, 3 * (5 + 1));
    expect_round_trip(&plan);
    plan_fini(&plan);
    plan_fini(&plan); /* harmless twice */
}

/* More numbers than a body from outside may hold. */
static void comes_back_when_it_is_as_big_as_may_be(void **state)
{
    (void)state;
    struct plan plan = sample(256, 38);
    assert_int_equal(plan.step_count, 9984);
    expect_round_trip(&plan);
    plan_fini(&plan);
}

static void goes_on_counting_blocks_when_steps_are_added(void **state)
{
    (void)state;
    struct plan plan = sample(2, 5);
    struct design design = {.repetitions = 3, .warmups = 1, .seed = 42};
    size_t before = plan.step_count;
    (void)plan_add_arm(&plan);
    (void)plan_add_arm(&plan);
    plan_add_steps(&plan, &design, 2, 2);
    assert_int_equal(plan.step_count, before + 2 * (3 + 1));
    for (size_t i = before; i < plan.step_count; i++) {
        assert_in_range(plan.steps[i].arm, 2, 3);
        assert_true(plan.steps[i].warmup ? plan.steps[i].block == 0 : plan.steps[i].block > 5);
    }
    plan_fini(&plan);
}

static void refuses_a_stored_plan_that_makes_no_sense(void **state)
{
    (void)state;
    static const char *const plans[] = {
        "{'arms':[],'order':[[0,1,0]]}",
        "{'arms':[],'order':[[-1,1,0]]}",
        "{'arms':[],'order':[['a',1,0]]}",
        "{'arms':[],'order':[[0]]}",
        "{'arms':[{}],'order':[]}",
        "{'arms':[{'arm':'a0','label':'x','settings':{},'baseline':true,'against':'a0'},{}]}",
        "{'arms':[{'arm':'a0','label':'x','settings':{},'baseline':true,'against':'a7'}]}",
        "{'arms':[{'arm':'a5','label':'x','settings':{},'baseline':true,'against':'a5'}]}",
    };
    for (size_t i = 0; i < JSON_COUNT(plans); i++) {
        struct plan plan = {0};
        struct err err = {0};
        cJSON *tree = jobs_kit_json(plans[i]);
        if (plan_from_json(tree, &plan, &err) == 0)
            fail_msg("%s was read", plans[i]);
        assert_true(err.msg[0] != '\0');
        cJSON_Delete(tree);
    }
}

/* The instance can go between the check of the body and the look at it. */
static void has_all_its_members_when_nothing_is_known(void **state)
{
    struct jobs_place *place = *state;
    static const char *const members[] = {"arms",        "trials",   "estimate", "probes",
                                          "permissions", "refusals", "warnings"};
    struct job_row row = jobs_place_job("gone", NULL);
    cJSON *answer = preview_unasked(&place->parts, &row, NULL, "nobody was asked");
    for (size_t i = 0; i < JSON_COUNT(members); i++)
        if (!json_member(answer, members[i]))
            fail_msg("there is no %s", members[i]);
    assert_int_equal(cJSON_GetArraySize(answer), JSON_COUNT(members));
    assert_true(cJSON_GetArraySize(json_member(answer, "permissions")) > 0);
    assert_int_equal(cJSON_GetArraySize(json_member(answer, "refusals")), 2);
    assert_true(cJSON_IsNull(json_member(json_member(answer, "estimate"), "minutes")));
    cJSON_Delete(answer);
    job_row_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_went),
        cmocka_unit_test(comes_back_when_it_is_as_big_as_may_be),
        cmocka_unit_test(goes_on_counting_blocks_when_steps_are_added),
        cmocka_unit_test(refuses_a_stored_plan_that_makes_no_sense),
        JOBS_TEST(has_all_its_members_when_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
