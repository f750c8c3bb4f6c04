/* SPDX-License-Identifier: MIT
 *
 * vocab.h: inside of a tokenizer, shared by the files of text/. */
#ifndef TL_TEXT_VOCAB_H
#define TL_TEXT_VOCAB_H

#include "base/base.h"
#include "text/pretok.h"
#include "text/text.h"

/* U+2581, what SentencePiece writes for a space. */
#define TL_SPM_SPACE "\xE2\x96\x81"

enum tl_text_model { TL_TEXT_BPE, TL_TEXT_SPM };

/* A text that is recognised as one token before any other rule. user: in every text, else only where asked for. */
typedef struct tl_special { const char *p; uint32_t len; int32_t id; int user, strip; } tl_special;
enum { TL_STRIP_BEFORE = 1, TL_STRIP_BEHIND = 2 };   /* white space that goes with it */

/* Automaton over reversed texts: a node stands for some last bytes of specials; 0 is the root. */
typedef struct tl_finder {
    uint32_t n;
    uint32_t *child;            /* [n + 1]: children of a node are child[node] .. child[node + 1] - 1, by label */
    uint8_t *label;             /* [n] */
    uint32_t *fail;             /* [n]: the longest shorter text that is a node */
    uint32_t *any, *user;       /* [n]: index + 1 of the longest special that the node's text begins with */
    uint32_t root[256];         /* children of the root by label, 0: none */
} tl_finder;

/* Two neighbours that may be joined: rank says when (lowest first), made is the result's id + 1 (0: empty slot). */
typedef struct tl_merge { uint32_t left, right, rank, made; } tl_merge;

enum { TL_MAX_ENDS = 32 };

struct tl_tokenizer {
    enum tl_text_model model;
    const tl_pretok *pre;       /* BPE */
    tl_buf warning;             /* texts joined by "; " */
    uint32_t n;

    char *text;                 /* all pieces, each followed by a 0 */
    uint32_t *at;               /* [n + 1]: where in text they start */
    uint32_t longest;           /* bytes of the longest piece */
    uint8_t *type;              /* [n] TL_TOK_* */
    float *score;               /* [n], SPM */

    uint32_t *slot;             /* [slot_mask + 1] pairs {hash, id + 1}: pieces by text, see tl_piece_find */
    uint32_t slot_mask;
    uint64_t seed;

    tl_special *special;        /* [n_special] */
    uint32_t n_special;
    tl_finder finder;
    char *special_text;         /* SPM: texts of specials that had U+2581 replaced by a space; else NULL */

    int32_t byte_id[256];       /* -1: no such token */
    tl_merge *merge;            /* [merge_mask + 1], BPE */
    uint32_t merge_mask;
    uint64_t *joint;            /* SPM: bits of character pairs that occur within a piece, see tl_spm_init */

    int32_t bos, eos, unk;
    int add_bos, add_eos, add_space_prefix;
    int32_t end[TL_MAX_ENDS];
    int n_end;
};

static inline const char *tl_piece_at(const tl_tokenizer *t, uint32_t id, uint32_t *len) {
    *len = t->at[id + 1] - t->at[id] - 1;
    return t->text + t->at[id];
}

/* Slots, a power of two, of a hash table with room for n. */
static inline size_t tl_vocab_slots(size_t n) {
    size_t slots = 16;
    while (slots < n) slots *= 2;
    return slots;
}

/* May this token stand for ordinary text? */
static inline int tl_is_text(const tl_tokenizer *t, uint32_t id) {
    return t->type[id] == TL_TOK_NORMAL || t->type[id] == TL_TOK_USER || t->type[id] == TL_TOK_BYTE;
}

/* Id of the piece with these bytes, -1: none. Where several have the same, one that is ordinary text and has the lowest
 * id. */
int32_t tl_piece_find(const tl_tokenizer *t, const char *p, size_t n);
/* The same for n <= TL_FIND_MAX pieces. Step by step for all of them, so their cache misses overlap. */
enum { TL_FIND_MAX = 96 };
void tl_pieces_find(const tl_tokenizer *t, const tl_slice *s, int32_t *id, int n);

/* vocab.c: fills what both models share (pieces, types, table of pieces). */
int tl_vocab_init(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err);

/* special.c */
int tl_special_init(tl_tokenizer *t, tl_error *err);
void tl_special_done(tl_tokenizer *t);
typedef struct tl_found { size_t at; uint32_t special; } tl_found;
typedef struct tl_found_list { tl_found *v; size_t n, cap; } tl_found_list;
/* All places where a special token begins that counts, the longest one at each; from the end of the text to its
 * beginning. User-defined ones count everywhere, others if all is set, or where trust [len] is not 0 for all of their
 * bytes (trust may be NULL). Time: linear in len. The caller frees list->v. */
int tl_special_find(const tl_tokenizer *t, const char *text, size_t len, const char *trust, int all, tl_found_list *list,
                    tl_error *err);

/* Where token ids go: the first cap of them into ids, all counted. */
typedef struct tl_sink {
    int32_t *ids;
    int cap;
    int64_t n;
    int32_t bos;                /* to be put before the first id unless it is the same; -1: no */
    int32_t last;               /* -1: none yet */
} tl_sink;
void tl_sink_put(tl_sink *s, int32_t id);

/* bpe.c */
int tl_bpe_init(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err);
/* spm.c */
int tl_spm_init(tl_tokenizer *t, const tl_vocab_source *src, tl_error *err);

struct tl_merger;
/* Text without special tokens. */
int tl_bpe_encode(const tl_tokenizer *t, struct tl_merger *m, const char *p, size_t n, tl_sink *out, tl_error *err);
/* prefix: put the space in front. */
int tl_spm_encode(const tl_tokenizer *t, struct tl_merger *m, const char *p, size_t n, int prefix, tl_sink *out,
                  tl_error *err);

/* The byte a character of a byte-level BPE piece stands for, -1: none. */
int tl_bpe_byte(int32_t cp);
/* The byte a piece of the form "<0x0A>" stands for, -1: another form. */
int tl_spm_byte(const char *p, size_t n);

#endif
