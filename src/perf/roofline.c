/* SPDX-License-Identifier: MIT
 *
 * roofline.c: which limit a piece of work runs into (S. Williams et al., "Roofline", 2009): pure arithmetic over
 * numbers that others measured. */
#include "perf/perf.h"

static const struct { const char *name, *hint; } regimes[] = {
    [TL_REGIME_UNKNOWN] = {"unknown", "measure the machine's limits first: tinyllm bench --machine"},
    [TL_REGIME_MEMORY] = {"memory-bound",
                          "fewer bytes help: a smaller type, a shorter context or a smaller cache type, several "
                          "sequences at once; more threads only while bandwidth grows with them"},
    [TL_REGIME_COMPUTE] = {"compute-bound", "more cores or a higher CPU level help; fewer bytes do not"},
    [TL_REGIME_OVERHEAD] = {"overhead-bound",
                            "neither memory nor multiplication is at its limit: see where the time goes (--ops, perf "
                            "record): scaling of sums at level amx, barriers in a small model (fewer threads may help), "
                            "else unpacking"},
};

tl_roofline tl_regime(double bytes, double macs, double seconds, double bandwidth, double peak) {
    tl_roofline r = {0};
    double tm = bandwidth > 0 ? bytes / bandwidth : 0, tc = peak > 0 ? macs / peak : 0;
    if (bytes > 0) r.intensity = macs / bytes;
    if (bandwidth > 0 && peak > 0) r.ridge = peak / bandwidth;
    if (seconds > 0) {
        r.gb_s = bytes / seconds * 1e-9;
        r.gmac_s = macs / seconds * 1e-9;
        r.memory_share = tm / seconds;
        r.compute_share = tc / seconds;
        if (bandwidth > 0 || peak > 0)
            r.regime = tm >= tc && r.memory_share >= TL_MEMORY_BOUND ? TL_REGIME_MEMORY
                     : tc > tm && r.compute_share >= TL_COMPUTE_BOUND ? TL_REGIME_COMPUTE : TL_REGIME_OVERHEAD;
    }
    r.name = regimes[r.regime].name;
    r.hint = regimes[r.regime].hint;
    return r;
}
