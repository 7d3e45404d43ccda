/* What of a report goes into an event: the effects of its kind and what is not decided. */
#include "jobs/effects.h"
#include "server/buf.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *report;
    const char *effects; /* in words, a line each; then "? " and what is not decided */
} cases[] = {
    /* sweep: the recommended arm, and of the others what is open */
    {"{'recommendation':{'arm':'a2'},'arms':[{'arm':'a1','label':'BUFFERCOUNT=50'},"
     "{'arm':'a2','label':'BUFFERCOUNT=100'}],'comparisons':[{'arm':'a1','ratio':1.1,'low':0.9,"
     "'high':1.3,'level':0.95,'verdict':'inconclusive'},{'arm':'a2','ratio':1.84,'low':1.79,"
     "'high':1.9,'level':0.95,'verdict':'faster'},{'arm':'a3','verdict':'slower'}],"
     "'confirmation':{'target':'share','ratio':1.5,'low':1.4,'high':1.6,'verdict':'faster'}}",
     "BUFFERCOUNT=100: 1.84x the speed (95 %: 1.79 to 1.9), faster\n"
     "Confirmed on share: 1.5x the speed (1.4 to 1.6), faster\n? BUFFERCOUNT=50\n"},
    {"{'recommendation':null,'comparisons':[],'confirmation':null}", ""},
    /* times with and without, though there are comparisons, too */
    {"{'overhead':[{'database':'Sales','flag':3042,'ratio':1.12,'low':1.08,'high':1.15,"
     "'level':0.95,'verdict':'slower'},{'database':'HR','flag':3042,'ratio':null,'low':null,"
     "'high':null,'level':null,'verdict':'inconclusive'}],'comparisons':[{'arm':'a1'}]}",
     "Trace flag 3042 on Sales: 1.12x the time (95 %: 1.08 to 1.15), slower\n"
     "Trace flag 3042 on HR: no figure, not decided\n? Trace flag 3042 on HR\n"},
    {"{'overhead':[{'location':'ssd','snapshots':1,'ratio':1.01,'low':1,'high':1.02,'level':0.95,"
     "'verdict':'no_difference'},{'location':'ssd','snapshots':2,'ratio':1.2,'low':1.1,"
     "'high':1.3,'level':0.95,'verdict':'slower'}]}",
     "1 snapshot at ssd: 1.01x the time (95 %: 1 to 1.02), no difference\n"
     "2 snapshots at ssd: 1.2x the time (95 %: 1.1 to 1.3), slower\n"},
    {"{'bottleneck':[{'database':'Sales','targets':[{'name':'share','fraction_of_ceiling':0.52,"
     "'low':0.5,'high':0.55,'verdict':'write'},{'name':'ssd','fraction_of_ceiling':0.9,'low':0.7,"
     "'high':1.1,'verdict':'unsure'}]}]}",
     "Sales to share: 52 % of what reading gives (50 to 55 %), held back by writing\n"
     "Sales to ssd: 90 % of what reading gives (70 to 110 %), not decided\n? Sales to ssd\n"},
    {"{'history':[{'database':'Sales','type':'full','logical_mib_s':{'median':812,'p5':803,"
     "'p95':820}},{'database':'HR','type':'log','logical_mib_s':{'median':40,'p5':null,"
     "'p95':null}}]}",
     "Sales full: 812 MiB/s (median; 5 to 95 %: 803 to 820)\nHR log: 40 MiB/s (median)\n"},
    {"{}", ""},
};

static char *said_of(const cJSON *data)
{
    struct buf out = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(data, "effects")) {
        char *words = effects_words(item);
        buf_format(&out, "%s\n", words);
        free(words);
    }
    cJSON_ArrayForEach(item, json_member(data, "undecided"))
        buf_format(&out, "? %s\n", cJSON_GetStringValue(item));
    return buf_take(&out);
}

static void each_kind_tells_its_own_effects(void **state)
{
    (void)state;
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        cJSON *report = jobs_kit_json(cases[i].report);
        cJSON *data = cJSON_CreateObject();
        effects_add(data, report);
        char *said = said_of(data);
        assert_string_equal(said, cases[i].effects);
        free(said);
        cJSON_Delete(data);
        cJSON_Delete(report);
    }
}

static void a_long_list_is_cut_and_counted(void **state)
{
    (void)state;
    cJSON *report = cJSON_CreateObject();
    cJSON *rows = cJSON_AddArrayToObject(report, "overhead");
    for (int i = 0; i < 100; i++)
        cJSON_AddItemToArray(
            rows, jobs_kit_json("{'database':'Sales','flag':3042,'verdict':'inconclusive'}"));
    cJSON *data = cJSON_CreateObject();
    effects_add(data, report);
    assert_int_equal(cJSON_GetArraySize(json_member(data, "effects")), EFFECTS_MOST);
    assert_int_equal(json_member(data, "effects_more")->valueint, 100 - EFFECTS_MOST);
    assert_int_equal(cJSON_GetArraySize(json_member(data, "undecided")), EFFECTS_MOST);
    assert_int_equal(json_member(data, "undecided_more")->valueint, 100 - EFFECTS_MOST);
    cJSON_Delete(data);
    cJSON_Delete(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_tells_its_own_effects),
        cmocka_unit_test(a_long_list_is_cut_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
