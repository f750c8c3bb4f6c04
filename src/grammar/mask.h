/* SPDX-License-Identifier: MIT
 *
 * mask.h: which tokens of a vocabulary may come next in a state. Masks are remembered by state, as many as fit. */
#ifndef TL_GRAMMAR_MASK_H
#define TL_GRAMMAR_MASK_H

#include "grammar/automaton.h"

/* A set of characters: bit c % 64 of word c / 64 is character c; the last one stands for all from U+007F on. */
typedef struct tl_charset { uint64_t word[2]; } tl_charset;

/* Tokens in the order of their bytes [n]. */
typedef struct tl_lexicon {
    int n;
    int32_t *id;
    uint32_t *at, *len;        /* of the masks' text */
    uint8_t *common;           /* first bytes shared with the one before, at most 255 */
    uint8_t *chars;            /* characters, at most 255; 0: not all of them are whole */
    tl_charset *has;           /* which they are */
    int32_t first[257];        /* [byte]: the first token that begins with it or a higher one */
} tl_lexicon;

typedef struct tl_masks {
    int n_vocab;
    size_t words;              /* of a mask: bit id % 32 of word id / 32 is token id */
    char *text;
    tl_lexicon all, longer;    /* tokens that have a text; those longer than TL_GBNF_FAR bytes */
    int32_t *end; int n_end;   /* tokens that end a text */
    int *stack;                /* [longest + 2] the state asked for, then the states along a token */
    uint32_t *fresh;           /* [words] the mask being made */
    uint32_t *bits;            /* [n_masks][words] */
    int n_masks, masks_cap, most_masks;
} tl_masks;

/* text [at[n_vocab]]: token id is text[at[id] .. at[id + 1]); none: it never occurs in a text. text now belongs to the
 * masks, and so is freed, also after an error. end [n_end]: tokens that mean the text's end, which have no text here. */
int tl_masks_init(tl_masks *m, int n_vocab, char *text, const uint32_t *at, const int32_t *end, int n_end, tl_error *err);
void tl_masks_free(tl_masks *m);
/* The mask of *state, valid until the next call; NULL after an error. Where sets were forgotten *state has a new number. */
const uint32_t *tl_masks_get(tl_masks *m, tl_automaton *a, int *state, tl_error *err);

#endif
