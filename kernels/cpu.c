/* SPDX-License-Identifier: MIT
 * What the CPU offers, asked of the CPU itself (x86: CPUID and XGETBV) or of the kernel (Arm: hwcaps). A vector feature
 * counts only with the operating system's support for its registers, which has bits of its own (TL_F_OS_*). */
#define _GNU_SOURCE   /* syscall */
#include <string.h>
#include "kernels.h"

const char *tl_cpu_feature_name(int bit) {
    static const char *const names[] = {
        "avx2", "fma", "f16c", "os_ymm", "avxvnni", "avx512", "avx512vnni", "os_zmm", "neon", "dotprod", "i8mm", "avx512bf16",
        "amx",
    };
    return bit >= 0 && bit < (int)(sizeof names / sizeof *names) ? names[bit] : NULL;
}

#if defined(__x86_64__)
#include <cpuid.h>

#define BIT(word, n) ((word) >> (n) & 1)

/* Tile registers are 8 KB more for every context switch and signal frame: Linux (5.16 and later) lets a process use them
 * once it has asked, for all its threads. Refused, for one, where a thread's signal stack is too small for them. */
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18
static int tiles_allowed(void) { return !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA); }
#else
static int tiles_allowed(void) { return 0; }
#endif

/* Low half of extended control register 0: the register sets the operating system saves. */
static uint32_t xcr0(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return lo;
}

uint32_t tl_cpu_features(void) {
    uint32_t a, b, c, d, f = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (BIT(c, 12)) f |= TL_F_FMA;
    if (BIT(c, 29)) f |= TL_F_F16C;
    if (BIT(c, 27)) {   /* OSXSAVE: xgetbv may be used */
        uint32_t saved = xcr0();
        if ((saved & 0x06) == 0x06) f |= TL_F_OS_YMM;   /* xmm, upper halves of ymm */
        if ((saved & 0xe6) == 0xe6) f |= TL_F_OS_ZMM;   /* and mask registers, upper halves of zmm, zmm 16-31 */
    }
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
    uint32_t leaves = a;
    if (BIT(b, 5) && BIT(b, 8)) f |= TL_F_AVX2;   /* the level's code is compiled with BMI2 as well */
    if (BIT(b, 16) && BIT(b, 17) && BIT(b, 30) && BIT(b, 31)) f |= TL_F_AVX512;   /* F, DQ, BW, VL */
    if (BIT(c, 11)) f |= TL_F_AVX512VNNI;
    if (BIT(d, 24) && BIT(d, 25) && f & TL_F_OS_ZMM && (xcr0() & 3u << 17) == 3u << 17 && tiles_allowed()) f |= TL_F_AMX;
    if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        if (BIT(a, 4)) f |= TL_F_AVXVNNI;
        if (BIT(a, 5)) f |= TL_F_AVX512BF16;
    }
    return f;
}

void tl_cpu_name(char *buf, size_t size) {
    uint32_t text[13] = {0};   /* 48 bytes and a 0 */
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *t = text + 4 * i;
        if (!__get_cpuid(0x80000002 + i, t, t + 1, t + 2, t + 3)) text[0] = 0;
    }
    const char *s = (const char *)text;
    size_t n = 0;
    if (!size) return;
    for (; *s; s++) {   /* single blanks, none at either end */
        if (*s == ' ' && (n == 0 || s[1] == ' ' || s[1] == 0)) continue;
        if (n + 1 < size) buf[n++] = *s;
    }
    buf[n] = 0;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

/* Bits of the Linux arm64 ABI, which older headers lack. */
#define HWCAP_ADVSIMD (1ul << 1)
#define HWCAP_DOTPROD (1ul << 20)
#define HWCAP2_INT8MM (1ul << 13)

uint32_t tl_cpu_features(void) {
    unsigned long cap = getauxval(AT_HWCAP), cap2 = getauxval(AT_HWCAP2);
    uint32_t f = 0;
    if (cap & HWCAP_ADVSIMD) f |= TL_F_NEON;
    if (cap & HWCAP_DOTPROD) f |= TL_F_DOTPROD;
    if (cap2 & HWCAP2_INT8MM) f |= TL_F_I8MM;
    return f;
}

void tl_cpu_name(char *buf, size_t size) {
    if (size) *buf = 0;
}

#else

uint32_t tl_cpu_features(void) { return 0; }

void tl_cpu_name(char *buf, size_t size) {
    if (size) *buf = 0;
}
#endif

/* Several streams side by side are read faster than one (Sapphire Rapids: 12 to 19 % at 5 KB and more), but on AMD's cores
 * only where they are long (Zen 3, one against four, blocks of 256: experts, of 2 to 7 KB, 8 to 20 % faster with 1 thread and
 * with 2; q8_0 of 17 KB 14 % slower). */
size_t tl_cpu_stream_from(void) {
#if defined(__x86_64__)
    uint32_t a, b = 0, c, d;
    const uint32_t auth = 0x68747541;   /* of "AuthenticAMD" */
    if (__get_cpuid(0, &a, &b, &c, &d) && b == auth) return 8192;
#endif
    return 0;
}
