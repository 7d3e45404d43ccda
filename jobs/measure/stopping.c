#include "jobs/measure/stopping.h"

#define FIRST_LOOK 3     /* two blocks of two arms know the noise by one degree of freedom */
#define LOOKS_SHARE 0.02 /* of the error, for all looks before the end */

bool stopping_looks_after(const struct design *design, int block)
{
    bool pair_done = design->order != DESIGN_ABBA || block % 2 == 0;
    return design->stop_early && block >= FIRST_LOOK && block < design_blocks(design) && pair_done;
}

double stopping_confidence(const struct design *design, int block)
{
    int looks = 0;
    for (int i = 1; i < design_blocks(design); i++)
        looks += stopping_looks_after(design, i);
    if (looks == 0)
        return design->confidence;
    double share = block < design_blocks(design) ? LOOKS_SHARE / looks : 1 - LOOKS_SHARE;
    return 1 - (1 - design->confidence) * share;
}

bool stopping_is_decided(const struct stats_comparison *comparisons, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (comparisons[i].verdict == VERDICT_INCONCLUSIVE)
            return false;
    return count > 0;
}
