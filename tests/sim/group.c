/* group.c: GROUP BY, aggregates and window functions. */
#include <math.h>
#include <string.h>

#include "eval.h"

struct total {
    int64_t count;
    dec_t sum;
    double f, squares;
    struct value best;
    bool has_best;
    struct bytes text;
};

static bool accumulate(struct eval *ev, const struct expr *e, struct total *t)
{
    struct value v = {0};
    int error = 0;

    if (e->count == 0 || e->args[0]->kind == E_STAR) {
        t->count++;
        return true;
    }
    if (!tsql_eval(ev, e->args[0], &v))
        return false;
    if (v.is_null)
        return true;
    t->count++;
    if (sim_text_is(e->text, "MIN") || sim_text_is(e->text, "MAX")) {
        int sign = sim_text_is(e->text, "MIN") ? -1 : 1;
        if (!t->has_best || sim_compare(ev->arena, &v, &t->best, &error) == sign)
            t->best = v;
        t->has_best = true;
    } else if (sim_text_is(e->text, "STRING_AGG")) {
        struct value separator = sim_text("");
        if (e->count > 1 && !tsql_eval(ev, e->args[1], &separator))
            return false;
        if (t->count > 1 && !separator.is_null)
            sim_bytes_text(&t->text, sim_value_text(ev->arena, &separator, 0));
        sim_bytes_text(&t->text, sim_value_text(ev->arena, &v, 0));
    } else if (!sim_text_begins(e->text, "COUNT")) {
        if (!sim_type_is_number(&v.type))
            return sim_raise(ev->session, 8117, 1, sim_type_name(&v.type), e->text, NULL);
        t->sum += v.type.base == VT_DECIMAL ? v.dec : v.i;
        t->f += sim_to_double(&v);
        t->squares += sim_to_double(&v) * sim_to_double(&v);
    }
    return true;
}

static double deviation(const struct expr *e, const struct total *t)
{
    double n = (double)t->count, mean = t->f / n;
    bool sample = sim_text_is(e->text, "STDEV") || sim_text_is(e->text, "VAR");
    double variance = (t->squares - n * mean * mean) / (sample ? n - 1 : n);
    variance = variance > 0 ? variance : 0;
    return sim_text_begins(e->text, "STDEV") ? sqrt(variance) : variance;
}

static bool finish(struct eval *ev, const struct expr *e, struct total *t, struct value *out)
{
    *out = sim_null(e->type);
    if (sim_text_begins(e->text, "COUNT")) {
        *out = sim_number(e->type.base, t->count);
        return true;
    }
    if (t->count == 0)
        return true;
    if (t->has_best) {
        *out = t->best;
    } else if (sim_text_is(e->text, "STRING_AGG")) {
        out->is_null = false;
        out->s = sim_arena_dup(ev->arena, sim_bytes_str(&t->text));
        out->len = strlen(out->s);
    } else if (sim_text_is(e->text, "SUM") || sim_text_is(e->text, "AVG")) {
        dec_t n = sim_text_is(e->text, "AVG") ? t->count : 1;
        out->is_null = false;
        if (e->type.base == VT_DECIMAL) {
            dec_t sum = t->sum;
            if (!sim_dec_scale(&sum, e->type.scale - e->args[0]->type.scale))
                return sim_raise(ev->session, 8115, 2, "expression", "numeric", NULL);
            out->dec = sum / n;
        } else if (e->type.base == VT_FLOAT) {
            out->f = t->f / (double)n;
        } else {
            if (t->sum > INT64_MAX || t->sum < INT64_MIN ||
                (e->type.base == VT_INT && n == 1 && (t->sum > INT32_MAX || t->sum < INT32_MIN)))
                return sim_raise(ev->session, 8115, 2, "expression", sim_type_name(&e->type), NULL);
            out->i = (int64_t)(t->sum / n);
        }
    } else if (t->count > 1 || !sim_text_is(e->text, "STDEV")) {
        *out = sim_float(deviation(e, t));
    }
    return true;
}

