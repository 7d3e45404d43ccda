#pragma once
/* What the drill and the daemon it kills share: a file that both map, named by SWEETSPOT_DRILL.
 * Only the daemon of the drills (sweetspotd-drill) looks at it; crash_points.c stands between jobs/
 * and server/ there, by the linker's --wrap, and sweetspotd itself knows nothing of it. */
#include <stdatomic.h>
#include <stdint.h>

struct crash_points {
    _Atomic int64_t count;    /* points passed since somebody set it to 0 */
    _Atomic int64_t crash_at; /* the point at which the process kills itself; 0: at none */
    char last[200];           /* what that point was, for people */
};
