/* SPDX-License-Identifier: MIT
 *
 * peak.tmpl.h: loops that do nothing but what is measured, for peak.c of every level. The compiler must neither leave
 * anything out nor see through the operands: each step takes operands that an empty asm statement has "changed".
 * Every loop has PEAK_ACCS sums that do not depend on each other: 12 hide 5 cycles of latency on two ports.
 * Operands are filled with bytes 0x3f: 63 as an integer, 0.75 as a float, no special values. */
#include <stdint.h>
#include <string.h>
#include "kernels.h"

#ifndef PEAK_ACCS
#define PEAK_ACCS 12
#endif
#if defined(__x86_64__)
#define PEAK_REG "x"   /* a vector register; "v" where there are 32 */
#elif defined(__aarch64__)
#define PEAK_REG "w"
#endif
#ifdef __AVX512F__
#undef PEAK_REG
#define PEAK_REG "v"
#endif
#ifdef __clang__
#define PEAK_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PEAK_UNROLL _Pragma("GCC unroll 16")
#endif
#define OPAQUE(reg, x) __asm__ volatile("" : "+" reg(x))

/* Defines int64_t fn(int64_t loops). step(acc, a, b) -> acc does so many multiply-adds on values of type V in registers
 * of class reg, a and b being variables. */
#define PEAK(fn, V, reg, macs, step)                                     \
    static int64_t fn(int64_t loops) {                                   \
        V acc[PEAK_ACCS], a, b;                                          \
        PEAK_UNROLL for (int j = 0; j < PEAK_ACCS; j++) acc[j] = (V){0}; \
        memset(&a, 0x3f, sizeof a);                                      \
        memset(&b, 0x3f, sizeof b);                                      \
        OPAQUE(reg, b);                                                  \
        for (int64_t i = 0; i < loops; i++) {                            \
            PEAK_UNROLL for (int j = 0; j < PEAK_ACCS; j++) {            \
                OPAQUE(reg, a);                                          \
                acc[j] = step(acc[j], a, b);                            \
            }                                                            \
        }                                                                \
        PEAK_UNROLL for (int j = 0; j < PEAK_ACCS; j++) OPAQUE(reg, acc[j]); \
        return loops * PEAK_ACCS * (macs);                               \
    }

/* Defines uint64_t fn(const void *p, size_t bytes) that reads with vectors V of whole words. Four neighbouring pages
 * are walked at once: the hardware fetches ahead within a page, and one page at a time gives a core only
 * about three quarters of the bandwidth. What is left behind the last four pages is read in one line. */
#define READ_ACCS 8
#define READ_PAGE 4096
#define READ_ADD(j, from)                                                \
    do {                                                                 \
        V x;                                                             \
        memcpy(&x, from, sizeof x);                                      \
        acc[j] ^= x;                                                     \
    } while (0)
#define READ_SUM(fn, vector)                                             \
    static uint64_t fn(const void *p, size_t bytes) {                    \
        typedef vector V;                                                \
        V acc[READ_ACCS];                                                \
        uint64_t word[sizeof acc / 8], sum = 0;                          \
        const char *at = p, *end = at + bytes;                           \
        PEAK_UNROLL for (int j = 0; j < READ_ACCS; j++) acc[j] = (V){0}; \
        for (; end - at >= 4 * READ_PAGE; at += 4 * READ_PAGE)           \
            for (size_t i = 0; i < READ_PAGE; i += 2 * sizeof(V))        \
                PEAK_UNROLL for (size_t j = 0; j < READ_ACCS; j++)       \
                    READ_ADD(j, at + j / 2 * READ_PAGE + i + j % 2 * sizeof(V)); \
        for (; at < end; at += sizeof acc)                               \
            PEAK_UNROLL for (size_t j = 0; j < READ_ACCS; j++)           \
                READ_ADD(j, at + j * sizeof(V));                         \
        memcpy(word, acc, sizeof acc);                                   \
        for (size_t j = 0; j < sizeof acc / 8; j++) sum += word[j];      \
        return sum;                                                      \
    }
