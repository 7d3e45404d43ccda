#pragma once
/* Names of what we make on a measured server: sweetspot_<job>_<number>… Only what is named so is
 * ever dropped. Pure. */
#include <stdbool.h>

#define OWN_NAME_PREFIX "sweetspot_"
#define OWN_TABLE_NUMBERS 1         /* sweetspot_<job>_<seq> */
#define OWN_SNAPSHOT_NUMBERS 2      /* sweetspot_<job>_<seq>_<number> */
#define OWN_SNAPSHOT_FILE_NUMBERS 3 /* sweetspot_<job>_<seq>_<number>_<file id> */

/* True for exactly sweetspot_<uuid> and then `numbers` times _<1 to 19 digits>. */
bool own_name_matches(const char *name, int numbers);
