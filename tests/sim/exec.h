/* exec.h: what the files of the executor share. */
#pragma once

#include "session.h"

enum flow sim_run_select(struct frame *f, struct stmt *st);
enum flow sim_run_assign(struct frame *f, struct stmt *st);
enum flow sim_run_declare(struct frame *f, struct stmt *st);
void sim_start_implicit(struct session *s); /* SET IMPLICIT_TRANSACTIONS ON */
