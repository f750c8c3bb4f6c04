/* SPDX-License-Identifier: MIT
 *
 * session.h: what a session owns. Everything is allocated when it opens (logits grow with the number of wanted rows,
 * outside the token loop); computing a batch allocates nothing. */
#ifndef TL_SESSION_H
#define TL_SESSION_H

#include <stdatomic.h>
#include "model/model.h"

struct tl_session {
    const struct tl_model *m;
    tl_kv kv;
    tl_pool *pool;
    tl_run run;               /* the slice being computed, and the buffers for it */
    tl_worker *workers;       /* [threads] */
    double *inv_freq;         /* [TL_N_ROPES][n_rot/2] radians per position */
    void *mem;                /* one block that holds what run and workers point to */
    size_t mem_bytes;
    float *logits;            /* [logits_cap][n_vocab] */
    int logits_cap, n_logits;
    int at, total;            /* rows of the batch before the slice and in all */
    int *want;                /* [n_want] rows of the slice */
    int n_want;
    int *next_pos;            /* [n_seq] while a batch is checked */
    tl_progress_fn *progress;
    void *progress_user;
    int cancel;               /* set by thread 0, read by all after a barrier */
    atomic_int unreadable;    /* the model's file could not be read in this pass */
    atomic_int cancelled;     /* by tl_session_cancel, until an eval has ended because of it */
};

/* A number that other models hardly have: of the hyper-parameters in the file and the names, types and shapes of tensors. */
uint64_t tl_model_facts(const struct tl_model *m);

/* Computes the slice held in s: residual stream through all layers, K/V into the cache, logits of the wanted rows to
 * logits [n_want][n_vocab]. Returns TL_OK, TL_E_CANCELLED, or TL_E_IO if
 * the embeddings could not be read from the file. */
int tl_forward(struct tl_session *s, float *logits);
/* Whether somebody wants the session to stop; done: part of the slice that is computed. */
int tl_session_asked(struct tl_session *s, double done);
/* Room for the logits of n rows, so that an eval that wants them allocates nothing. */
int tl_session_reserve_logits(struct tl_session *s, int n, tl_error *err);
/* Makes row the only one whose logits there are. */
void tl_session_keep_logits(struct tl_session *s, int row);

#endif
