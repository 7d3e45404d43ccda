#pragma once
/* Slots of statements and what each takes; only for statement.c. Pure. */
#include "jobs/measure/statement.h"

/* Where reading stands. */
struct slot_reader {
    const char *at;
    const struct statement_rules *rules;
    statement_on_object *on_object;
    void *ctx;
};

/* Reads what the pattern says, slot by slot; false when the text differs (at is then anywhere). */
bool slot_take_pattern(struct slot_reader *reader, const char *pattern);
