/* SPDX-License-Identifier: MIT
 * gguf_test.c: round trips through the writer, and every way a file can be wrong. Files are built byte by byte with the
 * helpers below, so that nothing here depends on the writer agreeing with the reader. */
#include <math.h>
#include "gguf.inc"

/* ---- files byte by byte ------------------------------------------------------------------------------------------ */

static tl_buf b;

static void u8(unsigned v) { uint8_t x = (uint8_t)v; tl_buf_add(&b, &x, 1); }
static void u32(uint32_t v) { tl_buf_add(&b, &v, 4); }
static void u64(uint64_t v) { tl_buf_add(&b, &v, 8); }
static void str(const char *s) { u64(strlen(s)); tl_buf_str(&b, s); }
static void pad(size_t to) { while (b.n % to) u8(0); }
static void zeros(int n) { while (n--) u8(0); }

static void head(uint32_t version, uint64_t tensors, uint64_t keys) {
    b.n = 0;
    tl_buf_add(&b, "GGUF", 4);
    u32(version);
    u64(tensors);
    u64(keys);
}

static void key(const char *name, uint32_t type) { str(name); u32(type); }
static void key_str(const char *name, const char *v) { key(name, TL_GGUF_STR); str(v); }
static void key_u32(const char *name, uint32_t v) { key(name, TL_GGUF_U32); u32(v); }
static void key_arr(const char *name, uint32_t elem, uint64_t n) { key(name, TL_GGUF_ARR); u32(elem); u64(n); }
static void arch(void) { key_str("general.architecture", "llama"); }

static void tensor(const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims, uint64_t offset) {
    str(name);
    u32(n_dims);
    for (uint32_t i = 0; i < n_dims; i++) u64(dims[i]);
    u32(type);
    u64(offset);
}
#define TENSOR(name, type, offset, ...) \
    tensor(name, type, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__}, offset)

static tl_gguf *open_bytes(tl_error *err) {
    const char *path = in_dir("x.gguf");
    put_file(path, b.p, b.n);
    return tl_gguf_open(path, 0, err);
}

/* The buffer as a file must be refused with text in the message. */
static void refuse_at(int line, const char *text) {
    tl_error err = {0};
    tl_gguf *g = open_bytes(&err);
    CHECKF(!g, "line %d: accepted", line);
    CHECKF(err.code < 0 && strstr(err.text, text) && strstr(err.text, "x.gguf"), "line %d: wanted \"%s\", got %d %s",
           line, text, err.code, err.text);
    for (const char *p = err.text; *p; p++)
        CHECKF((unsigned char)*p >= 0x20 && *p != 0x7f, "line %d: control byte", line);
    tl_gguf_free(g);
}
#define REFUSE(text) refuse_at(__LINE__, text)

static void accept_at(int line) {
    tl_error err = {0};
    tl_gguf *g = open_bytes(&err);
    CHECKF(g && !err.code, "line %d: refused: %s", line, err.text);
    tl_gguf_free(g);
}
#define ACCEPT() accept_at(__LINE__)

/* Uses all that an opened file offers, for the sanitizers. */
static uint64_t touch(const tl_gguf *g) {
    uint64_t sum = 0, n;
    for (uint64_t i = 0; i < g->n_kv; i++) {
        const tl_gguf_kv *kv = &g->kv[i];
        char name[300];
        snprintf(name, sizeof name, "%.*s", (int)(kv->key.n < 299 ? kv->key.n : 299), kv->key.p);
        sum += (uint64_t)tl_gguf_int_at(kv, 0) + (uint64_t)tl_gguf_int_at(kv, kv->n - 1);
        sum += tl_gguf_num_at(kv, kv->n - 1) > 0;
        tl_slice *s = tl_gguf_strings(g, name, &n, NULL), one;
        for (uint64_t k = 0; s && k < n; k++) sum += s[k].n ? (unsigned char)s[k].p[s[k].n - 1] : 0;
        tl_free(s);
        if (tl_gguf_str(g, name, &one, NULL) == 1 && one.n) sum += (unsigned char)one.p[one.n - 1];
    }
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        const tl_gguf_tensor *t = &g->tensors[i];
        CHECK(t->data && t->bytes > 0 && t->n_dims >= 1 && t->n_dims <= 4 && tl_type_info_get((uint32_t)t->type));
        sum += (uint64_t)t->data[0] + t->data[t->bytes - 1];
    }
    return sum;
}

