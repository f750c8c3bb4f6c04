/* SPDX-License-Identifier: MIT
 *
 * state.c: a sequence's cache as bytes, and back (docs/FORMATS.md). Everything is checked before a session changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "engine/session.h"

enum { VERSION = 3, HEADER = 88, SUM = 80 };
#define KV(NAME, name, elems, bytes) _Static_assert(sizeof #name <= 9, "the name of a cache type does not fit into the header");
#include "kv.def"
#undef KV
static const char magic[8] = "TLSTATE";

/* ---- numbers and sums ---- */

static void put(uint8_t *p, uint64_t v, int n) {
    for (int i = 0; i < n; i++) p[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get(const uint8_t *p, int n) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* FNV-1a (Fowler, Noll, Vo) over 64-bit words, the rest byte by byte; every step is a bijection of the state, so one
 * changed word always changes the sum. */
static uint64_t sum_of(uint64_t h, const uint8_t *p, size_t n) {
    const uint64_t prime = 0x100000001b3u;
    for (; n >= 8; p += 8, n -= 8) {
        h = (h ^ get(p, 8)) * prime;
        h ^= h >> 29;
    }
    for (; n; p++, n--) h = (h ^ *p) * prime;
    return h;
}

static uint64_t sum_of_number(uint64_t h, uint64_t v) {
    uint8_t b[8];
    put(b, v, sizeof b);
    return sum_of(h, b, sizeof b);
}

/* ---- identity of a model ---- */

static uint64_t sum_of_key(uint64_t h, const tl_gguf_kv *kv) {
    h = sum_of_number(sum_of(h, (const uint8_t *)kv->key.p, kv->key.n), kv->n);
    if (kv->type == TL_GGUF_STR) return sum_of(h, kv->data + 8, (size_t)get(kv->data, 8));
    for (uint64_t i = 0; i < kv->n; i++) {
        const double v = tl_gguf_num_at(kv, i);
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        h = sum_of_number(h, bits);
    }
    return h;
}

uint64_t tl_model_facts(const struct tl_model *m) {
    const tl_gguf *g = m->gguf;
    const size_t arch = strlen(m->arch_name);
    uint64_t h = sum_of(VERSION, (const uint8_t *)m->arch_name, arch);
    for (uint64_t i = 0; i < g->n_kv; i++) {
        const tl_slice key = g->kv[i].key;
        if (key.n > arch && key.p[arch] == '.' && memcmp(key.p, m->arch_name, arch) == 0) h = sum_of_key(h, &g->kv[i]);
    }
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        const tl_gguf_tensor *t = &g->tensors[i];
        h = sum_of_number(sum_of(h, (const uint8_t *)t->name.p, t->name.n), (uint64_t)t->type);
        for (int k = 0; k < 4; k++) h = sum_of_number(h, (uint64_t)t->dims[k]);
    }
    return h;
}

/* The facts and all weights. It takes a second for some GB, so only those wait who save or load states, and it is kept:
 * threads that ask at the same time find the same. */
static int identity_of(const struct tl_model *m, uint64_t *identity, tl_error *err) {
    enum { PART = 1 << 18 };
    _Atomic uint64_t *kept = &((struct tl_model *)m)->identity;
    const tl_gguf *g = m->gguf;
    uint64_t h = *identity = atomic_load(kept);
    if (h) return TL_OK;
    uint8_t *part = tl_alloc_n(PART, 1, "a part of a tensor", err);
    int rc = part ? TL_OK : TL_E_MEMORY;
    h = m->facts;
    for (uint64_t i = 0; i < g->n_tensors && rc == TL_OK; i++) {
        const tl_gguf_tensor *t = &g->tensors[i];
        for (size_t at = 0, n; at < t->bytes && rc == TL_OK; at += n) {
            n = t->bytes - at < PART ? t->bytes - at : PART;
            if (tl_gguf_copy(g, t->data + at, n, part) != TL_OK) rc = tl_fail(err, TL_E_IO, "%s: cannot be read any more", g->path);
            h = sum_of(h, part, n);
        }
    }
    tl_free(part);
    if (rc == TL_OK) atomic_store(kept, *identity = h ? h : 1);
    return rc;
}

/* ---- layout ---- */

/* Bytes of the parts behind the header: dimensions of the slots, ids, pages. */
enum { SLOT = 12 };
typedef struct parts { size_t slots, ids, pages, all; } parts;

static int parts_of(const tl_kv *kv, int n_pos, parts *p) {
    size_t pages = ((size_t)n_pos + TL_KV_PAGE - 1) / TL_KV_PAGE;
    p->slots = (size_t)kv->n_slots * SLOT;
    p->ids = (size_t)n_pos * 4;
    return tl_mul_size(pages, kv->page_bytes, &p->pages) && tl_add_size(HEADER + p->slots + p->ids, p->pages, &p->all);
}

static void put_dims(const tl_kv_dims *d, uint8_t *out) {
    put(out, (uint64_t)d->heads, 4);
    put(out + 4, (uint64_t)d->k, 4);
    put(out + 8, (uint64_t)d->v, 4);
}

/* Of what turns a position into an angle, which may depend on the context's length. */
static uint64_t sum_of_rope(const tl_session *s) {
    return sum_of(VERSION, (const uint8_t *)s->inv_freq, TL_N_ROPES * (size_t)(s->m->hp.n_rot / 2) * sizeof *s->inv_freq);
}

static void write_header(const tl_session *s, int n_pos, const parts *p, uint64_t identity, uint8_t *out) {
    const tl_kv *kv = &s->kv;
    memset(out, 0, HEADER);
    memcpy(out, magic, sizeof magic);
    put(out + 8, VERSION, 4);
    put(out + 12, (uint64_t)n_pos, 4);
    put(out + 16, p->all, 8);
    put(out + 24, identity, 8);
    memcpy(out + 32, kv->ops->name, strlen(kv->ops->name));
    put(out + 40, (uint64_t)kv->n_slots, 4);
    put(out + 44, s->m->forms, 4);
    memcpy(out + 48, s->m->k.level, strlen(s->m->k.level));
    put(out + 72, sum_of_rope(s), 8);
}

static uint64_t sum_of_blob(const uint8_t *blob, size_t n) { return sum_of(sum_of(VERSION, blob, SUM), blob + HEADER, n - HEADER); }

/* ---- saving ---- */

size_t tl_session_save_size(const tl_session *s, int seq) {
    parts p;
    return s && seq >= 0 && seq < s->kv.n_seq && parts_of(&s->kv, s->kv.n_pos[seq], &p) ? p.all : 0;
}

/* Positions of the last page that are not held get zeros: what was there before is nobody's business. */
static void blank_rest(const tl_kv *kv, const tl_kv_slot *slot, uint8_t *page, int held) {
    static const float zeros[TL_HD_MAX];
    for (int at = held; at < TL_KV_PAGE; at++) {
        kv->ops->put_k(page, zeros, slot->hk, at);
        kv->ops->put_v(page + slot->v_at, zeros, slot->hv, at);
    }
}

/* page: 64-byte aligned room for one head's page, as kernels want it. */
static uint8_t *write_pages(const tl_kv *kv, int seq, int n_pos, uint8_t *page, uint8_t *out) {
    int pages = (n_pos + TL_KV_PAGE - 1) / TL_KV_PAGE, rest = n_pos % TL_KV_PAGE;
    for (int slot = 0; slot < kv->n_slots; slot++) {
        const tl_kv_slot *s = &kv->slots[slot];
        for (int i = 0; i < pages; i++)
            for (int h = 0; h < s->dims.heads; h++, out += s->head_bytes) {
                memcpy(page, tl_kv_k(kv, slot, seq, h, i), s->head_bytes);
                if (rest && i == pages - 1) blank_rest(kv, s, page, rest);
                memcpy(out, page, s->head_bytes);
            }
    }
    return out;
}

int tl_session_save(const tl_session *s, int seq, void *blob, size_t size, tl_error *err) {
    if (!s || !blob) return tl_null(err, s ? "room for the state" : "session");
    if (seq < 0 || seq >= s->kv.n_seq) return tl_fail(err, TL_E_ARGUMENT, "save: there is no sequence %d", seq);
    parts p;
    int n = s->kv.n_pos[seq];
    if (!parts_of(&s->kv, n, &p) || size != p.all)
        return tl_fail(err, TL_E_ARGUMENT, "save: the state takes %zu bytes, not %zu", p.all, size);
    uint64_t identity;
    int rc = identity_of(s->m, &identity, err);
    if (rc != TL_OK) return rc;
    uint8_t *page = tl_alloc_big(s->kv.page_bytes, "a page", err), *out = blob;
    if (!page) return TL_E_MEMORY;
    write_header(s, n, &p, identity, out);
    out += HEADER;
    for (int i = 0; i < s->kv.n_slots; i++, out += SLOT) put_dims(&s->kv.slots[i].dims, out);
    for (int i = 0; i < n; i++, out += 4) put(out, (uint32_t)*tl_kv_token(&s->kv, seq, i), 4);
    write_pages(&s->kv, seq, n, page, out);
    put((uint8_t *)blob + SUM, sum_of_blob(blob, p.all), 8);
    tl_free_big(page, s->kv.page_bytes);
    return TL_OK;
}

/* ---- loading ---- */

static int refuse(tl_error *err, int code, const char *why) { return tl_fail(err, code, "saved state: %s", why); }

static int check_shape(const tl_session *s, const uint8_t *b, size_t n, tl_error *err) {
    const tl_kv *kv = &s->kv;
    char name[9] = "";
    memcpy(name, b + 32, 8);
    uint64_t identity;
    int rc = identity_of(s->m, &identity, err);
    if (rc != TL_OK) return rc;
    if (get(b + 24, 8) != identity) return refuse(err, TL_E_FORMAT, "it is of another model");
    if (strcmp(name, kv->ops->name) != 0)
        return tl_fail(err, TL_E_ARGUMENT, "saved state: its cache is of type %.8s, this session's of %s", name, kv->ops->name);
    char level[25] = "";
    memcpy(level, b + 48, 24);
    if (strcmp(level, s->m->k.level) != 0)
        return tl_fail(err, TL_E_ARGUMENT, "saved state: it was computed at CPU level %.24s, this model runs at %s", level, s->m->k.level);
    if (get(b + 44, 4) != s->m->forms || get(b + 72, 8) != sum_of_rope(s))
        return refuse(err, TL_E_ARGUMENT, "it was computed with other settings (exactness, or a context of another length)");
    int same = get(b + 40, 4) == (uint64_t)kv->n_slots && n >= HEADER + (size_t)kv->n_slots * SLOT;
    for (int i = 0; same && i < kv->n_slots; i++) {
        uint8_t mine[SLOT];
        put_dims(&kv->slots[i].dims, mine);
        same = memcmp(b + HEADER + SLOT * i, mine, SLOT) == 0;
    }
    return same ? TL_OK : refuse(err, TL_E_FORMAT, "its cache has another shape");
}

/* Everything but whether there is room. */
static int check(const tl_session *s, const uint8_t *b, size_t n, parts *p, tl_error *err) {
    if (n < HEADER) return refuse(err, TL_E_FORMAT, "it is cut: there is not even a whole header");
    if (memcmp(b, magic, sizeof magic) != 0) return refuse(err, TL_E_FORMAT, "it does not begin as one");
    if (get(b + 8, 4) != VERSION)
        return tl_fail(err, TL_E_UNSUPPORTED, "saved state: it has version %llu, known is %d", (unsigned long long)get(b + 8, 4), VERSION);
    if (n < get(b + 16, 8))
        return tl_fail(err, TL_E_FORMAT, "saved state: it is cut: %zu bytes of %llu are there", n, (unsigned long long)get(b + 16, 8));
    uint64_t n_pos = get(b + 12, 4);
    if (n != get(b + 16, 8) || sum_of_blob(b, n) != get(b + SUM, 8)) return refuse(err, TL_E_FORMAT, "it is damaged");
    int rc = check_shape(s, b, n, err);
    if (rc != TL_OK) return rc;
    if (n_pos > (uint64_t)s->kv.n_ctx)
        return tl_fail(err, TL_E_CONTEXT, "saved state: it has %llu positions, the context %d", (unsigned long long)n_pos, s->kv.n_ctx);
    if (!parts_of(&s->kv, (int)n_pos, p) || p->all != n) return refuse(err, TL_E_FORMAT, "its parts do not make up its size");
    for (size_t i = 0; i < n_pos; i++)
        if (get(b + HEADER + p->slots + 4 * i, 4) >= (uint64_t)s->m->hp.n_vocab)
            return refuse(err, TL_E_FORMAT, "it has tokens outside the vocabulary");
    return TL_OK;
}

/* Pages that the sequence gives back when it is emptied. */
static int own_pages(const tl_kv *kv, int seq) {
    int n = 0;
    for (int i = 0; i < kv->pages_per_seq; i++) {
        int32_t page = kv->table[(size_t)seq * (size_t)kv->pages_per_seq + (size_t)i];
        n += page >= 0 && kv->refs[page] == 1;
    }
    return n;
}

int tl_session_load(tl_session *s, int seq, const void *blob, size_t size, tl_error *err) {
    if (!s || !blob) return tl_null(err, s ? "saved state" : "session");
    if (seq < 0 || seq >= s->kv.n_seq) return tl_fail(err, TL_E_ARGUMENT, "load: there is no sequence %d", seq);
    const uint8_t *b = blob;
    tl_kv *kv = &s->kv;
    parts p;
    int rc = check(s, b, size, &p, err);
    if (rc != TL_OK) return rc;
    int n = (int)get(b + 12, 4), pages = (n + TL_KV_PAGE - 1) / TL_KV_PAGE;
    if (pages > kv->n_free + own_pages(kv, seq)) return refuse(err, TL_E_CONTEXT, "there are too few free pages for it");
    tl_kv_truncate(kv, seq, 0);
    if ((rc = tl_kv_reserve(kv, seq, n, err))) return rc;   /* cannot fail: they were counted */
    const uint8_t *from = b + HEADER + p.slots;
    for (int i = 0; i < n; i++, from += 4) *tl_kv_token(kv, seq, i) = (int32_t)get(from, 4);
    for (int slot = 0; slot < kv->n_slots; slot++) {
        size_t bytes = kv->slots[slot].head_bytes;
        for (int i = 0; i < pages; i++)
            for (int h = 0; h < kv->slots[slot].dims.heads; h++, from += bytes) memcpy(tl_kv_k(kv, slot, seq, h, i), from, bytes);
    }
    kv->n_pos[seq] = n;
    return n;
}

/* ---- files ---- */

int tl_session_save_file(const tl_session *s, int seq, const char *path, tl_error *err) {
    if (!s || !path) return tl_null(err, s ? "path" : "session");
    size_t size = tl_session_save_size(s, seq);
    void *blob = tl_alloc_n(size + 1, 1, "the saved state", err);
    if (!blob) return TL_E_MEMORY;
    tl_out out = {0};
    int rc = tl_session_save(s, seq, blob, size, err);
    if (rc == TL_OK && (rc = tl_out_open(&out, path, err)) == TL_OK) {
        fwrite(blob, 1, size, out.f);   /* a fault shows when it is closed */
        rc = tl_out_close(&out, 1, err);
    }
    tl_free(blob);
    return rc;
}

/* A state of any size, but no more of a file than the size in its header and a part beyond it, and of one that does not
 * begin as a state no more than its beginning. Memory grows with what is there, not with what a header claims. */
static uint8_t *read_blob(FILE *f, const char *path, size_t *n, tl_error *err) {
    size_t cap = 1 << 16;
    uint8_t *b = tl_alloc_n(cap, 1, "the saved state", err);
    for (*n = 0; b;) {
        *n += fread(b + *n, 1, cap - *n, f);
        if (ferror(f)) {
            tl_fail(err, TL_E_IO, "%s: %s", path, strerror(errno));
            break;
        }
        if (*n < cap || memcmp(b, magic, sizeof magic) != 0 || *n > get(b + 16, 8)) return b;
        uint8_t *more = tl_realloc_n(b, cap, 2, "the saved state", err);
        if (!more) break;
        b = more;
        cap *= 2;
    }
    tl_free(b);
    return NULL;
}

int tl_session_load_file(tl_session *s, int seq, const char *path, tl_error *err) {
    if (!s || !path) return tl_null(err, s ? "path" : "session");
    size_t n = 0;
    tl_error own = {0}, *e = err ? err : &own;
    FILE *f = fopen(path, "rbe");
    if (!f) return tl_fail(e, TL_E_IO, "%s: %s", path, strerror(errno));
    uint8_t *blob = read_blob(f, path, &n, e);
    fclose(f);
    int rc = blob ? tl_session_load(s, seq, blob, n, e) : e->code;
    if (blob && rc < 0) tl_error_context(e, "%s", path);
    tl_free(blob);
    return rc;
}
