#include "jobs/kinds/sweep.h"
#include "jobs/target.h"
#include "server/limits.h"

#include <limits.h>

#define AT(member) offsetof(struct sweep, member)

/* clang-format off */
static const struct json_field buffercount_shape = {.type = JSON_INT, .min = 1, .max = INT_MAX, .or_word = "default"};
static const struct json_field transfer_shape = {.type = JSON_INT, .min = 65536, .max = 4194304, .or_word = "default"};
static const struct json_field block_shape = {.type = JSON_INT, .min = 512, .max = 65536, .or_word = "default"};
static const struct json_field files_shape = {.type = JSON_INT, .min = 1, .max = LIMIT_STRIPES};
const struct json_field sweep_fields[SWEEP_FIELD_COUNT] = {
    {"database",        JSON_TEXT,   AT(database),                       .required = true, .min = 1, .max = LIMIT_SQL_NAME_UTF16, .help = "the database that is backed up"},
    {"targets",         JSON_ARRAY,  AT(targets),                        .min = 1, .max = 16, .help = "where to: [{\"name\", \"paths\", \"files\"}]; NUL when absent", .shape = &target_shape},
    {"buffercount",     JSON_ARRAY,  AT(options[SWEEP_BUFFERCOUNT]),     .min = 1, .max = LIMIT_ARMS, .help = "buffers: \"default\" or numbers", .shape = &buffercount_shape},
    {"maxtransfersize", JSON_ARRAY,  AT(options[SWEEP_MAXTRANSFERSIZE]), .min = 1, .max = LIMIT_ARMS, .help = "bytes: \"default\" or multiples of 65536", .shape = &transfer_shape},
    {"blocksize",       JSON_ARRAY,  AT(options[SWEEP_BLOCKSIZE]),       .min = 1, .max = LIMIT_ARMS, .help = "bytes: \"default\" or a power of two, 512 to 65536", .shape = &block_shape},
    {"files",           JSON_ARRAY,  AT(files),                          .min = 1, .max = LIMIT_STRIPES, .help = "stripes, 1 to 64", .shape = &files_shape},
    {"compression",     JSON_ARRAY,  AT(compression),                    .min = 1, .max = 8, .help = "\"default\", \"off\", \"on\" or an algorithm", .shape = &compression_shape},
    {"confirm_on",      JSON_OBJECT, AT(confirm_on),                     .nullable = true, .help = "a target: the default and the winner run again there", .shape = &target_shape},
};
/* clang-format on */

const char *const sweep_option_names[SWEEP_OPTIONS] = {"buffercount", "maxtransfersize",
                                                       "blocksize"};

void sweep_read(const cJSON *parameters, struct sweep *out, struct json_faults *faults)
{
    struct json_faults ignored = {0};
    *out = (struct sweep){0};
    json_read(parameters, sweep_fields, SWEEP_FIELD_COUNT, "/parameters", out,
              faults ? faults : &ignored);
    json_faults_fini(&ignored);
    if (!out->targets)
        out->targets = sweep_default_targets();
}
