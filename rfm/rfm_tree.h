/* rfm_tree - a tree of leaf machines (xRFM).
 *
 * A node sends a row left or right by v'(x - shift) <= b, where v is the direction in which a small machine changes
 * most, and b the median of the node's rows. A leaf is an ordinary model of at most `leaf_rows` rows, with a metric of
 * its own: so relevant directions may differ from region to region, and no matrix has more rows than a leaf. Several
 * trees are averaged.
 *
 * A tree is a blob, and its leaves are blobs inside of it. With -DRFM_NO_TRAIN only the first half is there, for
 * firmware: it evaluates one leaf of each tree. Conventions are those of rfm.h; blobs need a little-endian machine.
 *
 * Contents: trees, prediction of one row, prediction of many rows, training.
 */
#ifndef RFM_TREE_H
#define RFM_TREE_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- trees ---------------------------------------------------------------------------------- */

/* A branch is a node, or -1 - i for leaf i. */
typedef struct {
    int32_t left, right; /* branches: left where v'(x - shift) <= threshold */
    rfm_real threshold;
    rfm_real spread; /* of v'(x - shift) over the rows of the node: its interquartile range */
} rfm_tree_node;

/* Points into its blob. */
typedef struct {
    size_t d, c;                 /* inputs, outputs */
    size_t trees, nodes, leaves; /* of all trees */
    size_t rank;                 /* the largest r of a leaf */
    int task;                    /* RFM_REGRESS, RFM_CLASSIFY */
    rfm_real softness;           /* tau; 0: hard routing */
    rfm_real temperature;        /* of the softmax; 0: none */
    const rfm_real *shift;       /* (d) */
    const int32_t *roots;        /* (trees) branches */
    const rfm_tree_node *node;   /* (nodes) */
    const rfm_real *directions;  /* (nodes, d): v */
    const uint32_t *leaf;        /* (leaves) where in the blob */
    const unsigned char *blob;
    const char *class_names, *input_names; /* as in rfm_model; NULL: none */
} rfm_tree;

/* Opens a tree in place. FORMAT.md, "Trees", has the bytes. The blob is not trusted: every branch, number and leaf is
 * checked. RFM_ENULL, RFM_EALIGN, RFM_ETRUNCATED, RFM_EMAGIC, RFM_EVERSION, RFM_ECHECKSUM, RFM_ETYPE, RFM_ECONTENT:
 * *tree is unchanged. */
int rfm_tree_open(const void *blob, size_t size, rfm_tree *tree);

/* Leaf i as a model: one without names. Nothing is checked. */
void rfm_tree_leaf(const rfm_tree *tree, size_t i, rfm_model *leaf);

/* ---- prediction of one row ------------------------------------------------------------------ */

/* The leaf of tree `which` that x (d) comes to. Nothing is checked. */
size_t rfm_tree_route(const rfm_tree *tree, size_t which, const rfm_real *x);

/* Numbers of scratch for a tree with d inputs, c outputs and this rank. */
#define RFM_TREE_SCRATCH(d, c, rank) (RFM_PREDICT_SCRATCH(d, rank) + (size_t)(c))

/* scores (c): the mean over the trees of the leaf that x comes to, whatever `softness` is. Arguments and status are
 * those of rfm_predict_one; *novelty is the largest of the leaves. */
int rfm_tree_predict_one(const rfm_tree *tree, const rfm_real *x, rfm_real *scores, rfm_real *scratch, rfm_loop loop,
                         rfm_real *novelty);

/* As rfm_class. */
size_t rfm_tree_class(const rfm_tree *tree, const rfm_real *scores, rfm_real *confidence);

#ifndef RFM_NO_TRAIN

/* ---- prediction of many rows ---------------------------------------------------------------- */

/* Soft routing: with softness tau a row goes left with p = 1 / (1 + exp((v'(x - shift) - b) / (tau spread))), and a
 * leaf counts with the product along its path. The heaviest leaves that make up RFM_TREE_SHARE are kept, at most
 * RFM_TREE_MIXED of each tree. */
#define RFM_TREE_MIXED 12
#define RFM_TREE_SHARE 0.99

/* Y (m, c) = f(Z), Z (m, d), by the routing that the tree's softness says. Status as rfm_predict. Ticks. */
int rfm_tree_predict(const rfm_ctx *ctx, const rfm_tree *tree, rfm_cmat z, rfm_mat y);
int rfm_tree_predict_need(const rfm_ctx *ctx, const rfm_tree *tree, size_t m, size_t *bytes);