/* ---- reading and writing ----------------------------------------------------------------------------------------- */

static float weights[64];
static uint8_t blocks[2 * 18];

static int write_sample(const char *path, tl_error *err) {
    tl_gguf_writer *w = tl_gguf_writer_new(err);
    const char *const list[] = {"one", "", "three"};
    for (int i = 0; i < 64; i++) weights[i] = (float)i;
    tl_gguf_put_str(w, "general.architecture", "llama");
    tl_gguf_put_u32(w, "a.count", 7);
    tl_gguf_put_f32(w, "a.number", 0.5f);
    tl_gguf_put_bool(w, "a.truth", 1);
    tl_gguf_put_strs(w, "a.list", list, 3);
    tl_gguf_put_i32s(w, "a.ints", (const int32_t[]){-1, 2}, 2);
    tl_gguf_put_f32s(w, "a.floats", (const float[]){1.5f, -2}, 2);
    tl_gguf_put_tensor(w, "small", TL_TYPE_Q4_0, 2, (const int64_t[]){32, 2}, blocks, sizeof blocks);
    tl_gguf_put_tensor(w, "big", TL_TYPE_F32, 2, (const int64_t[]){16, 4}, weights, sizeof weights);
    int rc = tl_gguf_write(w, path, err);
    tl_gguf_writer_free(w);
    return rc;
}

static void round_trip(void) {
    tl_error err = {0};
    const char *path = in_dir("sample.gguf");
    CHECKF(write_sample(path, &err) == TL_OK, "%s", err.text);
    tl_gguf *g = tl_gguf_open(path, 0, &err);
    CHECKF(g, "%s", err.text);
    if (!g) return;
    int64_t i = 0;
    double d = 0;
    int truth = 0;
    uint64_t n = 0;
    tl_slice s = {0};
    CHECK(g->version == 3 && g->n_kv == 7 && g->n_tensors == 2 && g->n_parts == 1 && g->parts_expected == 1);
    CHECK(g->extra_bytes == 0 && g->parts[0].alignment == 32 && g->parts[0].data_at % 32 == 0);
    CHECK(tl_gguf_i64(g, "a.count", 0, 10, &i, &err) == 1 && i == 7);
    CHECK(tl_gguf_f64(g, "a.number", &d, &err) == 1 && d == 0.5);
    CHECK(tl_gguf_f64(g, "a.count", &d, &err) == 1 && d == 7);
    CHECK(tl_gguf_bool(g, "a.truth", &truth, &err) == 1 && truth == 1);
    CHECK(tl_gguf_str(g, "general.architecture", &s, &err) == 1 && tl_slice_is(s, "llama"));
    CHECK(tl_gguf_i64(g, "absent", 0, 1, &i, &err) == 0 && !tl_gguf_find(g, "a.coun") && !tl_gguf_find(g, ""));
    tl_slice *list = tl_gguf_strings(g, "a.list", &n, &err);
    CHECK(list && n == 3 && tl_slice_is(list[0], "one") && list[1].n == 0 && tl_slice_is(list[2], "three"));
    tl_free(list);
    CHECK(tl_gguf_int_at(tl_gguf_find(g, "a.ints"), 0) == -1 && tl_gguf_int_at(tl_gguf_find(g, "a.ints"), 2) == 0);
    CHECK(tl_gguf_num_at(tl_gguf_find(g, "a.floats"), 1) == -2);
    const tl_gguf_tensor *t = tl_gguf_tensor_find(g, "big");
    CHECK(t && t->n_dims == 2 && t->dims[0] == 16 && t->dims[1] == 4 && t->dims[2] == 1 && t->bytes == sizeof weights);
    CHECK(t && memcmp(t->data, weights, sizeof weights) == 0);
    CHECK(tl_gguf_tensor_find(g, "small")->type == TL_TYPE_Q4_0 && !tl_gguf_tensor_find(g, "smal") && !err.code);
    tl_gguf_free(g);
}

