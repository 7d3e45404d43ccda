#pragma once
/* What evidence must look like before a report is made of it: the members that the reports of all
 * kinds rely on, so that no changed or foreign text breaks them. Pure. */
#include "server/err.h"
#include "server/json.h"

#define EVIDENCE_FORMAT 1 /* counts up when a reader of the old form would misread the new one */

/* ERR_INPUT names the first member that is missing or of another type. Arms, trials and design are
 * read, and refused, by their own readers. */
MUST_CHECK int evidence_check_form(const cJSON *tree, struct err *err);
