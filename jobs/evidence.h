#pragma once
/* The evidence of a job: one JSON object with everything its report was made from, and a checksum
 * over it. The daemon makes its reports from evidence that it has read back, so that whoever has
 * the evidence gets the same report, to the byte. Pure. */
#include "jobs/kinds/reports.h"
#include "jobs/measure/report.h"
#include "server/err.h"

/* What goes in; all borrowed. */
struct evidence_parts {
    struct bundle bundle;
    const cJSON *definition; /* of the job, as stored */
    bool complete;           /* it ran to its end; else nothing is recommended */
    int64_t trials_done, trials_planned;
    const cJSON *chain;       /* {"differential_base_unchanged", …} or NULL: nothing to say */
    const cJSON *warnings;    /* texts, or NULL */
    const cJSON *left_behind; /* array, or NULL */
    const cJSON *baseline;    /* of compare_baseline, or NULL */
};

/* The evidence as text: compact JSON whose last member is "sha256", in hexadecimal: that of the
 * same text without this member. The caller frees it. */
char *evidence_write(const struct evidence_parts *parts);

/* Evidence that was read. */
struct evidence {
    cJSON *tree;          /* owned; what follows borrows from it or is owned beside it */
    struct bundle bundle; /* its arms, trials, facts and design are owned */
    struct server_facts facts;
    struct design design;
    struct arm *arms;
    struct trial *trials;
};

/* Reads evidence, pretty-printed or not. ERR_INPUT: no JSON, not of this form, or, when check is
 * true, the checksum is missing or is not that of the text (white space between tokens aside). */
MUST_CHECK int evidence_read(const char *text, size_t length, bool check, struct evidence *out,
                             struct err *err);
void evidence_fini(struct evidence *evidence);

/* The report, which the caller deletes. out_outcome: how a job that ran to its end is judged; its
 * summary is the caller's, NULL when the job did not run to its end. */
cJSON *evidence_report(const struct evidence *evidence, struct outcome *out_outcome);

/* The text's SHA-256 as its last member says; NULL when it has none. Not checked, borrowed and not
 * NUL-terminated: 64 characters. */
const char *evidence_sum(const char *text);