static void values_are_checked(void) {
    tl_error err = {0};
    int64_t i = 5;
    double d = 5;
    uint64_t n;
    head(3, 0, 9);
    key("u8", TL_GGUF_U8), u8(200);
    key("i8", TL_GGUF_I8), u8(200);
    key("i16", TL_GGUF_I16), u8(0xfe), u8(0xff);
    key("big", TL_GGUF_U64), u64(UINT64_MAX);
    key("i64", TL_GGUF_I64), u64((uint64_t)INT64_MIN);
    key("nan", TL_GGUF_F32), u32(0x7fc00000);
    key("inf", TL_GGUF_F64), u64(0x7ff0000000000000u);
    key("bool", TL_GGUF_BOOL), u8(1);
    key_str("str", "x");
    tl_gguf *g = open_bytes(&err);
    CHECKF(g, "%s", err.text);
    if (!g) return;
    CHECK(tl_gguf_i64(g, "u8", 0, 255, &i, NULL) == 1 && i == 200);
    CHECK(tl_gguf_i64(g, "i8", -128, 127, &i, NULL) == 1 && i == -56);
    CHECK(tl_gguf_i64(g, "i16", -9, 9, &i, NULL) == 1 && i == -2);
    CHECK(tl_gguf_i64(g, "i64", INT64_MIN, 0, &i, NULL) == 1 && i == INT64_MIN);
    i = 5;
    CHECK(tl_gguf_i64(g, "u8", 0, 199, &i, &err) == TL_E_FORMAT && strstr(err.text, "'u8' is 200: 0 to 199") && i == 5);
    err = (tl_error){0};
    CHECK(tl_gguf_i64(g, "big", INT64_MIN, INT64_MAX, &i, &err) == TL_E_FORMAT);
    CHECK(strstr(err.text, "18446744073709551615"));
    CHECK(tl_gguf_i64(g, "nan", 0, 9, &i, NULL) == TL_E_FORMAT);
    CHECK(tl_gguf_i64(g, "bool", 0, 9, &i, NULL) == TL_E_FORMAT);
    CHECK(tl_gguf_i64(g, "str", 0, 9, &i, NULL) == TL_E_FORMAT && i == 5);
    CHECK(tl_gguf_f64(g, "nan", &d, NULL) == TL_E_FORMAT && tl_gguf_f64(g, "inf", &d, NULL) == TL_E_FORMAT);
    CHECK(tl_gguf_f64(g, "str", &d, NULL) == TL_E_FORMAT && d == 5);
    CHECK(tl_gguf_f64(g, "big", &d, NULL) == 1 && d == 18446744073709551616.0);
    CHECK(tl_gguf_bool(g, "u8", (int[]){0}, NULL) == TL_E_FORMAT);
    CHECK(tl_gguf_str(g, "u8", (tl_slice[]){{0}}, NULL) == TL_E_FORMAT);
    CHECK(tl_gguf_strings(g, "str", &n, NULL) == NULL && tl_gguf_strings(g, "absent", &n, NULL) == NULL);
    CHECK(tl_gguf_int_at(tl_gguf_find(g, "nan"), 0) == 0 && tl_gguf_int_at(tl_gguf_find(g, "inf"), 0) == INT64_MAX);
    CHECK(tl_gguf_int_at(tl_gguf_find(g, "str"), 0) == 0 && tl_gguf_int_at(tl_gguf_find(g, "big"), 0) == INT64_MAX);
    tl_gguf_free(g);
}

