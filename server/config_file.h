#pragma once
/* A file of `name = value` lines. Lines that begin with # and empty lines are skipped; " #" ends a
 * value. Space around name and value is dropped; there are no quotes, sections or escapes. */
#include "server/err.h"

/* Called for each setting in the order of the lines; returning -1 ends the reading. */
typedef int config_file_line(void *arg, const char *name, const char *value, int line,
                             struct err *err);

/* ERR_SYSTEM when the file cannot be read; ERR_INPUT, with the line, when a line has no '=', holds
 * a NUL, or the file is larger than 64 KiB. */
MUST_CHECK int config_file_read(const char *path, config_file_line *take, void *arg,
                                struct err *err);
