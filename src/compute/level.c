/* SPDX-License-Identifier: MIT
 * Which CPU level to use: what the caller wants, checked against what the CPU has. */
#include "compute/compute.h"

void tl_feature_names(tl_buf *out, uint32_t bits) {
    int n = 0;
    for (int bit = 0; tl_cpu_feature_name(bit); bit++)
        if (bits >> bit & 1) tl_buf_fmt(out, "%s%s", n++ ? " " : "", tl_cpu_feature_name(bit));
}

int tl_level_choose(const char *wanted, tl_error *err) {
    int level = wanted && *wanted ? tl_level_by_name(wanted) : tl_level_best();
    tl_buf names = {0};
    uint32_t lacks = level < 0 ? 0 : tl_levels[level].needs & ~tl_cpu_features();
    if (level < 0) {
        for (int i = 0; tl_levels[i].name; i++) tl_buf_fmt(&names, "%s%s", i ? ", " : "", tl_levels[i].name);
        tl_fail(err, TL_E_ARGUMENT, "no CPU level \"%s\"; there are %s", wanted, names.p ? names.p : "none");
    } else if (lacks) {
        tl_feature_names(&names, lacks);
        tl_fail(err, TL_E_ARGUMENT, "this CPU cannot run level %s: it lacks %s", wanted, names.p ? names.p : "");
        level = -1;
    }
    tl_buf_free(&names);
    return level;
}
