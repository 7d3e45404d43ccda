#pragma once
/* Trials as CSV (RFC 4180), for people with a spreadsheet. Pure. */
#include "server/buf.h"

/* The row of column names. */
void trial_csv_head(struct buf *csv);

/* A trial as it is stored (JSON), as one row; what it lacks is an empty cell. */
void trial_csv_row(struct buf *csv, const char *document);
