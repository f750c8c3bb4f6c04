/* SPDX-License-Identifier: MIT
 *
 * cmd_model.c: see cmd_model.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd_model.h"
#include "cmd/term.h"
#include "compute/compute.h"
#include "kernels.h"
#include "model/facts.h"
#include "perf/perf.h"

const char tl_cmd_kv_help[] = "type of the KV cache, one of"
#define KV(NAME, name, elems, bytes) " " #name
#include "kv.def"
#undef KV
    "; default f16";

int tl_cmd_level(const char *cpu, const char **why, tl_error *err) {
    const char *env = getenv("TINYLLM_CPU"), *from = cpu ? "--cpu" : "TINYLLM_CPU";
    if (!cpu && env && *env) cpu = env;
    if (why) *why = !cpu || !*cpu ? "the best that this CPU can run" : cpu == env ? "set by TINYLLM_CPU" : "set by --cpu";
    int level = tl_level_choose(cpu, err);
    if (level < 0) tl_error_context(err, "%s", from);
    return level;
}

int tl_cmd_kv(const tl_model_args *args, tl_error *err) {
    char names[128] = "";
    if (!args->kv) return TL_KV_TYPE_F16;
    for (int i = 0; tl_kv_type_name(i); i++) {
        if (strcmp(args->kv, tl_kv_type_name(i)) == 0) return i;
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", !i ? "" : tl_kv_type_name(i + 1) ? ", " : " or ", tl_kv_type_name(i));
    }
    return tl_fail(err, TL_E_ARGUMENT, "--kv: unknown type '%s'; it may be %s", args->kv, names);
}

/* The start, and the last time something was shown. */
typedef struct loading { double begun, shown; } loading;

static int load_progress(void *user, double done) {
    loading *l = user;
    double now = tl_now();
    if (now - l->begun > 1 && now - l->shown > 0.2) {
        tl_term_progress("loading %.0f %%", done * 100);
        l->shown = now;
    }
    return 0;
}

tl_model *tl_cmd_open(const tl_model_args *args, const char *path, int exact, tl_error *err) {
    loading l = {.begun = tl_now()};
    tl_model_options o = tl_model_options_default();
    int level = tl_cmd_level(args->cpu, NULL, err);
    if (level < 0) return NULL;
    o.cpu = tl_levels[level].name;
    o.n_threads = (int)args->threads;
    o.exact = exact;
    o.no_pack = args->no_pack;
    if (isatty(STDERR_FILENO)) o.progress = load_progress, o.progress_user = &l;
    tl_model *m = tl_model_open(path, &o, err);
    tl_term_progress_end();
    if (!m && err->code == TL_E_MEMORY && !args->no_pack) tl_error_hint(err, "--no-pack needs next to none");
    return m;
}

int tl_cmd_threads(int n) {
    int usable = tl_threads_for(0), started = tl_threads_for(n);
    char fewer[40] = "";
    if (n <= usable) return started;
    if (started < n) snprintf(fewer, sizeof fewer, "%d are started, and ", started);
    tl_status("warning: %d threads, but this process may use only %d CPU%s: %sthat is slower, not faster", n, usable,
              usable == 1 ? "" : "s", fewer);
    return started;
}

/* Where there is no room for a context: what there is room for, by halves. left: bytes, 0: unknown. */
static void hint_context(const tl_model *m, tl_session_options o, int64_t per_pos, int64_t left, tl_error *err) {
    char text[32], hint[96];
    const int64_t most = left && per_pos ? left / per_pos : INT64_MAX;
    if (!o.n_ctx) o.n_ctx = TL_DEFAULT_CTX;
    for (tl_session *s = NULL; !s && (o.n_ctx /= 2) >= 64;) {
        s = o.n_ctx <= most ? tl_session_new(m, &o, NULL) : NULL;
        tl_session_free(s);
    }
    snprintf(hint, sizeof hint, "this process may use %s; -c %d fits", tl_bytes_text(text, (double)left), o.n_ctx);
    tl_error_hint(err, left && o.n_ctx >= 64 ? hint : "fewer threads, -t, or a smaller context, -c, need less");
}

