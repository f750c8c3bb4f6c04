/* SPDX-License-Identifier: MIT
 *
 * roofline.c: which limit a piece of work runs into (S. Williams et al., "Roofline", 2009): pure arithmetic over
 * numbers that others measured. */
#include "perf/perf.h"

static const struct { const char *name, *bound, *hint; } regimes[] = {
    [TL_REGIME_UNKNOWN] = {"unknown", "unknown", "the machine's limits were not measured"},
    [TL_REGIME_MEMORY] = {"memory-bound", "memory",
                          "fewer bytes help: a smaller type, a shorter context or a smaller cache type, several "
                          "sequences at once; more threads only while bandwidth grows with them"},
    [TL_REGIME_COMPUTE] = {"compute-bound", "compute",
                           "more cores, or cores with wider vectors, help; fewer bytes do not"},
    [TL_REGIME_OVERHEAD] = {"overhead-bound", "overhead",
                            "neither memory nor multiplication is at its limit: the time goes to unpacking and scaling, to "
                            "other steps, or to waiting at barriers (in a small model fewer threads may help)"},
    [TL_REGIME_VECTOR] = {"vector work", "vector",
                          "no multiply-adds: norms, quantization, rotation and copies of activations, which stay in the "
                          "caches; in a prompt more cores help, while decoding it is mostly waiting at barriers"},
};

double tl_peak_mixed(double macs, double floats, double int8, double f32) {
    double codes = macs - floats;
    if (macs <= 0 || (codes > 0 && int8 <= 0) || (floats > 0 && f32 <= 0)) return 0;
    return macs / ((codes > 0 ? codes / int8 : 0) + (floats > 0 ? floats / f32 : 0));
}

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
                     : tc > tm && r.compute_share >= TL_COMPUTE_BOUND ? TL_REGIME_COMPUTE
                     : macs > 0 ? TL_REGIME_OVERHEAD : TL_REGIME_VECTOR;
    }
    r.name = regimes[r.regime].name;
    r.bound = regimes[r.regime].bound;
    r.hint = regimes[r.regime].hint;
    return r;
}