static void writer_refuses_nonsense(void) {
    const int64_t dims[] = {32, 2};
    for (int i = 0; i < 6; i++) {
        tl_error err = {0};
        tl_gguf_writer *w = tl_gguf_writer_new(&err);
        const char *path = in_dir("w.gguf");
        put_file(path, "old", 3);
        if (i == 0) tl_gguf_put_tensor(w, "t", TL_TYPE_Q4_0, 2, dims, blocks, 35);
        if (i == 1) tl_gguf_put_tensor(w, "t", TL_TYPE_Q4_0, 2, (const int64_t[]){31, 2}, blocks, 36);
        if (i == 2) tl_gguf_put_u32(w, "general.alignment", 48);
        if (i == 3) tl_gguf_put_u32(w, "", 1);
        if (i == 4) tl_gguf_put_tensor(w, "t", 4, 2, dims, blocks, 36);   /* a type that is gone */
        for (int twice = 0; twice < 2 && i == 5; twice++) tl_gguf_put_tensor(w, "t", TL_TYPE_Q4_0, 2, dims, blocks, 36);
        CHECKF(tl_gguf_write(w, path, &err) < 0 && err.text[0], "case %d", i);
        tl_gguf_writer_free(w);
        size_t n;
        char *old = tl_read_file(path, &n, NULL);
        CHECKF(old && n == 3 && memcmp(old, "old", 3) == 0, "case %d: the old file is gone", i);
        tl_free(old);
    }
    tl_error err = {0};
    CHECK(write_sample(in_dir("no/such/folder.gguf"), &err) == TL_E_IO);
}

static void writer_aligns(void) {
    tl_error err = {0};
    tl_gguf_writer *w = tl_gguf_writer_new(&err);
    tl_gguf_put_u32(w, "general.alignment", 4096);
    tl_gguf_put_tensor(w, "a", TL_TYPE_Q4_0, 2, (const int64_t[]){32, 2}, blocks, 36);
    tl_gguf_put_tensor(w, "b", TL_TYPE_Q4_0, 2, (const int64_t[]){32, 2}, blocks, 36);
    CHECKF(tl_gguf_write(w, in_dir("a.gguf"), &err) == TL_OK, "%s", err.text);
    tl_gguf_writer_free(w);
    tl_gguf *g = tl_gguf_open(in_dir("a.gguf"), 0, &err);
    CHECKF(g && g->file_bytes == 3 * 4096 && g->tensors[1].data - g->tensors[0].data == 4096, "%s", err.text);
    tl_gguf_free(g);
}

/* ---- damaged files ----------------------------------------------------------------------------------------------- */

static void not_gguf(void) {
    tl_error err = {0};
    CHECK(!tl_gguf_open(in_dir("none"), 0, &err) && err.code == TL_E_IO && strstr(err.text, "none"));
    err = (tl_error){0};
    CHECK(!tl_gguf_open(dir, 0, &err) && err.code == TL_E_IO && strstr(err.text, "directory"));
    b.n = 0;
    REFUSE("empty");
    tl_buf_str(&b, " \n<!DOCTYPE html><html>");
    REFUSE("web page");
    b.n = 0;
    tl_buf_str(&b, "version https://git-lfs.github.com/spec/v1\n");
    REFUSE("git lfs");
    b.n = 0;
    tl_buf_str(&b, "\x01\x02\x03\x04 something else");
    REFUSE("\\x01\\x02\\x03\\x04");
    b.n = 0;
    tl_buf_str(&b, "GG");
    REFUSE("not a GGUF file");
    tl_buf_str(&b, "UF");
    REFUSE("incomplete: 4 bytes");
}

static void versions(void) {
    for (uint32_t v = 0; v < 6; v++) {
        head(v, 1, 1), arch(), TENSOR("t", TL_TYPE_F32, 0, 8), pad(32), zeros(32);
        char text[32];
        snprintf(text, sizeof text, "version %u is not", (unsigned)v);
        if (v == 2 || v == 3) ACCEPT();
        else REFUSE(text);
    }
    for (uint32_t v = 1; v <= 3; v++) {
        head(v << 24, 0, 0);
        REFUSE("big-endian");
    }
    head(0x47475546, 0, 0);
    REFUSE("version 1195857222");
    /* Version 1 had 32-bit counts. */
    b.n = 0;
    tl_buf_add(&b, "GGUF", 4), u32(1), u32(0), u32(1), u32(0), u32(TL_GGUF_STR), u32(0);
    REFUSE("version 1");
}

