#include "jobs/evidence_form.h"
#include "jobs/kinds/reports.h"
#include "jobs/member.h"

#include <string.h>

static bool is_text(const cJSON *item)
{
    return cJSON_IsString(item);
}

static bool is_number(const cJSON *item)
{
    return cJSON_IsNumber(item);
}

/* A list of which every item is of this kind; absent and null are good, too. */
static bool is_list_of(const cJSON *list, bool (*is_good)(const cJSON *))
{
    const cJSON *item;
    if (!list || cJSON_IsNull(list))
        return true;
    cJSON_ArrayForEach(item, list) {
        if (!is_good(item))
            return false;
    }
    return cJSON_IsArray(list);
}

static bool is_target(const cJSON *item)
{
    return cJSON_IsObject(item) && member_text(item, "name") &&
           cJSON_IsArray(json_member(item, "paths")) &&
           is_list_of(json_member(item, "paths"), is_text);
}

static bool is_location(const cJSON *item)
{
    return member_text(item, "name") && member_text(item, "path");
}

/* Settings name the database, and a target but where it is about snapshots. */
static bool is_arm(const cJSON *item)
{
    const cJSON *settings = json_member(item, "settings");
    return member_text(settings, "database") &&
           (member_text(settings, "target") || json_member(settings, "snapshots"));
}

static bool is_wait(const cJSON *item)
{
    return member_text(item, "type") && cJSON_IsNumber(json_member(item, "ms"));
}

static bool is_read(const cJSON *item)
{
    return member_text(item, "file") && cJSON_IsNumber(json_member(item, "bytes"));
}

static bool is_trial(const cJSON *item)
{
    return is_list_of(json_member(item, "waits"), is_wait) &&
           is_list_of(json_member(item, "reads_by_file"), is_read) &&
           is_list_of(json_member(item, "notes"), is_text);
}

static int check_parameters(const cJSON *parameters, struct err *err)
{
    static const struct {
        const char *name;
        bool is_list; /* else one of them */
        bool (*is_good)(const cJSON *);
    } members[] = {
        /* clang-format off */
        {"databases",   true,  is_text},
        {"targets",     true,  is_target},
        {"target",      false, is_target},
        {"confirm_on",  false, is_target},
        {"flags",       true,  is_number},
        {"locations",   true,  is_location},
        /* clang-format on */
    };
    if (!cJSON_IsObject(parameters))
        return err_set(err, ERR_INPUT, 0, "/definition/parameters is not an object");
    for (size_t i = 0; i < JSON_COUNT(members); i++) {
        const cJSON *member = json_member(parameters, members[i].name);
        bool good = members[i].is_list
                        ? is_list_of(member, members[i].is_good)
                        : !member || cJSON_IsNull(member) || members[i].is_good(member);
        if (!good)
            return err_set(err, ERR_INPUT, 0, "/definition/parameters/%s is not of its form",
                           members[i].name);
    }
    return 0;
}

int evidence_check_form(const cJSON *tree, struct err *err)
{
    static const char *const texts[] = {"kind", "instance", "job"};
    if (!cJSON_IsObject(tree))
        return err_set(err, ERR_INPUT, 0, "it is not an object");
    if (member_int(tree, "format", 0) != EVIDENCE_FORMAT)
        return err_set(err, ERR_INPUT, 0,
                       "it is no evidence of format %d, the only one that this program reads",
                       EVIDENCE_FORMAT);
    for (size_t i = 0; i < JSON_COUNT(texts); i++)
        if (!member_text(tree, texts[i]))
            return err_set(err, ERR_INPUT, 0, "/%s is not a text", texts[i]);
    if (!kind_report_of(member_text(tree, "kind")))
        return err_set(err, ERR_INPUT, 0, "/kind is none that this program knows: \"%.60s\"",
                       member_text(tree, "kind"));
    if (!cJSON_IsBool(json_member(tree, "complete")))
        return err_set(err, ERR_INPUT, 0, "/complete is not true or false");
    if (!is_list_of(json_member(tree, "arms"), is_arm))
        return err_set(err, ERR_INPUT, 0, "/arms is not a list of settings of a database");
    if (!is_list_of(json_member(tree, "trials"), is_trial))
        return err_set(err, ERR_INPUT, 0, "/trials is not a list of trials with their waits");
    return check_parameters(json_member(json_member(tree, "definition"), "parameters"), err);
}
