#include "jobs/kinds/sweep.h"
#include "server/limits.h"

#define AT(member) offsetof(struct sweep, member)

/* clang-format off */
const struct json_field sweep_fields[SWEEP_FIELD_COUNT] = {
    {"database",        JSON_TEXT,   AT(database),                       .required = true, .min = 1, .max = LIMIT_SQL_NAME_UTF16, .help = "the database that is backed up"},
    {"targets",         JSON_ARRAY,  AT(targets),                        .min = 1, .max = 16, .help = "where to: [{\"name\", \"paths\", \"files\"}]; NUL when absent"},
    {"buffercount",     JSON_ARRAY,  AT(options[SWEEP_BUFFERCOUNT]),     .min = 1, .max = LIMIT_ARMS, .help = "buffers: \"default\" or numbers"},
    {"maxtransfersize", JSON_ARRAY,  AT(options[SWEEP_MAXTRANSFERSIZE]), .min = 1, .max = LIMIT_ARMS, .help = "bytes: \"default\" or multiples of 65536"},
    {"blocksize",       JSON_ARRAY,  AT(options[SWEEP_BLOCKSIZE]),       .min = 1, .max = LIMIT_ARMS, .help = "bytes: \"default\" or 512 to 65536"},
    {"files",           JSON_ARRAY,  AT(files),                          .min = 1, .max = LIMIT_STRIPES, .help = "stripes, 1 to 64"},
    {"compression",     JSON_ARRAY,  AT(compression),                    .min = 1, .max = 8, .help = "\"default\", \"off\", \"on\" or an algorithm"},
    {"confirm_on",      JSON_OBJECT, AT(confirm_on),                     .nullable = true, .help = "a target: the default and the winner run again there"},
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