static void bad_keys(void) {
    head(3, 0, 1), key_u32("", 1);
    REFUSE("name of 0 bytes");
    head(3, 0, 1), u64(0xffffffffffff), tl_buf_str(&b, "some bytes that follow");
    REFUSE("ends inside key 1");
    head(3, 0, 1), u64(UINT64_MAX), tl_buf_str(&b, "some bytes that follow");
    REFUSE("ends inside key 1");
    head(3, 0, 1), u64(70000), zeros(70000), u32(TL_GGUF_U8), u8(0);
    REFUSE("name of 70000 bytes");
    head(3, 0, 2), key_u32("twice", 1), key_u32("twice", 1);
    REFUSE("'twice' occurs twice");
    head(3, 0, 2), key_u32("\x1b[2J\n", 1), key_u32("\x1b[2J\n", 1);
    REFUSE("'\\x1b[2J\\x0a'");
    head(3, 0, 1), key("x", 13), zeros(16);
    REFUSE("'x' has unknown value type 13");
    head(3, 0, 1), key("x", UINT32_MAX), zeros(16);
    REFUSE("unknown value type 4294967295");
    head(3, 0, 1), key("x", TL_GGUF_BOOL), u8(2);
    REFUSE("truth value");
    head(3, 0, 1), key("x", TL_GGUF_STR), u64(UINT64_C(1) << 63 | 8), zeros(32);
    REFUSE("'x' reaches past");
    head(3, 0, 1), key("x", TL_GGUF_F64), u32(0);
    REFUSE("'x' reaches past");
    head(3, 0, UINT64_C(1) << 60), arch();
    REFUSE("claims 1152921504606846976 keys");
    head(3, UINT64_C(1) << 61, 1), arch();
    REFUSE("claims 2305843009213693952 tensors");
    head(3, 0, 2), arch(), zeros(7);
    REFUSE("ends inside key 2 of 2");
}

static void bad_arrays(void) {
    head(3, 0, 1), key_arr("x", TL_GGUF_U8, UINT64_C(1) << 62), u8(1);
    REFUSE("'x' reaches past");
    head(3, 0, 1), key_arr("x", TL_GGUF_F64, (UINT64_MAX >> 3) + 2), zeros(64);   /* times 8 wraps to 8 */
    REFUSE("'x' reaches past");
    head(3, 0, 1), key_arr("x", TL_GGUF_STR, UINT64_C(1) << 40);
    REFUSE("'x' reaches past");
    head(3, 0, 1), key_arr("x", TL_GGUF_STR, 2), str("a"), u64(9), zeros(8);
    REFUSE("'x' reaches past");
    head(3, 0, 1), key_arr("x", 13, 1), zeros(8);
    REFUSE("array of unknown type 13");
    head(3, 0, 1), key_arr("x", TL_GGUF_BOOL, 3), u8(0), u8(1), u8(7);
    REFUSE("truth value");
    head(3, 0, 1), key_arr("x", TL_GGUF_I32, 0);
    ACCEPT();
    head(3, 0, 1), key_arr("x", TL_GGUF_ARR, 2), u32(TL_GGUF_U8), u64(3), zeros(3), u32(TL_GGUF_STR), u64(1), str("s");
    ACCEPT();
    head(3, 0, 1), key_arr("x", TL_GGUF_ARR, 2), u32(TL_GGUF_U8), u64(3), zeros(3);
    REFUSE("'x' reaches past");
    head(3, 0, 1), key_arr("x", TL_GGUF_ARR, 1), u32(99), u64(0);
    REFUSE("unknown value type");
    head(3, 0, 1), key("x", TL_GGUF_ARR);
    for (int i = 0; i < 100000; i++) u32(TL_GGUF_ARR), u64(1);
    REFUSE("too deeply");
}

