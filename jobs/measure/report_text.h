#pragma once
/* The parts of the report for people (report_text*.c), in either form of doc.h, for
 * report_text.c. All are made from the report's JSON alone; a member that is missing is left out
 * or unknown. Pure. */
#include "jobs/measure/doc.h"

/* --- helpers */

/* The arm of this name, and its comparison with its baseline; NULL. */
const cJSON *text_arm(const cJSON *report, const char *arm);
const cJSON *text_comparison(const cJSON *report, const char *arm);
bool text_is_true(const cJSON *object, const char *name);

void text_strong(struct doc *doc, const char *text);
/* "1.79 to 1.90", from low, high and ratio. */
void text_interval(struct doc *doc, const cJSON *row);
/* "2.0 % slower", "1.2 % faster" for a ratio of times. */
void text_overhead(struct doc *doc, double ratio);

/* --- what every kind has (report_text_arms.c, report_text_advice.c) */

void text_arms(struct doc *doc, const cJSON *report);
void text_comparisons(struct doc *doc, const cJSON *report);
/* The arms that nothing beats in speed and memory at once; nothing when it is one or none. */
void text_pareto(struct doc *doc, const cJSON *report);
void text_recommendation(struct doc *doc, const cJSON *report);
void text_baseline(struct doc *doc, const cJSON *report);

/* --- what only some have (report_text_kinds.c) */

/* The answer of a kind that recommends nothing, as one sentence; false: the report has none. */
bool text_kind_verdict(struct doc *doc, const cJSON *report);

/* Its tables: overhead, bottleneck, history, confirmation. */
void text_kind_sections(struct doc *doc, const cJSON *report);

/* Of overhead rows with a "flag" (report_text_flags.c): one row as a sentence without its full
 * stop, and the table. */
void text_flag_verdict(struct doc *doc, const cJSON *row);
void text_flag_section(struct doc *doc, const cJSON *rows);

/* Sizes and compression of every arm that wrote a file (report_text_sizes.c); nothing when none
 * did. */
void text_sizes_section(struct doc *doc, const cJSON *report);