/* The cache takes memory as it fills: one that is too large would end the process late. */
static void warn_of_full_context(int ctx, int64_t per_pos, int64_t left) {
    char needed[32], text[32];
    if (left && per_pos * ctx > left)
        tl_status("warning: a full context of %d tokens takes %s of memory, this process may use %s: -c %lld fits", ctx,
                  tl_bytes_text(needed, (double)per_pos * ctx), tl_bytes_text(text, (double)left), (long long)(left / per_pos));
}

tl_session *tl_cmd_session(const tl_model_args *args, const tl_model *m, int n_ctx, int n_batch, tl_error *err) {
    tl_session_options o = tl_session_options_default();
    o.n_ctx = n_ctx;
    o.n_batch = n_batch;
    o.n_threads = tl_cmd_threads((int)args->threads);
    o.kv_type = tl_cmd_kv(args, err);
    if (o.kv_type < 0) return NULL;
    if (tl_model_warning(m)) tl_status("warning: %s", tl_model_warning(m));
    tl_system system;
    tl_system_read("/", &system);
    tl_session *s = tl_session_new(m, &o, err);
    const int64_t per_pos = tl_model_kv_bytes(m, &m->k.kv[o.kv_type]);
    if (!s && err->code == TL_E_MEMORY) hint_context(m, o, per_pos, system.mem_available, err);
    if (s) warn_of_full_context(tl_session_ctx(s), per_pos, system.mem_available);
    int64_t trained = tl_model_get_info(m).n_ctx_train;
    if (s && trained > 0 && tl_session_ctx(s) > trained)
        tl_status("warning: the model was trained for contexts of %lld tokens", (long long)trained);
    return s;
}

/* ---- interrupts --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;
static struct sigaction before;   /* what SIGINT did */

/* The second one does what it did before, which is to end the program; who ignored it wants that, too. */
static void on_interrupt(int sig) {
    if (interrupted) {
        if (before.sa_handler == SIG_IGN) before.sa_handler = SIG_DFL;
        sigaction(sig, &before, NULL);
        raise(sig);   /* arrives when this returns */
    }
    interrupted = 1;
}

void tl_cmd_catch_interrupt(void) {
    struct sigaction a = {0};
    interrupted = 0;
    a.sa_handler = on_interrupt;
    a.sa_flags = SA_RESTART;
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, &before);
}

void tl_cmd_release_interrupt(void) { sigaction(SIGINT, &before, NULL); }

int tl_cmd_interrupted(void) { return interrupted; }

int32_t *tl_cmd_parse_ids(const char *text, int *n, tl_error *err) {
    static const char blanks[] = " ,\t\r\n";
    *n = 0;
    int32_t *ids = tl_alloc_n(strlen(text) / 2 + 1, sizeof *ids, "token ids", err);   /* two bytes each at least */
    while (ids) {
        text += strspn(text, blanks);
        if (!*text) return ids;
        size_t len = strcspn(text, blanks);
        long id = len < 10 && strspn(text, "0123456789") >= len ? strtol(text, NULL, 10) : -1;
        if (id < 0) {
            tl_fail(err, TL_E_ARGUMENT, "'%.*s' is not a token id", (int)(len < 40 ? len : 40), text);
            break;
        }
        ids[(*n)++] = (int32_t)id;
        text += len;
    }
    tl_free(ids);
    *n = 0;
    return NULL;
}

int tl_cmd_check_ids(const int32_t *ids, int n, int n_vocab, tl_error *err) {
    for (int i = 0; i < n; i++)
        if (ids[i] >= n_vocab)
            return tl_fail(err, TL_E_ARGUMENT, "token id %d is outside the vocabulary, 0..%d", ids[i], n_vocab - 1);
    return TL_OK;
}