static void bad_general(void) {
    static const struct { uint32_t value; int ok; } cases[] = {
        {0, 0},  {1, 0},  {4, 0},     {8, 1},      {16, 1},                {32, 1},
        {48, 0}, {64, 1}, {65536, 1}, {131072, 0}, {UINT32_C(1) << 31, 0}, {UINT32_MAX, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        head(3, 1, 2), arch(), key_u32("general.alignment", cases[i].value);
        TENSOR("t", TL_TYPE_F32, 0, 8), pad(cases[i].ok ? cases[i].value : 32), zeros(32);
        if (cases[i].ok) ACCEPT();
        else REFUSE("general.alignment is");
    }
    head(3, 0, 1), key("general.alignment", TL_GGUF_I32), u32(32);
    REFUSE("not an unsigned");
    head(3, 0, 1), key("general.alignment", TL_GGUF_U64), u64(UINT64_C(1) << 63);
    REFUSE("general.alignment is");
    head(3, 0, 1), key("general.alignment", TL_GGUF_U64), u64(64);
    ACCEPT();
    head(3, 0, 1), key_arr("general.alignment", TL_GGUF_U32, 1), u32(32);
    REFUSE("not an unsigned");
    head(3, 0, 2), key_u32("general.alignment", 32), key_u32("general.alignment", 64);
    REFUSE("'general.alignment' occurs twice");
    head(3, 1, 2), arch(), key_u32("general.alignment", 8), TENSOR("t", TL_TYPE_F32, 4, 4), pad(8), zeros(32);
    REFUSE("has offset 4");
    head(3, 0, 1), key_str("general.architecture", "");
    REFUSE("empty");
    head(3, 0, 1), key_u32("general.architecture", 1);
    REFUSE("not a string");
    head(3, 0, 0);
    ACCEPT();
}

static void one_tensor(uint32_t type, uint64_t offset, uint32_t n_dims, uint64_t d0, uint64_t d1, uint64_t d2,
                       uint64_t d3) {
    head(3, 1, 1), arch();
    tensor("t", type, n_dims, (const uint64_t[]){d0, d1, d2, d3}, offset);
    pad(32), zeros(64);
}

static void bad_dimensions(void) {
    const uint64_t two32 = UINT64_C(1) << 32, max = INT64_MAX;
    one_tensor(TL_TYPE_F32, 0, 2, two32, two32, 1, 1);
    REFUSE("multiply to more");
    one_tensor(TL_TYPE_I8, 0, 4, max, 2, 1, 1);
    REFUSE("multiply to more");
    one_tensor(TL_TYPE_I8, 0, 4, 2, max, max, max);
    REFUSE("multiply to more");
    one_tensor(TL_TYPE_F32, 0, 2, UINT64_C(1) << 42, UINT64_C(1) << 22, 1, 1);   /* elements fit, bytes wrap */
    REFUSE("tensor 't'");
    one_tensor(TL_TYPE_F32, 0, 1, UINT64_C(1) << 62, 1, 1, 1);                   /* bytes wrap to 0 */
    REFUSE("tensor 't'");
    one_tensor(TL_TYPE_I8, 0, 1, max, 1, 1, 1);
    REFUSE("out of range");
    one_tensor(TL_TYPE_I8, UINT64_C(0x7fffffffffffffe0), 1, max, 1, 1, 1);       /* start + size wraps */
    REFUSE("out of range");
    one_tensor(TL_TYPE_I8, 0, 1, max + 1, 1, 1, 1);
    REFUSE("dimension 1 of 9223372036854775808");
    one_tensor(TL_TYPE_F32, 0, 2, 0, 4, 1, 1);
    REFUSE("dimension 1 of 0");
    one_tensor(TL_TYPE_F32, 0, 4, 1, 1, 1, 0);
    REFUSE("dimension 4 of 0");
    one_tensor(TL_TYPE_F32, 0, 0, 1, 1, 1, 1);
    REFUSE("has 0 dimensions");
    head(3, 1, 1), arch(), str("t"), u32(UINT32_MAX), zeros(200);
    REFUSE("has 4294967295 dimensions");
    head(3, 1, 1), arch(), TENSOR("t", TL_TYPE_F32, 0, 1, 1, 1, 1, 1), pad(32), zeros(64);
    REFUSE("has 5 dimensions");
    one_tensor(TL_TYPE_Q4_0, 0, 1, 33, 1, 1, 1);
    REFUSE("not a multiple of the q4_0 block of 32");
    one_tensor(TL_TYPE_Q4_K, 0, 2, 128, 2, 1, 1);
    REFUSE("q4_k block of 256");
    one_tensor(TL_TYPE_F32, 0, 4, 2, 2, 2, 2);
    ACCEPT();
}

static void bad_tensors(void) {
    one_tensor(TL_N_TYPES, 0, 1, 8, 1, 1, 1);
    REFUSE("'t' has type ");
    one_tensor(UINT32_MAX, 0, 1, 8, 1, 1, 1);
    REFUSE("'t' has type 4294967295");
    one_tensor(31, 0, 1, 32, 1, 1, 1);
    REFUSE("q4_0_4_4: use the plain q4_0 file");
    one_tensor(TL_TYPE_IQ2_XXS, 0, 1, 256, 1, 1, 1), zeros(66);
    ACCEPT();
    one_tensor(TL_TYPE_F32, UINT64_C(1) << 40, 1, 8, 1, 1, 1);
    REFUSE("incomplete: it has 192 bytes, tensor 't' needs 1099511627936");
    one_tensor(TL_TYPE_F32, UINT64_MAX - 31, 1, 8, 1, 1, 1);                     /* offset + size is 2^64 */
    REFUSE("out of range");
    one_tensor(TL_TYPE_F32, 64, 1, 1, 1, 1, 1);
    REFUSE("incomplete");
    one_tensor(TL_TYPE_F32, 32, 1, 8, 1, 1, 1);
    ACCEPT();
    head(3, 1, 1), arch(), TENSOR("", TL_TYPE_F32, 0, 8), pad(32), zeros(32);
    REFUSE("name of 0 bytes");
    head(3, 1, 1), arch(), u64(UINT64_MAX), zeros(100);
    REFUSE("ends inside tensor 1");
    head(3, 2, 1), arch(), TENSOR("t", TL_TYPE_F32, 0, 8), TENSOR("t", TL_TYPE_F32, 32, 8), pad(32), zeros(64);
    REFUSE("tensor 't' occurs twice");
    head(3, 2, 1), arch(), TENSOR("t", TL_TYPE_F32, 0, 9), TENSOR("u", TL_TYPE_F32, 32, 8), pad(32), zeros(64);
    REFUSE("'t' and 'u' overlap");
    head(3, 2, 1), arch(), TENSOR("t", TL_TYPE_F32, 32, 8), TENSOR("u", TL_TYPE_F32, 32, 8), pad(32), zeros(64);
    REFUSE("overlap");
    head(3, 2, 1), arch(), TENSOR("t", TL_TYPE_F32, 32, 8), TENSOR("u", TL_TYPE_F32, 0, 8), pad(32), zeros(64);
    ACCEPT();   /* any order */
    head(3, 1, 1), arch(), TENSOR("t", TL_TYPE_F32, 0, 8);
    REFUSE("incomplete");   /* ends before the padding */
}

static void surplus_is_counted(void) {
    tl_error err = {0};
    one_tensor(TL_TYPE_F32, 0, 1, 8, 1, 1, 1);
    tl_gguf *g = open_bytes(&err);
    CHECKF(g && g->extra_bytes == 32, "%s", err.text);
    tl_gguf_free(g);
    one_tensor(TL_TYPE_F32, 0, 1, 3, 1, 1, 1);
    b.n -= 52;   /* the tensor's 12 bytes and no padding */
    g = open_bytes(&err);
    CHECKF(g && g->extra_bytes == 0 && g->tensors[0].bytes == 12, "%s", err.text);
    tl_gguf_free(g);
}

static void too_many_keys(void) {
    enum { N = 300000 };
    char name[16];
    head(3, 0, N);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%d", i);
        key(name, TL_GGUF_U8), u8(0);
    }
    REFUSE("300000 keys are more than");
}

