/* What a message says, for every kind and every end: the verdict first, then what it rests on. */
#include "jobs/chat.h"
#include "server/buf.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENT(type, job, more)                                                                     \
    "{'type':'" type "','data':{'job':{'id':'0193','instance':'sql01'," job "}" more "}}"
#define RAN(state, kind, parameters)                                                               \
    "'kind':'" kind "','state':'" state "','started_at':'2026-12-01T00:00:00.000Z',"               \
    "'finished_at':'2026-12-01T00:34:05.000Z','definition':{'parameters':{" parameters "}},"       \
    "'progress':{'trials_done':12,'trials_planned':72}"
#define EFFECT(what, measure, value, low, high, verdict)                                           \
    "{'what':'" what "','measure':'" measure "','value':" value ",'low':" low ",'high':" high      \
    ",'level':0.95,'verdict':'" verdict "'}"
#define ERROR_OF(number, message, advice)                                                          \
    ",'error':{'number':" number ",'message':'" message "','step':'trial','advice':" advice "}"

static const struct {
    const char *event;
    const char *said; /* verdict, lead, then each fact; a line each */
} cases[] = {
    /* --- each kind, when it succeeded --- */
    {EVENT("job.finished",
           RAN("succeeded", "backup_sweep", "'database':'Sales'") ",'summary':'BUFFERCOUNT=100: "
                                                                  "1.84x the default'",
           ",'effects':[" EFFECT(
               "BUFFERCOUNT=100", "speed", "1.84", "1.79", "1.9",
               "faster") "],"
                         "'undecided':['BUFFERCOUNT=50'],'recommendation':{'arm':'a2'}"),
     "Sweet spot found\nBUFFERCOUNT=100: 1.84x the default\nInstance: sql01\nDatabase: Sales\n"
     "Effect: BUFFERCOUNT=100: 1.84x the speed (95 %: 1.79 to 1.9), faster\n"
     "Not decided: BUFFERCOUNT=50\nTook: 34 min 5 s\nKind: backup_sweep\nJob: 0193\n"},
    {EVENT("job.finished", RAN("succeeded", "backup_sweep", "'database':'Sales'"),
           ",'effects':[],'recommendation':{'arm':'a0','keep_default':true}"),
     "Keep the default\nNo further details.\nInstance: sql01\nDatabase: Sales\nTook: 34 min 5 s\n"
     "Kind: backup_sweep\nJob: 0193\n"},
    {EVENT("job.finished",
           RAN("succeeded", "trace_flag", "'databases':['Sales','HR'],'flags':[3042]"),
           ",'effects':[" EFFECT(
               "Trace flag 3042 on Sales", "time", "1.12", "1.08", "1.15",
               "slower") "," EFFECT("Trace flag 3042 on HR", "time", "1.01", "0.9", "1.2",
                                    "inconclusive") "],"
                                                    "'undecided':['Trace flag 3042 on "
                                                    "HR'],'recommendation':null"),
     "It costs time\nNo further details.\nInstance: sql01\nDatabases: Sales, HR\n"
     "Effect: Trace flag 3042 on Sales: 1.12x the time (95 %: 1.08 to 1.15), slower; "
     "Trace flag 3042 on HR: 1.01x the time (95 %: 0.9 to 1.2), not decided\n"
     "Not decided: Trace flag 3042 on HR\nTook: 34 min 5 s\nKind: trace_flag\nJob: 0193\n"},
    {EVENT("job.finished", RAN("succeeded", "snapshot_overhead", "'database':'Sales'"),
           ",'effects':[" EFFECT("2 snapshots at ssd", "time", "1", "0.99", "1.01",
                                 "no_difference") "]"),
     "No overhead found\nNo further details.\nInstance: sql01\nDatabase: Sales\n"
     "Effect: 2 snapshots at ssd: 1x the time (95 %: 0.99 to 1.01), no difference\n"
     "Took: 34 min 5 s\nKind: snapshot_overhead\nJob: 0193\n"},
    {EVENT("job.finished", RAN("succeeded", "backup_throughput", "'databases':['Sales']"),
           ",'effects':[" EFFECT("Sales to share", "fraction_of_ceiling", "0.52", "0.5", "0.55",
                                 "write") "]"),
     "Bottleneck found\nNo further details.\nInstance: sql01\nDatabase: Sales\n"
     "Effect: Sales to share: 52 % of what reading gives (95 %: 50 to 55 %), held back by writing\n"
     "Took: 34 min 5 s\nKind: backup_throughput\nJob: 0193\n"},
    {EVENT("job.finished", RAN("succeeded", "backup_history", "'databases':null"),
           ",'effects':[{'what':'Sales full','measure':'mib_s','value':812,'low':803,'high':820,"
           "'level':null,'verdict':null}],'effects_more':4"),
     "History read\nNo further details.\nInstance: sql01\nDatabases: all\n"
     "Effect: Sales full: 812 MiB/s (median; 5 to 95 %: 803 to 820); 4 more in the report\n"
     "Took: 34 min 5 s\nKind: backup_history\nJob: 0193\n"},
    /* --- each other end --- */
    {EVENT("job.finished",
           RAN("inconclusive", "backup_sweep", "'database':'Sales'") ",'summary':'No "
                                                                     "recommendation'",
           ",'effects':[],'no_recommendation':'too little was measured'"),
     "No answer\nNo recommendation\nInstance: sql01\nDatabase: Sales\n"
     "Not decided: too little was measured\nTook: 34 min 5 s\nKind: backup_sweep\nJob: 0193\n"},
    {EVENT("job.failed",
           RAN("failed", "backup_sweep", "'database':'Nowhere'")
               ERROR_OF("911", "Database does not exist", "'Look at the name'"),
           ""),
     "Benchmark failed\nError 911: Database does not exist\nInstance: sql01\nDatabase: Nowhere\n"
     "Not decided: anything: 12 of 72 trials were done\nWhat may help: Look at the name\n"
     "Took: 34 min 5 s\nKind: backup_sweep\nJob: 0193\n"},
    {EVENT("job.finished",
           "'kind':'backup_sweep','state':'cancelled','started_at':null,"
           "'finished_at':'2026-12-01T00:34:05.000Z','progress':{'trials_done':0,"
           "'trials_planned':0}" ERROR_OF("null", "the job was cancelled", "null"),
           ""),
     "Benchmark cancelled\nthe job was cancelled\nInstance: sql01\n"
     "Not decided: anything: no trial was done\nKind: backup_sweep\nJob: 0193\n"},
    {EVENT("job.finished", RAN("timed_out", "backup_sweep", "'database':'Sales'"), ""),
     "Benchmark out of time\nNo further details.\nInstance: sql01\nDatabase: Sales\n"
     "Not decided: anything: 12 of 72 trials were done\nTook: 34 min 5 s\nKind: backup_sweep\n"
     "Job: 0193\n"},
    {EVENT("job.regressed",
           RAN("succeeded", "backup_sweep", "'database':'Sales'") ",'summary':'BUFFERCOUNT=100'",
           ",'effects':[],'baseline':{'job':'0192','ratio':0.81,'low':0.79,'high':0.84,"
           "'verdict':'slower'},'recommendation':{'arm':'a2'}"),
     "Slower than its baseline\nBUFFERCOUNT=100\nInstance: sql01\nDatabase: Sales\n"
     "Against the baseline: 0192: 0.81x the speed (0.79 to 0.84), slower\nTook: 34 min 5 s\n"
     "Kind: backup_sweep\nJob: 0193\n"},
    {EVENT("job.cleanup_failed",
           RAN("failed", "backup_sweep", "'database':'Sales'") ",'cleanup':'failed'",
           ",'left_behind':[{'action':'file','object':'/b/1.bak'},{'action':'file',"
           "'object':'/b/2.bak'}]"),
     "Clean-up failed\nNo further details.\nInstance: sql01\nDatabase: Sales\n"
     "Not decided: anything: 12 of 72 trials were done\nLeft behind: /b/1.bak, /b/2.bak\n"
     "Took: 34 min 5 s\nKind: backup_sweep\nJob: 0193\n"},
    {EVENT("instance.unreachable",
           "'kind':'backup_sweep','state':'waiting','state_reason':'unreachable'" ERROR_OF(
               "null", "no answer from sql01", "null"),
           ""),
     "Instance not reached\nno answer from sql01\nInstance: sql01\nKind: backup_sweep\n"
     "Job: 0193\n"},
    {"{'type':'webhook.test','data':{'webhook':'dba','message':'Hello.'}}",
     "Test message\nHello.\n"},
    /* --- many of them --- */
    {EVENT("job.finished",
           RAN("succeeded", "trace_flag", "'databases':['a','b','c','d','e','f','g']"),
           ",'undecided':['1','2','3','4','5','6','7','8'],'undecided_more':3"),
     "Benchmark done\nNo further details.\nInstance: sql01\nDatabases: a, b, c, d, e and 2 more\n"
     "Not decided: 1, 2, 3, 4, 5 and 6 more\nTook: 34 min 5 s\nKind: trace_flag\nJob: 0193\n"},
};

