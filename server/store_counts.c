/* What metrics count: from small tables that triggers keep, and from indexes. */
#include "server/store_rows.h"

/* In the order of enum store_count: a statement gives its texts first, then its numbers. */
static const struct {
    enum sql_id statement;
    int texts, numbers;
} counts[STORE_COUNTS] = {
    /* clang-format off */
    [COUNT_JOBS]       = {SQL_COUNT_JOBS,       1, 1},
    [COUNT_OLDEST]     = {SQL_COUNT_OLDEST,     0, 1},
    [COUNT_ENDED]      = {SQL_COUNT_ENDED,      2, 1},
    [COUNT_DURATIONS]  = {SQL_COUNT_DURATIONS,  0, 3},
    [COUNT_INTENTS]    = {SQL_COUNT_INTENTS,    0, 1},
    [COUNT_UNDONE]     = {SQL_COUNT_UNDONE,     1, 1},
    [COUNT_INSTANCES]  = {SQL_COUNT_INSTANCES,  1, 1},
    [COUNT_RATES]      = {SQL_COUNT_RATES,      1, 1},
    [COUNT_DELIVERIES] = {SQL_COUNT_DELIVERIES, 2, 1},
    /* clang-format on */
};

int store_count(struct db *db, enum store_count what, store_count_see *see, void *ctx,
                struct err *err)
{
    struct db_use *use = db_use(db, counts[what].statement);
    int step = 0;
    while ((step = db_step(use, err)) == 1) {
        struct store_count_row row = {{NULL, NULL}, {0, 0, 0}};
        for (int i = 0; i < counts[what].texts; i++)
            row.texts[i] = db_text(use, i);
        for (int i = 0; i < counts[what].numbers; i++)
            row.numbers[i] = db_real(use, counts[what].texts + i);
        see(ctx, &row);
    }
    db_done(use);
    return step < 0 ? -1 : 0;
}
