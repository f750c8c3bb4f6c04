/* SPDX-License-Identifier: MIT
 *
 * The forms of activations at every level this CPU runs, byte for byte against their definition in kernels.h: blocks with
 * every kind of scale, ties, NaN and Inf, in tiles of every fill. */
#include "act.h"
#include "levels.h"

static void check_form(int form) {
    static const int ks[] = {32, 64, 96, 256, 512, 576, 640, 2048}, ns[] = {1, 2, 15, 16, 17, 35};
    EACH_LEVEL for (size_t a = 0; a < sizeof ks / sizeof *ks; a++) for (int b = 0; b < 6; b++) {
        const int k = ks[a], n = ns[b];
        if (k % act_forms[form].block) continue;
        const size_t bytes = tl_act_bytes(form, k, n);
        uint8_t *act = guarded(0, bytes), *want = guarded(1, bytes);
        for (int t = n - 1; t >= 0; t -= 1 + n / 4) {
            float *x = floats(2, k);
            const int calm = below(3) == 0;   /* so that 256 values without NaN or Inf are not rare */
            for (int i = 0; i < k; i += 32) hard_block(x + i, calm ? 8 + below(5) : below(24));
            K.put_act[form](x, k, act, n, t);
            act_forms[form].put(x, k, want, n, t);
        }
        CHECKF(same_act(act, want, bytes), "%s %s k %d n %d", K.level, act_forms[form].name, k, n);
    }
}

static void act_f32(void) { check_form(TL_ACT_F32); }
static void act_q8(void) { check_form(TL_ACT_Q8); }
static void act_q8k(void) { check_form(TL_ACT_Q8K); }

int main(void) {
    RUN(act_f32);
    RUN(act_q8);
    RUN(act_q8k);
    return tl_test_end();
}
