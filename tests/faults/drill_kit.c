#include "tests/faults/drill_kit.h"
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FLAG 3042
#define DISK "{'name':'disk','paths':['/var/opt/mssql/backup']}"
#define ONCE "'design':{'repetitions':1,'warmups':0,'seed':7,'max_repetitions':20}"
#define JOB(kind, parameters)                                                                      \
    "{'kind':'" kind "','instance':'sql01','parameters':{" parameters "}," ONCE "}"
#define FLAG_JOB JOB("trace_flag", "'databases':['Sales'],'target':" DISK)

/* clang-format off */
const struct drill drills[] = {
    {"backup_sweep", JOB("backup_sweep", "'database':'Sales','buffercount':[50],'files':[2],'targets':[{'name':'disk','paths':['/var/opt/mssql/backup']}]"), 2, 1, false},
    {"backup_throughput", JOB("backup_throughput", "'databases':['Sales'],'targets':[" DISK "]"), 2, 1, false},
    {"trace_flag", FLAG_JOB, 2, 2, false},
    {"trace_flag, on before", FLAG_JOB, 2, 2, true},
    {"snapshot_overhead", JOB("snapshot_overhead", "'database':'AdventureWorks','snapshots':[0,2],'locations':[{'name':'disk','path':'/var/opt/mssql/backup'}],'workload':{'select_into':{'source':'Sales.Big','rows':20}}"), 2, 1, false},
    {"backup_history", "{'kind':'backup_history','instance':'sql01','parameters':{'databases':['Sales'],'include_copy_only':true}}", 0, 0, false},
};
/* clang-format on */
const size_t drill_count = sizeof drills / sizeof drills[0];

struct sim *drill_sim_start(const char *conf_dir)
{
    struct sim *sim = NULL;
    char error[SIM_ERROR_SIZE];
    struct err err;
    if (conf_dir && mssql_init(conf_dir, &err) < 0)
        fail_msg("%s", err.msg);
    if (sim_start("{'time_scale':0}", &sim, error) < 0)
        fail_msg("%s", error);
    (void)harness_ask(sim, "CREATE TABLE AdventureWorks.Sales.Big (id int, name nvarchar(40)); "
                           "INSERT INTO AdventureWorks.Sales.Big SELECT TOP (40) message_id, N'x' "
                           "FROM sys.messages");
    return sim;
}

void drill_sim_stop(struct sim *sim)
{
    sim_stop(sim);
    mssql_fini();
}

void drill_set_flag(struct sim *sim, const struct drill *drill)
{
    char error[SIM_ERROR_SIZE];
    char *fault = mem_format("{'do':'trace_flag','number':%d,'on':%s}", FLAG,
                             drill->flag_was_on ? "true" : "false");
    if (sim_fault(sim, fault, error) < 0)
        fail_msg("%s", error);
    free(fault);
}

void drill_expect_clean(struct sim *sim, const struct drill *drill, const char *context)
{
    int flags[4] = {0};
    size_t count = 0;
    struct sim_left *files = sim_files(sim, &count);
    for (size_t i = 0; i < count; i++)
        if (strstr(files[i].path, "sweetspot_"))
            fail_msg("%s: %s is left", context, files[i].path);
    sim_files_free(files, count);
    size_t on = sim_flags(sim, flags, 4);
    if (on != drill->flag_was_on || (on && flags[0] != FLAG))
        fail_msg("%s: %zu flags are on instead of %d", context, on, drill->flag_was_on);
    int64_t left = harness_ask(
        sim, "SELECT (SELECT COUNT(*) FROM sys.databases WHERE name LIKE 'sweetspot[_]%') + "
             "(SELECT COUNT(*) FROM AdventureWorks.sys.tables WHERE name LIKE 'sweetspot[_]%')");
    if (left != 0)
        fail_msg("%s: %d snapshots or tables are left", context, (int)left);
}

static void expect_one_each(const struct drill *drill, const cJSON *trials, const char *context)
{
    for (int arm = 0; arm < drill->arms; arm++)
        for (int block = 1; block <= drill->blocks; block++) {
            int count = 0;
            const cJSON *trial;
            cJSON_ArrayForEach(trial, at(trials, "items"))
                count += strcmp(text_at(trial, "status"), "ok") == 0 &&
                         text_at(trial, "arm")[1] == '0' + arm &&
                         (int)number_at(trial, "block") == block;
            if (count != 1)
                fail_msg("%s: arm %d block %d counts %d times: %s", context, arm, block, count,
                         cJSON_PrintUnformatted(trials));
        }
}

void drill_expect_whole(const struct drill *drill, const cJSON *job, const cJSON *trials,
                        const cJSON *report, const char *context)
{
    const char *state = text_at(job, "state");
    const char *cleanup = text_at(job, "cleanup");
    if ((strcmp(state, "succeeded") != 0 && strcmp(state, "inconclusive") != 0) ||
        (strcmp(cleanup, "done") != 0 && strcmp(cleanup, "none") != 0))
        fail_msg("%s: %s", context, cJSON_PrintUnformatted(job));
    expect_one_each(drill, trials, context);
    for (int arm = 0; arm < drill->arms; arm++) {
        const cJSON *row = cJSON_GetArrayItem(at(report, "arms"), arm);
        if ((int)number_at(row, "n") != drill->blocks)
            fail_msg("%s: %s", context, cJSON_PrintUnformatted(row));
    }
    if (cJSON_GetArraySize(at(report, "left_behind")) != 0)
        fail_msg("%s: %s", context, cJSON_PrintUnformatted(at(report, "left_behind")));
}

unsigned drill_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

enum drill_form drill_form(int argc, char **argv)
{
    const char *form = getenv("SWEETSPOT_DRILLS");
    if (argc > 1)
        return strcmp(argv[1], "long") == 0 ? DRILL_LONG : DRILL_SHORT;
    return form && strcmp(form, "small") == 0 ? DRILL_SMALL : DRILL_SHORT;
}