static char *said_of(const struct chat *chat)
{
    struct buf out = {0};
    buf_format(&out, "%s\n%s\n", chat->verdict, chat->lead);
    for (size_t i = 0; i < chat->fact_count; i++)
        buf_format(&out, "%s: %s\n", chat->facts[i].name, chat->facts[i].value);
    return buf_take(&out);
}

static void each_kind_and_each_end_is_said_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct chat chat;
        cJSON *event = jobs_kit_json(cases[i].event);
        chat_read(event, "", &chat);
        char *said = said_of(&chat);
        assert_string_equal(said, cases[i].said);
        assert_null(chat.url);
        free(said);
        chat_fini(&chat);
        cJSON_Delete(event);
    }
}

static void the_link_goes_where_people_reach_us(void **state)
{
    (void)state;
    static const struct {
        const char *data, *public_url, *url;
    } links[] = {
        {"{'job':{'id':'0193'}}", "", NULL},
        {"{'job':{'id':'0193'}}", NULL, NULL},
        {"{'job':{'id':'0193'}}", "https://a.example", "https://a.example/v1/jobs/0193"},
        {"{'job':{'id':'0193'}}", "https://a.example/x/", "https://a.example/x/v1/jobs/0193"},
        {"{'job':{'id':'0193'},'effects':[]}", "http://a:1", "http://a:1/v1/jobs/0193/report"},
        {"{'job':{'id':'|x>'}}", "https://a.example", "https://a.example/"},
        {"{'webhook':'w'}", "https://a.example", "https://a.example/"},
    };
    for (size_t i = 0; i < JSON_COUNT(links); i++) {
        struct chat chat;
        cJSON *event = jobs_kit_json("{'type':'job.finished'}");
        jobs_kit_set(event, "/data", links[i].data);
        chat_read(event, links[i].public_url, &chat);
        if (links[i].url)
            assert_string_equal(chat.url, links[i].url);
        else
            assert_null(chat.url);
        chat_fini(&chat);
        cJSON_Delete(event);
    }
}

static void how_long_it_took_reads_well(void **state)
{
    (void)state;
    static const struct {
        const char *end, *words;
    } spans[] = {
        {"'2026-12-01T00:00:00.400Z'", "under 1 s"}, {"'2026-12-01T00:00:59.000Z'", "59 s"},
        {"'2026-12-01T00:01:00.000Z'", "1 min 0 s"}, {"'2026-12-01T05:59:59.000Z'", "5 h 59 min"},
        {"'2026-11-30T23:00:00.000Z'", NULL},        {"null", NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(spans); i++) {
        struct chat chat;
        cJSON *event = jobs_kit_json("{'data':{'job':{'started_at':'2026-12-01T00:00:00.000Z'}}}");
        jobs_kit_set(event, "/data/job/finished_at", spans[i].end);
        chat_read(event, "", &chat);
        assert_int_equal(chat.fact_count, spans[i].words ? 1 : 0);
        if (spans[i].words)
            assert_string_equal(chat.facts[0].value, spans[i].words);
        chat_fini(&chat);
        cJSON_Delete(event);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_and_each_end_is_said_in_words),
        cmocka_unit_test(the_link_goes_where_people_reach_us),
        cmocka_unit_test(how_long_it_took_reads_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