static const char *key_of(struct eval *ev, struct expr *const *list, int count, bool *good)
{
    struct bytes b = {0};
    *good = true;
    for (int i = 0; i < count && *good; i++) {
        struct value v = {0};
        *good = tsql_eval(ev, list[i], &v);
        sim_bytes_printf(&b, "%s%c", v.is_null ? "\x01" : sim_value_text(ev->arena, &v, 121), 2);
    }
    char *key = sim_text_upper(ev->arena, sim_bytes_str(&b), true);
    sim_bytes_fini(&b);
    return key;
}

static struct value *new_slots(struct eval *ev)
{
    size_t n = (size_t)ev->scope->slot_count + 1;
    return sim_arena_alloc(ev->arena, n * sizeof(struct value));
}

/* Sorts tuples by one list of order expressions, stable. */
static bool order_tuples(struct eval *ev, struct tuples *t, const struct order *order, int count)
{
    for (int i = 0; i < t->count; i++) {
        t->list[i].keys = sim_arena_alloc(ev->arena, (size_t)(count + 1) * sizeof(struct value));
        tsql_set_current(ev->scope, &t->list[i]);
        for (int k = 0; k < count; k++)
            if (!tsql_eval(ev, order[k].expr, &t->list[i].keys[k]))
                return false;
    }
    for (int i = 1; i < t->count; i++) { /* insertion: few rows, and the order of equals stays */
        struct tuple one = t->list[i];
        int at = i;
        for (; at > 0; at--) {
            int c = 0, error = 0;
            for (int k = 0; k < count && c == 0; k++) {
                const struct value *a = &t->list[at - 1].keys[k], *b = &one.keys[k];
                c = a->is_null || b->is_null ? b->is_null - a->is_null
                                             : sim_compare(ev->arena, a, b, &error);
                c = order[k].descending ? -c : c;
            }
            if (c <= 0)
                break;
            t->list[at] = t->list[at - 1];
        }
        t->list[at] = one;
    }
    return true;
}

static bool aggregate_all(struct eval *ev, struct expr *e, const struct tuples *group,
                          struct value *out)
{
    struct total total = {0};
    struct bytes seen = {0};
    struct tuples sorted = {.list = group->list, .count = group->count};
    bool good = true;

    if (e->over_order_count && !e->has_over) {
        sorted.list = (struct tuple *)(void *)sim_arena_dupn(
            ev->arena, group->list, (size_t)group->count * sizeof(*group->list));
        good = order_tuples(ev, &sorted, e->over_order, e->over_order_count);
    }
    for (int i = 0; i < sorted.count && good; i++) {
        tsql_set_current(ev->scope, &sorted.list[i]);
        if (e->distinct) {
            const char *key = key_of(ev, e->args, 1, &good);
            const char *mark = sim_arena_printf(ev->arena, "\x03%s\x03", key);
            if (seen.len && strstr(sim_bytes_str(&seen), mark))
                continue;
            sim_bytes_text(&seen, mark);
        }
        good = good && accumulate(ev, e, &total);
    }
    good = good && finish(ev, e, &total, out);
    sim_bytes_fini(&total.text);
    sim_bytes_fini(&seen);
    return good;
}

static bool check_grouped(struct eval *ev, const struct select *s, const struct expr *e)
{
    if (tsql_is_aggregate(e) || e->query)
        return true;
    for (int g = 0; g < s->group_count; g++)
        if (tsql_same(e, s->group[g]))
            return true;
    if (e->kind == E_COLUMN && e->depth == 0)
        return sim_raise(ev->session, 8120, 1, e->text, NULL);
    if (e->left && !check_grouped(ev, s, e->left))
        return false;
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->kind != E_STAR && !check_grouped(ev, s, e->args[i]))
            return false;
    return true;
}