/* Names chosen to collide in weak hashes, or to share a long beginning, must not make the reader slow. */
static void many_names(void) {
    enum { N = 20000 };
    char name[300];
    tl_error err = {0};
    memset(name, 'a', sizeof name);
    head(3, N, 0);
    for (int i = 0; i < N; i++) {
        snprintf(name + 250, 40, "%05d", i * 7 % N);
        TENSOR(name, TL_TYPE_F32, (uint64_t)i * 32, 8);
    }
    pad(32), zeros(N * 32);
    double start = test_cpu_seconds();
    tl_gguf *g = open_bytes(&err);
    CHECKF(g, "%s", err.text);
    for (int i = 0; i < N && g; i++) {
        snprintf(name + 250, 40, "%05d", i);
        CHECK(tl_gguf_tensor_find(g, name));
    }
    CHECKF(test_cpu_seconds() - start < 2, "%.1f s", test_cpu_seconds() - start);
    tl_gguf_free(g);
}

/* ---- mutations --------------------------------------------------------------------------------------------------- */

static char *sample(size_t *n) {
    tl_error err = {0};
    CHECKF(write_sample(in_dir("sample.gguf"), &err) == TL_OK, "%s", err.text);
    return tl_read_file(in_dir("sample.gguf"), n, &err);
}

/* Opens p [n] as a file; all that counts is that nothing bad happens, and that a refusal says something. */
static int try_bytes(const char *p, size_t n) {
    tl_error err = {0};
    const char *path = in_dir("m.gguf");
    put_file(path, p, n);
    tl_gguf *g = tl_gguf_open(path, 0, &err);
    CHECK((g != NULL) == (err.code == 0) && (g || err.text[0]));
    if (g) touch(g);
    tl_gguf_free(g);
    return g != NULL;
}

static void every_length(void) {
    size_t n = 0;
    char *p = sample(&n);
    CHECK(p && try_bytes(p, n));
    for (size_t i = 0; p && i < n; i++) CHECKF(!try_bytes(p, i), "accepted with %zu of %zu bytes", i, n);
    tl_free(p);
}

static void every_bit(void) {
    size_t n = 0;
    char *p = sample(&n);
    int accepted = 0;
    for (size_t i = 0; p && i < n && i < 480; i++)
        for (int bit = 0; bit < 8; bit += 1 + (i > 100)) {
            p[i] = (char)(p[i] ^ 1 << bit);
            accepted += try_bytes(p, n);
            p[i] = (char)(p[i] ^ 1 << bit);
        }
    CHECK(accepted > 0);
    tl_free(p);
}

static void random_damage(void) {
    static const uint64_t interesting[] = {0, 1, 8, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX,
                                           UINT64_C(1) << 32, UINT64_C(1) << 62, UINT64_C(1) << 63};
    size_t n = 0;
    char *p = sample(&n), *copy = malloc(n + 64);
    uint32_t seed = 12345;
#define NEXT (seed = seed * 1664525u + 1013904223u, seed >> 8)
    for (int round = 0; p && round < 3000; round++) {
        memcpy(copy, p, n);
        for (uint32_t k = NEXT % 4 + 1; k--;) {
            size_t at = NEXT % (n - 8);
            size_t width = (size_t)1 << NEXT % 4;
            uint64_t v = NEXT % 3 ? interesting[NEXT % (sizeof interesting / 8)] : NEXT;
            if (NEXT % 4 == 0) memmove(copy + at, copy + NEXT % (n - 8), n - 8 - at > 40 ? 40 : 1);
            else memcpy(copy + at, &v, width);
        }
        try_bytes(copy, NEXT % 5 ? n : NEXT % n);
    }
#undef NEXT
    free(copy);
    tl_free(p);
}

int main(void) {
    if (!open_dir()) return 1;
    RUN(round_trip);
    RUN(values_are_checked);
    RUN(writer_refuses_nonsense);
    RUN(writer_aligns);
    RUN(not_gguf);
    RUN(versions);
    RUN(bad_keys);
    RUN(bad_arrays);
    RUN(bad_general);
    RUN(bad_dimensions);
    RUN(bad_tensors);
    RUN(surplus_is_counted);
    RUN(too_many_keys);
    RUN(many_names);
    RUN(every_length);
    RUN(every_bit);
    RUN(random_damage);
    close_dir();
    tl_buf_free(&b);
    return tl_test_end();
}
