/* SPDX-License-Identifier: MIT
 *
 * cmd_cpu.c: what this CPU offers and what the program makes of it: level, threads, the kernel of each tensor type. */
#include <stdlib.h>
#include <string.h>
#include "base/pool.h"
#include "cmd/cmd_model.h"
#include "compute/compute.h"
#include "kernels.h"

typedef struct cpu_args {
    const char *cpu;
    int json;
} cpu_args;

static const tl_opt options[] = {
    {"--cpu", "LEVEL", TL_OPT_STR, offsetof(cpu_args, cpu), 0, 0, "show this level; default: $TINYLLM_CPU, else the best"},
    {"--json", NULL, TL_OPT_FLAG, offsetof(cpu_args, json), 0, 0, "print JSON"},
    {0},
};

/* All that is shown. */
typedef struct report {
    char name[128];
    uint32_t features;
    int level;
    const char *why;              /* this level */
    tl_cpu_count count;
    tl_kernels kernels;           /* of the level */
    int origin[TL_N_TYPES];       /* level that provides gemm[type]; -1: type without arithmetic */
} report;

/* A slot's origin is the lowest level whose own table has the same kernel. */
static void find_origins(report *r) {
    tl_kernels lower;
    for (int type = 0; type < TL_N_TYPES; type++) r->origin[type] = r->kernels.gemm[type].run ? r->level : -1;
    for (int i = r->level - 1; i >= 0; i--) {
        tl_kernels_init(&lower, i);
        for (int type = 0; type < TL_N_TYPES; type++)
            if (r->origin[type] >= 0 && !strcmp(lower.gemm[type].name, r->kernels.gemm[type].name)) r->origin[type] = i;
    }
}

/* Why a type has the kernel it has; "" where it is one written for type and level. */
static const char *why_kernel(const report *r, int type) {
    if (r->level == 0) return "portable C";
    if (r->origin[type] == 0) return "no vector kernel for this type: portable C, slow";
    if (strstr(r->kernels.gemm[type].name, "_generic_")) return "no kernel of its own: rows are decoded on every use, slower";
    return r->origin[type] < r->level ? "the level in use has nothing better" : "";
}

static void add_text(const report *r, tl_buf *out) {
    tl_buf_fmt(out, "cpu       %s\nfeatures  ", r->name[0] ? r->name : "unknown");
    tl_feature_names(out, r->features);
    const tl_cpu_count *c = &r->count;
    tl_buf_fmt(out, "%s\nthreads   %d usable: %d CPUs online, %d in the affinity mask, ", r->features ? "" : "none", c->threads,
               c->online, c->affinity);
    if (c->quota > 0) tl_buf_fmt(out, "quota of %.2f CPUs (%s)\n", c->quota, c->quota_from);
    else tl_buf_str(out, "no CPU quota\n");
    tl_buf_fmt(out, "level     %s: %s\n\nlevels\n", tl_levels[r->level].name, r->why);
    for (int i = 0; tl_levels[i].name; i++) {
        uint32_t lacks = tl_levels[i].needs & ~r->features;
        tl_buf_fmt(out, "  %-12s %s", tl_levels[i].name, lacks ? "no: the CPU lacks " : i == r->level ? "yes, in use" : "yes");
        tl_feature_names(out, lacks);
        tl_buf_str(out, "\n");
    }
    tl_buf_fmt(out, "\n  %-8s %-30s %-12s %-6s %s\n", "type", "kernel", "level", "rows", "why");
    for (int type = 0; type < TL_N_TYPES; type++) {
        const tl_gemm *g = &r->kernels.gemm[type];
        if (r->origin[type] < 0) continue;
        char rows[16] = "raw";
        if (g->rows > 1) snprintf(rows, sizeof rows, "by %d", g->rows);
        tl_buf_fmt(out, "  %-8s %-30s %-12s %s", tl_type_info_get((uint32_t)type)->name, g->name, tl_levels[r->origin[type]].name, rows);
        if (*why_kernel(r, type)) tl_buf_fmt(out, "%*s %s", 6 - (int)strlen(rows), "", why_kernel(r, type));
        tl_buf_str(out, "\n");
    }
}