bool tsql_group(struct eval *ev, struct select *s, struct tuples *t)
{
    struct tuples *groups = NULL, result = {0};
    const char **keys = NULL;
    int n = 0;

    for (int i = 0; i < s->item_count; i++)
        if (s->items[i].expr->kind != E_STAR && !check_grouped(ev, s, s->items[i].expr))
            return false;
    for (int i = 0; i < t->count; i++) {
        bool good = true;
        tsql_set_current(ev->scope, &t->list[i]);
        const char *key = key_of(ev, s->group, s->group_count, &good);
        if (!good)
            return false;
        int g = 0;
        while (g < n && strcmp(keys[g], key))
            g++;
        if (g == n) {
            groups = sim_arena_grow(ev->arena, groups, (size_t)n, sizeof(*groups));
            keys = sim_arena_grow(ev->arena, keys, (size_t)n, sizeof(*keys));
            groups[n] = (struct tuples){0};
            keys[n++] = key;
        }
        groups[g].list = sim_arena_grow(ev->arena, groups[g].list, (size_t)groups[g].count,
                                        sizeof(struct tuple));
        groups[g].list[groups[g].count++] = t->list[i];
    }
    if (n == 0 && s->group_count == 0) { /* no rows still give one row of totals */
        groups = sim_arena_alloc(ev->arena, sizeof(*groups));
        n = 1;
    }
    result.list = sim_arena_alloc(ev->arena, (size_t)(n + 1) * sizeof(struct tuple));
    for (int g = 0; g < n; g++) {
        struct tuple *one = &result.list[result.count++];
        size_t sources = (size_t)ev->scope->source_count + 1;
        struct value *slots = new_slots(ev);
        for (int a = 0; a < ev->scope->aggregate_count; a++) {
            struct expr *e = ev->scope->aggregates[a];
            if (!aggregate_all(ev, e, &groups[g], &slots[e->slot]))
                return false;
        }
        one->rows = groups[g].count ? groups[g].list[0].rows
                                    : sim_arena_alloc(ev->arena, sources * sizeof(struct value *));
        one->slots = slots;
    }
    *t = result;
    return true;
}

static bool same_keys(struct eval *ev, const struct value *a, const struct value *b, int count)
{
    int error = 0;
    for (int k = 0; k < count; k++)
        if (a[k].is_null != b[k].is_null ||
            (!a[k].is_null && sim_compare(ev->arena, &a[k], &b[k], &error)))
            return false;
    return true;
}

static bool window(struct eval *ev, struct expr *e, struct tuples *part)
{
    bool ranking = sim_text_is(e->text, "ROW_NUMBER") || sim_text_is(e->text, "RANK") ||
                   sim_text_is(e->text, "DENSE_RANK");
    struct value total = {0};
    int64_t rank = 0, dense = 0;

    if (!ranking) {
        if (!aggregate_all(ev, e, part, &total))
            return false;
        for (int i = 0; i < part->count; i++)
            part->list[i].slots[e->slot] = total;
        return true;
    }
    if (!order_tuples(ev, part, e->over_order, e->over_order_count))
        return false;
    for (int i = 0; i < part->count; i++) {
        if (!i || !same_keys(ev, part->list[i].keys, part->list[i - 1].keys, e->over_order_count)) {
            rank = i + 1;
            dense++;
        }
        part->list[i].slots[e->slot] = sim_bigint(sim_text_is(e->text, "ROW_NUMBER") ? i + 1
                                                  : sim_text_is(e->text, "RANK")     ? rank
                                                                                     : dense);
    }
    return true;
}

bool tsql_windows(struct eval *ev, struct tuples *t)
{
    for (int i = 0; i < t->count; i++)
        if (!t->list[i].slots)
            t->list[i].slots = new_slots(ev);
    for (int w = 0; w < ev->scope->window_count; w++) {
        struct expr *e = ev->scope->windows[w];
        bool *taken = sim_arena_alloc(ev->arena, (size_t)(t->count + 1) * sizeof(bool));
        const char **keys = sim_arena_alloc(ev->arena, (size_t)(t->count + 1) * sizeof(*keys));
        bool good = true;
        for (int i = 0; i < t->count && good; i++) {
            tsql_set_current(ev->scope, &t->list[i]);
            keys[i] = key_of(ev, e->partition, e->partition_count, &good);
        }
        for (int i = 0; i < t->count && good; i++) {
            struct tuples part = {0};
            for (int j = i; j < t->count; j++)
                if (!taken[j] && !strcmp(keys[i], keys[j])) {
                    part.list = sim_arena_grow(ev->arena, part.list, (size_t)part.count,
                                               sizeof(struct tuple));
                    part.list[part.count++] = t->list[j];
                    taken[j] = true;
                }
            good = !part.count || window(ev, e, &part);
        }
        if (!good)
            return false;
    }
    return true;
}
