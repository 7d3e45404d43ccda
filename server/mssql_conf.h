#pragma once
/* The freetds.conf we generate: FreeTDS 1.3 takes a certificate authority from nowhere else. One
 * section for each distinct server, rewritten as a whole and put in place by rename, so that a
 * connect in another thread reads either the old or the new file. Threads: any, after
 * mssql_conf_init. */
#include "server/err.h"
#include "server/mssql.h"

/* Room for a section's name. */
#define MSSQL_CONF_NAME_SIZE 32

/* Makes conf_dir/freetds.conf (mode 0600), or keeps it in memory where the disk is full; points
 * FREETDSCONF to it and removes every variable that could redirect the driver or make it write a
 * dump. Once, before threads. */
MUST_CHECK int mssql_conf_init(const char *conf_dir, struct err *err);
void mssql_conf_fini(void);

/* The section for this target (its ca_file is set), added when there is none yet. The target's
 * texts have been checked. */
MUST_CHECK int mssql_conf_section(const struct mssql_target *target,
                                  char out_name[MSSQL_CONF_NAME_SIZE], struct err *err);
