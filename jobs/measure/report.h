#pragma once
/* The report of an experiment as JSON (api.md §4 "Report") and as Markdown. A pure function of a
 * bundle: whoever has the bundle gets the same report. */
#include "jobs/measure/design.h"
#include "jobs/measure/guard.h"
#include "jobs/measure/stats.h"
#include "jobs/measure/trial.h"
#include "server/buf.h"

/* Everything a report is made from; all borrowed. */
struct bundle {
    const char *job;
    const char *kind;
    const char *instance;
    const struct server_facts *facts;
    bool authenticated; /* the server's certificate was checked */
    const struct design *design;
    const struct arm *arms;
    size_t arm_count;
    const struct trial *trials; /* all, warm-ups and failed ones too */
    size_t trial_count;
    const cJSON *parameters; /* of the definition */
    const cJSON *gathered;   /* what a kind found beside its trials, or NULL */
};

/* The counted trials, in their order; the caller frees them. */
struct stats_point *analysis_points(const struct bundle *bundle, size_t *out_count);

/* What analysis makes of a bundle before a kind adds its own members. */
struct analysis {
    struct stats_summary *rates;   /* per arm */
    struct stats_summary *elapsed; /* per arm */
    double *cpu_s;                 /* per arm: median, NaN */
    double *cpu_s_per_gib;         /* per arm: median of what a GiB read took, NaN */
    double *file_bytes;            /* per arm: median, NaN */
    struct stats_point *points;
    size_t point_count;
    bool *outlier; /* per point: set aside by the comparisons */
    size_t outlier_count;
    struct stats_comparison *comparisons;
    size_t comparison_count;
    double confidence;  /* at which this look at the data judges (stopping.h) */
    int *dropped_after; /* per arm: the block after which a race dropped it; 0: it did not */
    int *beaten_by;     /* per dropped arm: the fastest of that block's look */
};
void analysis_make(const struct bundle *bundle, struct analysis *out);
void analysis_fini(struct analysis *analysis);

/* The members every kind has: job, kind, instance, design, arms, comparisons, recommendation
 * null, baseline null, warnings [] (with those that follow from the trials: gap between our clock
 * and the server's, repeated or failed trials, trials set aside, arms a race dropped, an
 * early end, too few runs for the asked level,
 * arms that read different amounts, very short runs, server not authenticated or simulated, a
 * printed rate that does not fit), left_behind [], chain null. The kind adds the
 * rest, and where it recommends nothing the member `no_recommendation`: why, in words. */
cJSON *report_make(const struct bundle *bundle, const struct analysis *analysis);
void report_warn(cJSON *report, const char *format, ...) PRINTF_LIKE(2, 3);

/* Median bytes that an arm's counted trials read; NaN when there are none. */
double report_bytes(const struct bundle *bundle, int arm);

/* Those over the median size of the backup: bytes / bytes, above 1 where it is smaller; NaN where
 * nothing was written, or no size is known. */
double report_compression_ratio(const struct bundle *bundle, const struct analysis *analysis,
                                int arm);

/* True when the arm asks for compression; with "default" only the server knows. */
bool report_compresses(const struct arm *arm);

/* Warns when compressing saves next to nothing (a ratio below 1.1): what CPU it cost beside, and
 * what is known of encrypted databases on this build. NaN warns of nothing. */
void report_warn_of_ratio(cJSON *report, const struct bundle *bundle, int arm, double ratio);

/* `compression_ratio` of every arm (null: not known), and those warnings. */
void report_add_compression(cJSON *report, const struct bundle *bundle,
                            const struct analysis *analysis);

/* The report for people, from its JSON alone: verdict first in words, then a table of arms with
 * intervals, comparisons, what the kind adds, recommendation with its three commands, warnings,
 * what was left behind, the design. A member that is missing is left out. Text from outside is
 * escaped for Markdown. The caller frees it. */
char *report_markdown(const cJSON *report);

/* The same as an HTML page, well formed as XML, too, with the curve as a picture and the
 * recommendation before the tables. It holds its style, no script, and asks for nothing. The
 * caller frees it. */
char *report_html(const cJSON *report);

/* Appends the Content-Security-Policy such a page can be shown under: its own style, by its hash,
 * and nothing else. The page holds it, too. */
void report_page_policy(struct buf *out);