static void json_features(tl_json *j, const char *key, uint32_t bits) {
    tl_json_begin(j, key, '[');
    for (int bit = 0; tl_cpu_feature_name(bit); bit++)
        if (bits >> bit & 1) tl_json_cstr(j, NULL, tl_cpu_feature_name(bit));
    tl_json_end(j, ']');
}

static void add_json(const report *r, tl_buf *out) {
    tl_json j = {.out = out};
    tl_json_begin(&j, NULL, '{');
    tl_json_cstr(&j, "cpu", r->name);
    json_features(&j, "features", r->features);
    tl_json_cstr(&j, "level", tl_levels[r->level].name);
    tl_json_cstr(&j, "why", r->why);
    tl_json_begin(&j, "threads", '{');
    tl_json_i64(&j, "usable", r->count.threads);
    tl_json_i64(&j, "online", r->count.online);
    tl_json_i64(&j, "affinity", r->count.affinity);
    tl_json_num(&j, "quota", r->count.quota);
    tl_json_end(&j, '}');
    tl_json_begin(&j, "levels", '[');
    for (int i = 0; tl_levels[i].name; i++) {
        tl_json_begin(&j, NULL, '{');
        tl_json_cstr(&j, "name", tl_levels[i].name);
        tl_json_bool(&j, "usable", !(tl_levels[i].needs & ~r->features));
        json_features(&j, "lacks", tl_levels[i].needs & ~r->features);
        tl_json_end(&j, '}');
    }
    tl_json_end(&j, ']');
    tl_json_begin(&j, "types", '[');
    for (int type = 0; type < TL_N_TYPES; type++) {
        if (r->origin[type] < 0) continue;
        tl_json_begin(&j, NULL, '{');
        tl_json_cstr(&j, "type", tl_type_info_get((uint32_t)type)->name);
        tl_json_cstr(&j, "kernel", r->kernels.gemm[type].name);
        tl_json_cstr(&j, "level", tl_levels[r->origin[type]].name);
        tl_json_i64(&j, "rows", r->kernels.gemm[type].rows);
        tl_json_cstr(&j, "why", why_kernel(r, type));
        tl_json_end(&j, '}');
    }
    tl_json_end(&j, ']');
    tl_json_end(&j, '}');
    tl_buf_str(out, "\n");
}

static int cpu_main(const tl_cmd *self, int argc, char **argv) {
    cpu_args a = {0};
    report r = {0};
    tl_error err = {0};
    int code = tl_cmd_parse(self, &a, argc, argv, NULL, 0, 0);
    if (code >= 0) return code;
    tl_cpu_name(r.name, sizeof r.name);
    r.features = tl_cpu_features();
    tl_usable_threads("/", &r.count);
    r.level = tl_cmd_level(a.cpu, &r.why, &err);
    if (r.level < 0) return tl_cmd_fail(&err);
    tl_kernels_init(&r.kernels, r.level);
    find_origins(&r);
    tl_buf out = {0};
    if (a.json) add_json(&r, &out);
    else add_text(&r, &out);
    if (out.failed) tl_fail(&err, TL_E_MEMORY, "cpu: no memory for the report");
    else fwrite(out.p, 1, out.n, stdout);
    tl_buf_free(&out);
    return err.code ? tl_cmd_fail(&err) : 0;
}

const tl_cmd tl_cmd_cpu = {
    "cpu",
    "show this CPU's features, its level and the kernel of each type",
    "[options]",
    "  tinyllm cpu\n"
    "  TINYLLM_CPU=avx2 tinyllm cpu --json\n",
    options,
    cpu_main,
};
