#include "jobs/plan.h"
#include "jobs/member.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

void plan_fini(struct plan *plan)
{
    if (!plan)
        return;
    arms_free(plan->arms, plan->arm_count);
    free(plan->steps);
    server_facts_fini(&plan->facts);
    for (size_t i = 0; i < plan->database_count; i++) {
        free(plan->databases[i].name);
        cJSON_Delete(plan->databases[i].chain);
    }
    free(plan->databases);
    *plan = (struct plan){0};
}

const struct plan_database *plan_database(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->database_count; i++)
        if (strcmp(plan->databases[i].name, name) == 0)
            return &plan->databases[i];
    return NULL;
}

struct plan_database *plan_add_database(struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->database_count; i++)
        if (strcmp(plan->databases[i].name, name) == 0)
            return &plan->databases[i];
    plan->databases = mem_grow(plan->databases, &plan->database_capacity, plan->database_count + 1,
                               sizeof *plan->databases);
    struct plan_database *database = &plan->databases[plan->database_count++];
    *database = (struct plan_database){.name = mem_copy(name), .bytes = -1, .data_bytes = -1};
    return database;
}

struct arm *plan_add_arm(struct plan *plan)
{
    plan->arms = mem_grow(plan->arms, &plan->arm_capacity, plan->arm_count + 1, sizeof *plan->arms);
    struct arm *arm = &plan->arms[plan->arm_count];
    *arm = (struct arm){.index = (int)plan->arm_count};
    plan->arm_count++;
    return arm;
}

static int last_block(const struct plan *plan)
{
    int block = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].block > block)
            block = plan->steps[i].block;
    return block;
}

void plan_add_steps(struct plan *plan, const struct design *design, int first_arm, int count)
{
    size_t added = 0;
    struct design_step *steps = design_steps(design, first_arm, count, last_block(plan), &added);
    struct design_step *all = mem_alloc(plan->step_count + added, sizeof *all);
    if (plan->step_count > 0)
        memcpy(all, plan->steps, plan->step_count * sizeof *all);
    if (added > 0)
        memcpy(all + plan->step_count, steps, added * sizeof *all);
    free(steps);
    free(plan->steps);
    plan->steps = all;
    plan->step_count += added;
}

cJSON *plan_to_json(const struct plan *plan)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *arms = cJSON_AddArrayToObject(tree, "arms");
    for (size_t i = 0; i < plan->arm_count; i++)
        cJSON_AddItemToArray(arms, arm_to_json(&plan->arms[i]));
    cJSON *order = cJSON_AddArrayToObject(tree, "order"); /* [arm, block, warm-up] each */
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct design_step *step = &plan->steps[i];
        int numbers[3] = {step->arm, step->block, step->warmup};
        cJSON_AddItemToArray(order, cJSON_CreateIntArray(numbers, 3));
    }
    cJSON_AddNumberToObject(tree, "reserved", (double)plan->reserved);
    cJSON_AddItemToObject(tree, "server", server_facts_to_json(&plan->facts));
    cJSON_AddBoolToObject(tree, "authenticated", plan->authenticated);
    cJSON_AddBoolToObject(tree, "deletes", plan->deletes);
    cJSON_AddBoolToObject(tree, "blind", plan->blind);
    cJSON *databases = cJSON_AddArrayToObject(tree, "databases");
    for (size_t i = 0; i < plan->database_count; i++) {
        const struct plan_database *database = &plan->databases[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", database->name);
        cJSON_AddItemToObject(item, "bytes", member_number_or_null(database->bytes));
        cJSON_AddItemToObject(item, "data_bytes", member_number_or_null(database->data_bytes));
        cJSON_AddNumberToObject(item, "role", database->role);
        cJSON_AddItemToObject(item, "chain", member_copy_or(database->chain, cJSON_CreateNull()));
        cJSON_AddItemToArray(databases, item);
    }
    return tree;
}

static int read_arms(const cJSON *tree, struct plan *out, struct err *err)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(tree, "arms")) {
        struct arm arm;
        if (arm_from_json(item, &arm, err) < 0)
            return -1;
        *plan_add_arm(out) = arm;
    }
    for (size_t i = 0; i < out->arm_count; i++) {
        const struct arm *arm = &out->arms[i];
        if ((size_t)arm->index != i || arm->against < 0 || (size_t)arm->against >= out->arm_count)
            return err_set(err, ERR_STORE, 0, "a stored plan names an arm it does not have");
    }
    return 0;
}

static int read_order(const cJSON *tree, struct plan *out, struct err *err)
{
    const cJSON *order = json_member(tree, "order");
    out->steps = mem_alloc((size_t)cJSON_GetArraySize(order), sizeof *out->steps);
    const cJSON *item;
    cJSON_ArrayForEach(item, order) {
        int numbers[3];
        for (int i = 0; i < 3; i++) {
            const cJSON *number = cJSON_GetArrayItem(item, i);
            if (!cJSON_IsNumber(number))
                return err_set(err, ERR_STORE, 0, "a stored plan's order cannot be read");
            numbers[i] = (int)number->valuedouble;
        }
        if (numbers[0] < 0 || (size_t)numbers[0] >= out->arm_count)
            return err_set(err, ERR_STORE, 0, "a stored plan names an arm it does not have");
        out->steps[out->step_count++] =
            (struct design_step){.arm = numbers[0], .block = numbers[1], .warmup = numbers[2]};
    }
    return 0;
}

static void read_databases(const cJSON *tree, struct plan *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(tree, "databases")) {
        const char *name = member_text(item, "name");
        if (!name)
            continue;
        struct plan_database *database = plan_add_database(out, name);
        const cJSON *chain = json_member(item, "chain");
        database->role = (int)member_int(item, "role", 0);
        database->bytes = member_int(item, "bytes", -1);
        database->data_bytes = member_int(item, "data_bytes", -1);
        database->chain = cJSON_IsObject(chain) ? cJSON_Duplicate(chain, true) : NULL;
    }
}

int plan_from_json(const cJSON *tree, struct plan *out, struct err *err)
{
    struct plan plan = {0};
    if (read_arms(tree, &plan, err) < 0 || read_order(tree, &plan, err) < 0) {
        plan_fini(&plan);
        return -1;
    }
    plan.reserved = (size_t)member_int(tree, "reserved", 0);
    server_facts_from_json(json_member(tree, "server"), &plan.facts);
    plan.authenticated = cJSON_IsTrue(json_member(tree, "authenticated"));
    plan.blind = cJSON_IsTrue(json_member(tree, "blind"));
    plan.deletes = cJSON_IsTrue(json_member(tree, "deletes"));
    read_databases(tree, &plan);
    *out = plan;
    return 0;
}