/* ---- training ------------------------------------------------------------------------------- */

#define RFM_TREE_TRIES 8

/* rfm_tree_options_init() sets what is said in (parentheses). */
typedef struct {
    size_t leaf_rows;  /* (1000) C: rows of a leaf, at most; >= 2 */
    size_t split_rows; /* (500) rows that a small machine is fitted to, to find the direction of a split */
    size_t trees;      /* (1) each finds its directions from other rows */
    rfm_options split; /* (bandwidth: the median distance) of the small machine: kernel, exponent, bandwidth and ridge
                          are read */
    size_t tries;      /* (1) settings that are tried in each leaf; the best leave-one-out score stays */
    rfm_options leaf[RFM_TREE_TRIES]; /* (bandwidth: the median distance, iterations 3, RFM_SELECT_LOO) their score is
                                         RFM_SCORE_SQUARED. RFM_SELECT_LAST for a single try, not
                                         RFM_SELECT_VALIDATION */
    int score;                        /* (RFM_SCORE_SQUARED) by which softness is chosen on the validation rows */
    uint32_t seed;                    /* (0) */
} rfm_tree_options;

void rfm_tree_options_init(rfm_tree_options *options);

typedef struct {
    size_t bytes;        /* of the blob */
    size_t depth;        /* of a tree: splits on a path, at most */
    rfm_real hard, soft; /* scores on the validation rows: hard routing, and what was chosen; 0: there are none */
    rfm_real ridge;      /* the largest that a leaf has */
    size_t row, col;     /* written with RFM_EFINITE: of x, or of y where col >= d */
} rfm_tree_report;

/* Grows the trees and writes them as a blob into `size` bytes at `blob`, 16-byte aligned; *tree is that blob, opened.
 * Leaves are fitted one after the other. Of `contents` model and summary are not read; its means, scales, names and
 * record go into the blob as rfm_model_write has it. data->start is where the metric of every leaf begins. A leaf whose
 * targets are all the same is a constant; rows of weight 0 are sent along and teach nothing. Validation rows choose the
 * softness; without them routing is hard. report may be NULL. After a refusal the blob is unchanged, after another
 * failure it is no tree. Ticks.
 * RFM_EVALUE also: more than 2^31 nodes. RFM_ETYPE: a big-endian machine. */
int rfm_tree_fit(const rfm_ctx *ctx, const rfm_data *data, const rfm_tree_options *options,
                 const rfm_contents *contents, void *blob, size_t size, rfm_tree *tree, rfm_tree_report *report);

/* Bytes that this takes from ctx->arena, and those of the blob at most: it is smaller where a metric has not the full
 * rank. Reads sizes only. */
int rfm_tree_fit_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_tree_options *options,
                      const rfm_contents *contents, size_t *scratch, size_t *blob);

/* The mean of `count` models as trees without a split: *bytes of a blob, in memory of `size` bytes, 16-byte aligned; to
 * NULL: only *bytes. Each model is a blob of its own, of sizes[i] bytes; d, c and task are those of all. Kernels and
 * metrics may differ. Of `contents` x_mean, names, temperature, task and record are read.
 * Status as rfm_model_open for each of them; RFM_ESHAPE: they differ. RFM_EVALUE: none, or what is read of `contents`
 * is outside its range. RFM_EARENA, RFM_EOVERFLOW. */
int rfm_tree_join(const rfm_contents *contents, size_t count, const void *const *blobs, const size_t *sizes, void *to,
                  size_t size, size_t *bytes);

/* Another softness and temperature, in the blob of a tree. Status as rfm_tree_open, and RFM_EVALUE. */
int rfm_tree_set(void *blob, size_t size, rfm_real softness, rfm_real temperature);

/* A copy without record and names of inputs, for firmware: *bytes of it, in memory of `size` bytes; to NULL: only
 * *bytes. Status as rfm_tree_open, and RFM_EARENA. */
int rfm_tree_bare(const void *blob, size_t blob_size, void *to, size_t size, size_t *bytes);

/* The record of such a blob, as rfm_record_open finds it in others. NULL: there is none. */
const void *rfm_tree_record(const void *blob, size_t size, size_t *bytes);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif
