/* SPDX-License-Identifier: MIT
 * gguf_split_test.c: models in several files: opened from any part, through links, and every way a set can be wrong. */
#include "gguf.inc"

static const float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};

typedef struct part { uint32_t no, count, total; const char *tensor; } part;

static void write_part(const char *path, part p) {
    tl_error err = {0};
    tl_gguf_writer *w = tl_gguf_writer_new(&err);
    if (p.no == 0) tl_gguf_put_str(w, "general.architecture", "llama");
    tl_gguf_put_u32(w, "split.no", p.no);
    if (p.count != UINT32_MAX) tl_gguf_put_u32(w, "split.count", p.count);
    if (p.total != UINT32_MAX) tl_gguf_put_u32(w, "split.tensors.count", p.total);
    if (p.tensor) tl_gguf_put_tensor(w, p.tensor, TL_TYPE_F32, 1, (const int64_t[]){8}, weights, 32);
    CHECKF(tl_gguf_write(w, path, &err) == TL_OK, "%s", err.text);
    tl_gguf_writer_free(w);
}

static const char *part_path(int no, int count) {
    char name[64];
    snprintf(name, sizeof name, "m-%05d-of-%05d.gguf", no, count);
    return in_dir(name);
}

static void write_three(void) {
    static const char *const names[] = {"a", "b", "c"};
    clear_dir();
    for (uint32_t i = 0; i < 3; i++) write_part(part_path((int)i + 1, 3), (part){i, 3, 3, names[i]});
}

static void refuse_split(int line, const char *path, int flags, const char *text) {
    tl_error err = {0};
    tl_gguf *g = tl_gguf_open(path, flags, &err);
    CHECKF(!g && strstr(err.text, text), "line %d: wanted \"%s\", got \"%s\"", line, text, err.text);
    tl_gguf_free(g);
}
#define REFUSE_SPLIT(path, flags, text) refuse_split(__LINE__, path, flags, text)

static void check_three(int line, const char *path) {
    tl_error err = {0};
    tl_gguf *g = tl_gguf_open(path, 0, &err);
    tl_slice name;
    CHECKF(g, "line %d: %s", line, err.text);
    if (!g) return;
    CHECKF(g->n_parts == 3 && g->parts_expected == 3 && g->n_tensors == 3, "line %d", line);
    CHECKF(strcmp(g->path, path) == 0, "line %d: path is %s", line, g->path);
    CHECKF(tl_gguf_str(g, "general.architecture", &name, NULL) == 1, "line %d: not the first part's keys", line);
    CHECKF(tl_gguf_tensor_find(g, "b") && tl_gguf_tensor_find(g, "b")->part == 1, "line %d", line);
    for (int i = 0; i < 3; i++) CHECKF(memcmp(g->tensors[i].data, weights, 32) == 0, "line %d: data", line);
    tl_gguf_free(g);
}

static void split_from_any_part(void) {
    write_three();
    for (int i = 1; i <= 3; i++) check_three(__LINE__, part_path(i, 3));
    char cwd[512];
    CHECK(getcwd(cwd, sizeof cwd) && chdir(dir) == 0);
    check_three(__LINE__, "m-00002-of-00003.gguf");
    CHECK(chdir(cwd) == 0);
}

static void split_missing(void) {
    tl_error err = {0};
    write_three();
    rename(part_path(2, 3), in_dir("renamed.gguf"));
    REFUSE_SPLIT(part_path(1, 3), 0, "missing beside it: m-00002-of-00003.gguf");
    REFUSE_SPLIT(part_path(3, 3), 0, "missing beside it: m-00002-of-00003.gguf");
    REFUSE_SPLIT(in_dir("renamed.gguf"), 0, "-00002-of-00003.gguf)");
    for (int i = 1; i <= 3; i += 2) {
        tl_gguf *g = tl_gguf_open(part_path(i, 3), TL_GGUF_SINGLE, &err);
        CHECKF(g && g->n_parts == 1 && g->parts_expected == 3 && g->n_tensors == 1, "%s", err.text);
        tl_gguf_free(g);
    }
    tl_gguf *g = tl_gguf_open(in_dir("renamed.gguf"), TL_GGUF_SINGLE, &err);
    CHECKF(g && g->parts_expected == 3 && tl_gguf_tensor_find(g, "b"), "%s", err.text);
    tl_gguf_free(g);
    write_part(part_path(1, 65535), (part){0, 65535, 9, "a"});
    double start = test_cpu_seconds();
    REFUSE_SPLIT(part_path(1, 65535), 0, "m-00004-of-65535.gguf, m-00005-of-65535.gguf and more");
    CHECK(test_cpu_seconds() - start < 0.5);
    mkdir(part_path(2, 3), 0777);
    REFUSE_SPLIT(part_path(1, 3), 0, "directory");
    rmdir(part_path(2, 3));
}

static void split_inconsistent(void) {
    write_three();
    write_part(part_path(3, 3), (part){1, 3, 3, "c"});   /* split.no 1 twice */
    REFUSE_SPLIT(part_path(1, 3), 0, "part 2 of 3, its name part 3 of 3");
    REFUSE_SPLIT(part_path(3, 3), TL_GGUF_SINGLE, "part 2 of 3, its name part 3 of 3");
    write_part(part_path(3, 3), (part){2, 4, 3, "c"});
    REFUSE_SPLIT(part_path(1, 3), 0, "part 3 of 4, its name part 3 of 3");
    write_part(part_path(3, 3), (part){2, UINT32_MAX, 3, "c"});
    REFUSE_SPLIT(part_path(1, 3), 0, "-00003-of-00003.gguf");
    write_part(part_path(3, 3), (part){2, 3, 3, "b"});
    REFUSE_SPLIT(part_path(1, 3), 0, "tensor 'b' occurs twice");
    write_part(part_path(3, 3), (part){2, 3, 3, NULL});
    REFUSE_SPLIT(part_path(1, 3), 0, "hold 2 tensors, split.tensors.count says 3");
    write_part(part_path(3, 3), (part){3, 3, 3, "c"});
    REFUSE_SPLIT(part_path(1, 3), 0, "'split.no' is 3");
    put_file(part_path(3, 3), "GGUF", 4);
    REFUSE_SPLIT(part_path(1, 3), 0, "-00003-of-00003.gguf: the file is incomplete");
    write_three();
    write_part(part_path(1, 3), (part){0, 3, UINT32_MAX, "a"});
    REFUSE_SPLIT(part_path(2, 3), 0, "'split.tensors.count' is missing");
    write_part(part_path(1, 70000), (part){0, 70000, 3, "a"});
    REFUSE_SPLIT(part_path(1, 70000), 0, "'split.count' is 70000");
    for (uint32_t count = 0; count < 2; count++) {   /* merged files keep the keys */
        tl_error err = {0};
        write_part(in_dir("merged.gguf"), (part){0, count, 1, "a"});
        tl_gguf *g = tl_gguf_open(in_dir("merged.gguf"), 0, &err);
        CHECKF(g && g->parts_expected == 1, "%s", err.text);
        tl_gguf_free(g);
    }
    tl_error err = {0};
    tl_gguf_writer *w = tl_gguf_writer_new(&err);
    tl_gguf_put_u32(w, "split.count", 2);
    CHECK(tl_gguf_write(w, in_dir("no_number.gguf"), &err) == TL_OK);
    tl_gguf_writer_free(w);
    REFUSE_SPLIT(in_dir("no_number.gguf"), 0, "'split.no' is missing");
}

static void split_through_links(void) {
    char elsewhere[] = "/tmp/gguf_test_link_XXXXXX", link[128];
    write_three();
    CHECK(mkdtemp(elsewhere) != NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(link, sizeof link, "%s/%s", elsewhere, i ? "model.gguf" : "m-00001-of-00003.gguf");
        CHECK(symlink(part_path(1, 3), link) == 0);
        check_three(__LINE__, link);
        unlink(link);
    }
    rmdir(elsewhere);
}

int main(void) {
    if (!open_dir()) return 1;
    RUN(split_from_any_part);
    RUN(split_missing);
    RUN(split_inconsistent);
    RUN(split_through_links);
    close_dir();
    return tl_test_end();
}
