/* What stands beside a sweep's recommendation. Speed alone does not say whether to compress, and
 * NUL hides what the real target asks for (domain.md 8, reports 17 and 37). */
#include "jobs/kinds/sweep_report.h"
#include "jobs/member.h"
#include "server/buf.h"
#include "server/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

static void add_note(cJSON *notes, char *text)
{
    cJSON_AddItemToArray(notes, json_text(text));
    free(text);
}

/* --- compression ---------------------------------------------------------------------------- */

/* True when two arms are alike but for their compression. */
static bool is_twin(const struct arm *a, const struct arm *b)
{
    const cJSON *member;
    if (a->index == b->index)
        return false;
    cJSON_ArrayForEach(member, a->settings) {
        if (strcmp(member->string, "compression") != 0 &&
            !cJSON_Compare(member, json_member(b->settings, member->string), true))
            return false;
    }
    return true;
}

/* An arm like this one that compresses, or does not; -1: none was swept. */
static int twin_of(const struct bundle *bundle, int arm, bool compresses)
{
    for (size_t i = 0; i < bundle->arm_count; i++)
        if (is_twin(&bundle->arms[arm], &bundle->arms[i]) &&
            report_compresses(&bundle->arms[i]) == compresses)
            return (int)i;
    return -1;
}

static void add_size(struct buf *text, const struct analysis *analysis, int arm, const char *how)
{
    double bytes = arm < 0 ? NAN : analysis->file_bytes[arm];
    if (bytes > 0)
        buf_format(text, " A backup put %.0f MiB on the target %s compression.", bytes / MIB, how);
}

static void note_compression(const struct bundle *bundle, const struct analysis *analysis, int arm,
                             cJSON *notes)
{
    bool compresses = report_compresses(&bundle->arms[arm]);
    int twin = twin_of(bundle, arm, !compresses);
    struct buf text = {0};
    if (!compresses && twin < 0)
        return;
    buf_add(&text,
            "Whether to compress is not for speed alone to say: does the target deduplicate? "
            "Then compressed files take more room on it than others; a network carries less "
            "of them.");
    add_size(&text, analysis, compresses ? arm : twin, "with");
    add_size(&text, analysis, compresses ? twin : arm, "without");
    add_note(notes, buf_take(&text));
}

/* --- stripes -------------------------------------------------------------------------------- */

/* Where the backup really goes is not known for NUL, and block blobs count blocks. */
static void note_stripes(const struct bundle *bundle, const struct analysis *analysis, int arm,
                         cJSON *notes)
{
    const cJSON *settings = bundle->arms[arm].settings;
    double bytes = analysis->file_bytes[arm];
    if (!(bytes > 0))
        bytes = report_bytes(bundle, arm); /* NUL: as if nothing were compressed */
    if (isnan(bytes))
        return;
    int64_t stripes =
        guard_blob_stripes((int64_t)bytes, member_int(settings, "maxtransfersize", 0));
    if (stripes <= member_int(settings, "files", 1))
        return;
    add_note(notes, mem_format("To Azure block blobs (URL) this backup needs at least %" PRId64
                               " stripes with these transfers: a blob holds 50,000 blocks of "
                               "MAXTRANSFERSIZE (error 3063).",
                               stripes));
}

cJSON *sweep_notes(const struct bundle *bundle, const struct analysis *analysis, int arm)
{
    cJSON *notes = cJSON_CreateArray();
    note_compression(bundle, analysis, arm, notes);
    note_stripes(bundle, analysis, arm, notes);
    return notes;
}
