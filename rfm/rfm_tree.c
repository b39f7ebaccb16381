/* rfm_tree.c - a tree of leaf machines; rfm_tree.h has the contract.
 *
 * Contents:
 *   1. Blobs        where everything is, and whether it can be trusted
 *   2. One row      hard routing
 *   3. Many rows    soft routing, rows of a leaf together
 *   4. Shape        how many nodes and leaves, from sizes alone
 *   5. Splits       the top direction of a small machine's AGOP, and the median along it
 *   6. Leaves       a fit with the targets' mean taken out, written at once
 *   7. The fit      trees one after the other, then the softness
 *
 * Notation: n rows, C rows of a leaf at most, v (d) a direction, b a threshold. A tree of n rows halves them until no
 * part has more than C: rows on one level differ by at most one, so sizes follow from n and C.
 */
#include "rfm_tree.h"

#define RFM_DESCENT
#define RFM_DESK
#include "rfm_private.h"

/* ==== 1. Blobs ==================================================================================
 *
 * Head, then sections, each at a multiple of 16; where they are follows from the head. Branches are numbered in the
 * order in which they are met: tree by tree, level by level, from left to right. So each is met exactly once, and a
 * child comes after its parent.
 */

#define TREE_MAGIC   UINT32_C(0x746d6672) /* "rfmt" */
#define TREE_VERSION 1
#define TREE_HEAD    64
#define TREE_MOST    UINT32_C(0x7fffffff) /* of nodes, leaves and sizes */

/* Bytes of the head: after magic, checksum, bytes, and version. */
#define AT_TYPE        13
#define AT_TASK        14
#define AT_D           16
#define AT_C           20
#define AT_TREES       24
#define AT_NODES       28
#define AT_LEAVES      32
#define AT_RANK        36
#define AT_SOFTNESS    40
#define AT_TEMPERATURE 44
#define AT_CLASS_NAMES 48
#define AT_INPUT_NAMES 52
#define AT_RECORD      56

#define PART_SHIFT       0
#define PART_ROOTS       1
#define PART_NODES       2
#define PART_DIRECTIONS  3
#define PART_CLASS_NAMES 4
#define PART_INPUT_NAMES 5
#define PART_RECORD      6
#define PART_LEAVES      7 /* where they are; they follow it */
#define PARTS            8

typedef char node_is_as_in_the_blob[sizeof(rfm_tree_node) == 8 + 2 * sizeof(rfm_real) ? 1 : -1];

typedef struct {
    uint32_t at[PARTS], bytes[PARTS];
    uint32_t end; /* the first leaf */
} tree_plan;

/* a * b, or more than any blob has. */
static uint32_t product_of(uint32_t a, uint32_t b) { return b != 0 && a > TREE_MOST / b ? UINT32_MAX : a * b; }

/* Sizes of the parts are in plan->bytes: where they are. RFM_EOVERFLOW. */
static int place_parts(tree_plan *plan) {
    uint32_t at = TREE_HEAD, i;
    for (i = 0; i < PARTS; i++) {
        if (plan->bytes[i] > TREE_MOST || at > TREE_MOST - plan->bytes[i]) return RFM_EOVERFLOW;
        plan->at[i] = at;
        at = (at + plan->bytes[i] + RFM_ALIGN - 1) / RFM_ALIGN * RFM_ALIGN;
    }
    plan->end = at;
    return RFM_OK;
}

static void size_parts(tree_plan *plan, uint32_t d, uint32_t trees, uint32_t nodes, uint32_t leaves) {
    plan->bytes[PART_SHIFT] = product_of(d, sizeof(rfm_real));
    plan->bytes[PART_ROOTS] = product_of(trees, sizeof(int32_t));
    plan->bytes[PART_NODES] = product_of(nodes, sizeof(rfm_tree_node));
    plan->bytes[PART_DIRECTIONS] = product_of(nodes, plan->bytes[PART_SHIFT]);
    plan->bytes[PART_LEAVES] = product_of(leaves, sizeof(uint32_t));
}

static int plan_of_blob(const unsigned char *b, tree_plan *plan) {
    size_parts(plan, rfm_get_u32(b + AT_D), rfm_get_u32(b + AT_TREES), rfm_get_u32(b + AT_NODES),
               rfm_get_u32(b + AT_LEAVES));
    plan->bytes[PART_CLASS_NAMES] = rfm_get_u32(b + AT_CLASS_NAMES);
    plan->bytes[PART_INPUT_NAMES] = rfm_get_u32(b + AT_INPUT_NAMES);
    plan->bytes[PART_RECORD] = rfm_get_u32(b + AT_RECORD);
    return place_parts(plan);
}

/* Is this branch the next node, or the next leaf? */
static int branch_right(int32_t branch, uint32_t *node, uint32_t *leaf) {
    return branch >= 0 ? (uint32_t)branch == (*node)++ : (uint32_t)(-1 - branch) == (*leaf)++;
}

static int branches_right(const rfm_tree *t) {
    uint32_t node = 0, leaf = 0, i = 0, tree;
    for (tree = 0; tree < t->trees; tree++) {
        if (!branch_right(t->roots[tree], &node, &leaf)) return 0;
        for (; i < node; i++) {
            const rfm_tree_node *at = t->node + i;
            if (i >= t->nodes || !branch_right(at->left, &node, &leaf) || !branch_right(at->right, &node, &leaf))
                return 0;
            if (!rfm_finite(1, &at->threshold) || !rfm_finite(1, &at->spread) || !(at->spread >= R(0))) return 0;
        }
    }
    return node == t->nodes && leaf == t->leaves;
}

/* Leaves lie one behind the other, from `at` to the end. */
static int leaves_right(const rfm_tree *t, uint32_t at, uint32_t bytes) {
    uint32_t i, rank = 0;
    rfm_model leaf;
    for (i = 0; i < t->leaves; i++) {
        uint32_t long_by;
        if (t->leaf[i] != at || bytes - at < RFM_ALIGN) return 0;
        if (rfm_model_open(t->blob + at, bytes - at, &leaf) != RFM_OK) return 0;
        if (leaf.d != t->d || leaf.c != t->c || leaf.task != t->task) return 0;
        if (leaf.r > rank) rank = (uint32_t)leaf.r;
        long_by = rfm_get_u32(t->blob + at + 12);
        if (long_by % RFM_ALIGN != 0) return 0;
        at += long_by;
    }
    return at == bytes && rank == t->rank;
}

static int factor_is_right(rfm_real x) { return rfm_finite(1, &x) && x >= R(0); }

static rfm_real float_at(const unsigned char *at) {
    float value;
    memcpy(&value, at, sizeof value);
    return R(value);
}

static int sizes_right(const rfm_tree *t) {
    return t->d > 0 && t->c > 0 && t->trees > 0 && t->leaves > 0 && t->c <= TREE_MOST && t->task <= RFM_CLASSIFY &&
           factor_is_right(t->softness) && factor_is_right(t->temperature);
}

int rfm_tree_open(const void *blob, size_t size, rfm_tree *tree) {
    const unsigned char *b = (const unsigned char *)blob;
    tree_plan plan;
    rfm_tree t;
    uint32_t bytes;
    int status;
    if (blob == NULL || tree == NULL) return RFM_ENULL;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    status = check_blob(blob, size, TREE_MAGIC, TREE_VERSION, TREE_HEAD, &bytes);
    if (status != RFM_OK) return status;
    if (b[AT_TYPE] != sizeof(rfm_real)) return RFM_ETYPE;
    if (plan_of_blob(b, &plan) != RFM_OK || plan.end > bytes) return RFM_ECONTENT;
    t.d = rfm_get_u32(b + AT_D), t.c = rfm_get_u32(b + AT_C), t.trees = rfm_get_u32(b + AT_TREES);
    t.nodes = rfm_get_u32(b + AT_NODES), t.leaves = rfm_get_u32(b + AT_LEAVES), t.rank = rfm_get_u32(b + AT_RANK);
    t.task = b[AT_TASK], t.blob = b;
    t.softness = float_at(b + AT_SOFTNESS), t.temperature = float_at(b + AT_TEMPERATURE);
    t.shift = (const rfm_real *)(const void *)(b + plan.at[PART_SHIFT]);
    t.roots = (const int32_t *)(const void *)(b + plan.at[PART_ROOTS]);
    t.node = (const rfm_tree_node *)(const void *)(b + plan.at[PART_NODES]);
    t.directions = (const rfm_real *)(const void *)(b + plan.at[PART_DIRECTIONS]);
    t.leaf = (const uint32_t *)(const void *)(b + plan.at[PART_LEAVES]);
    t.class_names = plan.bytes[PART_CLASS_NAMES] > 0 ? (const char *)(b + plan.at[PART_CLASS_NAMES]) : NULL;
    t.input_names = plan.bytes[PART_INPUT_NAMES] > 0 ? (const char *)(b + plan.at[PART_INPUT_NAMES]) : NULL;
    if (!sizes_right(&t) || !branches_right(&t)) return RFM_ECONTENT;
    if (!rfm_finite(t.d, t.shift) || !rfm_finite(t.nodes * t.d, t.directions)) return RFM_ECONTENT;
    if (t.class_names != NULL &&
        !names_right(b + plan.at[PART_CLASS_NAMES], plan.bytes[PART_CLASS_NAMES], (uint32_t)(t.c == 1 ? 2 : t.c)))
        return RFM_ECONTENT;
    if (t.input_names != NULL &&
        !names_right(b + plan.at[PART_INPUT_NAMES], plan.bytes[PART_INPUT_NAMES], (uint32_t)t.d))
        return RFM_ECONTENT;
    if (!leaves_right(&t, plan.end, bytes)) return RFM_ECONTENT;
    *tree = t;
    return RFM_OK;
}

void rfm_tree_leaf(const rfm_tree *tree, size_t i, rfm_model *leaf) {
    rfm_model_reopen(tree->blob + tree->leaf[i], leaf);
}

/* ==== 2. One row ================================================================================ */

/* v'(x - shift) - b of a node. */
static rfm_real beyond(const rfm_tree *t, size_t node, const rfm_real *x) {
    const rfm_real *v = t->directions + node * t->d;
    rfm_real sum = R(0);
    size_t j;
    for (j = 0; j < t->d; j++) sum += v[j] * (x[j] - t->shift[j]);
    return sum - t->node[node].threshold;
}

size_t rfm_tree_route(const rfm_tree *t, size_t which, const rfm_real *x) {
    int32_t at = t->roots[which];
    while (at >= 0) at = beyond(t, (size_t)at, x) > R(0) ? t->node[at].right : t->node[at].left;
    return (size_t)(-1 - at);
}

int rfm_tree_predict_one(const rfm_tree *t, const rfm_real *x, rfm_real *scores, rfm_real *scratch, rfm_loop loop,
                         rfm_real *novelty) {
    rfm_real *own, near = R(0), nearest = R(0);
    size_t which, k;
    int status;
    if (t == NULL || x == NULL || scores == NULL || scratch == NULL) return RFM_ENULL;
    own = scratch + RFM_PREDICT_SCRATCH(t->d, t->rank);
    if (!rfm_finite(t->d, x)) return RFM_EFINITE;
    for (which = 0; which < t->trees; which++) {
        rfm_model leaf;
        rfm_tree_leaf(t, rfm_tree_route(t, which, x), &leaf);
        status = rfm_predict_one(&leaf, x, which == 0 ? scores : own, scratch, loop, &near);
        if (status != RFM_OK) return status;
        nearest = max_real(nearest, near);
        for (k = 0; which > 0 && k < t->c; k++) scores[k] += (own[k] - scores[k]) / R(which + 1);
    }
    if (novelty != NULL) *novelty = nearest;
    return rfm_finite(t->c, scores) ? RFM_OK : RFM_ERANGE;
}

size_t rfm_tree_class(const rfm_tree *t, const rfm_real *scores, rfm_real *confidence) {
    rfm_model like;
    memset(&like, 0, sizeof like);
    like.c = t->c, like.task = t->task, like.temperature = t->temperature;
    return rfm_class(&like, scores, confidence);
}

#ifndef RFM_NO_TRAIN

/* ==== 3. Many rows ==============================================================================
 *
 * Each row has a list of leaves and their weights. Rows that share a leaf are gathered and predicted together; leaf
 * by leaf, so that sums have a fixed order.
 */

#define BLOCK_LISTED 393216 /* leaves of rows that are routed at a time: 32768 rows of one soft tree */
#define GATHER_ROWS  256    /* rows that are predicted at a time */

static const rfm_real somewhere = R(0); /* a need reads no array, but refuses NULL */

typedef struct {
    desk desk;
    size_t d, c, trees, nodes, leaves;
    size_t block, gather, each; /* rows, rows, leaves of a row */
    uint32_t *leaf;             /* (block, each) */
    rfm_real *weight;           /* (block, each) */
    uint32_t *count;            /* (block) leaves of each row */
    uint32_t *start;            /* (leaves + 1) where the rows of a leaf are in: */
    uint32_t *order;            /* (block each) row each + place */
    rfm_real *x, *y;            /* (gather, d), (gather, c) */
    int32_t *branch;            /* (nodes + 1) what is still to be followed, and ... */
    rfm_real *mass;             /* ... its weight */
} mixing;

/* desk.room.bytes is known: what the largest leaf needs for GATHER_ROWS rows. */
static int mixing_layout(rfm_arena *arena, mixing *s, size_t rows, int soft) {
    s->each = soft ? min_size(RFM_TREE_MIXED, s->leaves) * s->trees : s->trees; /* leaves have bytes: no overflow */
    s->block = min_size(rows, max_size(BLOCK_LISTED / s->each, 1)), s->gather = min_size(rows, GATHER_ROWS);
    s->leaf = (uint32_t *)rfm_arena_take(arena, s->block * s->each, sizeof *s->leaf);
    s->weight = rfm_arena_reals(arena, s->block, s->each);
    s->count = (uint32_t *)rfm_arena_take(arena, s->block, sizeof *s->count);
    s->start = (uint32_t *)rfm_arena_take(arena, s->leaves + 1, sizeof *s->start);
    s->order = (uint32_t *)rfm_arena_take(arena, s->block * s->each, sizeof *s->order);
    s->x = rfm_arena_reals(arena, s->gather, s->d);
    s->y = rfm_arena_reals(arena, s->gather, s->c);
    s->branch = (int32_t *)rfm_arena_take(arena, soft ? s->nodes + 1 : 1, sizeof *s->branch);
    s->mass = rfm_arena_reals(arena, soft ? s->nodes + 1 : 1, 1);
    desk_layout(arena, &s->desk);
    return arena->status;
}

static void mixing_of(const rfm_ctx *ctx, const rfm_tree *t, mixing *s) {
    memset(s, 0, sizeof *s);
    s->desk.ctx = ctx, s->desk.end = R(1);
    s->d = t->d, s->c = t->c, s->trees = t->trees, s->nodes = t->nodes, s->leaves = t->leaves;
}

/* The share of a row that goes left at a node, 0 to 1. */
static rfm_real share_left(const rfm_tree *t, size_t node, const rfm_real *x) {
    const rfm_real off = beyond(t, node, x), width = t->softness * t->node[node].spread;
    rfm_real e;
    if (!(width > R(0)) || !rfm_finite(1, &off)) return off > R(0) ? R(0) : R(1);
    e = RFM_MATH(exp)(-RFM_MATH(fabs)(off) / width);
    return off > R(0) ? e / (R(1) + e) : R(1) / (R(1) + e);
}

/* The heaviest leaves of one tree, in falling order: the heaviest branch is followed first, and no child is heavier
 * than its parent. Returns how many. */
static size_t mix_tree(const mixing *s, const rfm_tree *t, size_t which, const rfm_real *x, uint32_t *leaf,
                       rfm_real *weight) {
    size_t open = 1, found = 0, i, most = min_size(RFM_TREE_MIXED, s->leaves);
    rfm_real sum = R(0);
    s->branch[0] = t->roots[which], s->mass[0] = R(1);
    while (open > 0 && found < most && sum < R(RFM_TREE_SHARE)) {
        size_t best = 0;
        rfm_real mass;
        int32_t at;
        for (i = 1; i < open; i++)
            if (s->mass[i] > s->mass[best]) best = i;
        at = s->branch[best], mass = s->mass[best];
        open--;
        s->branch[best] = s->branch[open], s->mass[best] = s->mass[open];
        if (at < 0) {
            leaf[found] = (uint32_t)(-1 - at), weight[found++] = mass;
            sum += mass;
        } else {
            rfm_real left = share_left(t, (size_t)at, x);
            if (left > R(0)) s->branch[open] = t->node[at].left, s->mass[open++] = mass * left;
            if (left < R(1)) s->branch[open] = t->node[at].right, s->mass[open++] = mass * (R(1) - left);
        }
    }
    for (i = 0; i < found; i++) weight[i] /= sum * R(t->trees);
    return found;
}

static void route_block(mixing *s, const rfm_tree *t, rfm_cmat z, size_t first, size_t rows) {
    size_t i, k, which;
    memset(s->start, 0, (s->leaves + 1) * sizeof *s->start);
    for (i = 0; i < rows; i++) {
        const rfm_real *x = row_at(z, first + i);
        uint32_t *leaf = s->leaf + i * s->each;
        rfm_real *weight = s->weight + i * s->each;
        size_t count = 0;
        for (which = 0; which < t->trees; which++) {
            if (t->softness > R(0))
                count += mix_tree(s, t, which, x, leaf + count, weight + count);
            else
                leaf[count] = (uint32_t)rfm_tree_route(t, which, x), weight[count++] = R(1) / R(t->trees);
        }
        s->count[i] = (uint32_t)count;
        for (k = 0; k < count; k++) s->start[leaf[k]]++;
    }
    for (k = 1; k <= s->leaves; k++) s->start[k] += s->start[k - 1];
    for (i = rows; i-- > 0;) /* backwards: start[k], the end of leaf k, falls to its first entry */
        for (k = s->count[i]; k-- > 0;) s->order[--s->start[s->leaf[i * s->each + k]]] = (uint32_t)(i * s->each + k);
}

/* Adds what leaf k says to the rows that come to it, entries `from` to `to` of the order. */
static int add_leaf(mixing *s, const rfm_tree *t, size_t k, rfm_cmat z, size_t first, size_t from, size_t to,
                    rfm_mat y) {
    rfm_model leaf;
    size_t count, i, j;
    int status = RFM_OK;
    rfm_tree_leaf(t, k, &leaf);
    for (; status == RFM_OK && from < to; from += count) {
        count = min_size(to - from, s->gather);
        for (i = 0; i < count; i++)
            memcpy(s->x + i * s->d, row_at(z, first + s->order[from + i] / s->each), s->d * sizeof *s->x);
        status = rfm_predict(&s->desk.room.ctx, &leaf, rfm_cview(s->x, count, s->d), rfm_view(s->y, count, s->c));
        for (i = 0; status == RFM_OK && i < count; i++) {
            const size_t entry = s->order[from + i];
            rfm_real *out = y.at + (first + entry / s->each) * y.stride;
            for (j = 0; j < s->c; j++) out[j] += s->weight[entry] * s->y[i * s->c + j];
        }
    }
    return status;
}

static int mix(mixing *s, const rfm_tree *t, rfm_cmat z, rfm_mat y) {
    size_t first, rows, k, i;
    int status = RFM_OK;
    desk_start(&s->desk);
    for (first = 0; status == RFM_OK && first < z.rows; first += rows) {
        rows = min_size(z.rows - first, s->block);
        for (i = first; i < first + rows; i++) memset(y.at + i * y.stride, 0, s->c * sizeof *y.at);
        route_block(s, t, z, first, rows);
        for (k = 0; status == RFM_OK && k < s->leaves; k++) {
            if (s->start[k] == s->start[k + 1]) continue;
            status = add_leaf(s, t, k, z, first, s->start[k], s->start[k + 1], y);
            if (status == RFM_OK)
                status = desk_tick(&s->desk, (R(first) + R(rows) * R(k + 1) / R(s->leaves)) / R(z.rows));
        }
        for (i = first; status == RFM_OK && i < first + rows; i++)
            if (!rfm_finite(s->c, y.at + i * y.stride)) status = RFM_ERANGE;
    }
    return in_range(status);
}

/* The desk of the leaves that there are. */
static void mixing_needs(mixing *s, const rfm_tree *t, size_t rows) {
    size_t i;
    for (i = 0; i < t->leaves; i++) {
        rfm_model leaf;
        size_t bytes = 0;
        rfm_tree_leaf(t, i, &leaf);
        desk_for(&s->desk, rfm_predict_need(s->desk.ctx, &leaf, min_size(rows, GATHER_ROWS), &bytes), &bytes);
    }
}

static int rows_fit(size_t m) { return m == 0 ? RFM_EZERO : m > UINT32_MAX ? RFM_EOVERFLOW : RFM_OK; }

int rfm_tree_predict_need(const rfm_ctx *ctx, const rfm_tree *tree, size_t m, size_t *bytes) {
    rfm_arena measure;
    mixing s;
    int status = ctx == NULL || tree == NULL || bytes == NULL ? RFM_ENULL : rows_fit(m);
    if (status != RFM_OK) return status;
    mixing_of(ctx, tree, &s);
    mixing_needs(&s, tree, m);
    rfm_arena_measure(&measure);
    status = mixing_layout(&measure, &s, m, tree->softness > R(0));
    if (status == RFM_OK) *bytes = measure.peak;
    return status;
}

int rfm_tree_predict(const rfm_ctx *ctx, const rfm_tree *tree, rfm_cmat z, rfm_mat y) {
    mixing s;
    span list[2];
    size_t used, spans = 0;
    int status = ctx == NULL || tree == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = check_view(z);
    if (status == RFM_OK) status = check_view(rfm_const(y));
    if (status != RFM_OK) return status;
    if (z.cols != tree->d || y.cols != tree->c || y.rows != z.rows) return RFM_ESHAPE;
    add_span(list, &spans, z.at, view_reals(z), 0);
    add_span(list, &spans, y.at, view_reals(rfm_const(y)), 1);
    if (spans_overlap(list, spans)) return RFM_EALIAS;
    if (!finite_view(z)) return RFM_EFINITE;
    used = ctx->arena->used;
    mixing_of(ctx, tree, &s);
    mixing_needs(&s, tree, z.rows);
    status = mixing_layout(ctx->arena, &s, z.rows, tree->softness > R(0));
    if (status == RFM_OK) status = mix(&s, tree, z, y);
    return leave(ctx->arena, used, status);
}

/* ==== 4. Shape ==================================================================================
 *
 * On level k there are 2^k parts of floor(n / 2^k) rows, n mod 2^k of them with one more. The last level on which a
 * part has more than C rows is `levels` - 1; parts there that have not are leaves.
 */

typedef struct {
    size_t levels, nodes, leaves; /* of one tree */
    size_t largest;               /* rows of a leaf */
    size_t rows[3], count[3];     /* leaves by their rows */
} shape;

static int shape_of(size_t n, size_t most, shape *s) {
    size_t parts = 1, i;
    memset(s, 0, sizeof *s);
    while (n / parts + (n % parts != 0) > most) parts *= 2, s->levels++; /* parts <= 2 n */
    if (s->levels == 0 || n / (parts / 2) > most) {
        s->rows[0] = n / parts, s->count[0] = parts - n % parts;
        s->rows[1] = n / parts + 1, s->count[1] = n % parts;
    } else { /* most and most + 1 rows on the level above: only the second ones are halved */
        parts /= 2;
        s->rows[0] = most, s->count[0] = parts - n % parts;
        s->rows[1] = (most + 1) / 2, s->count[1] = n % parts;
        s->rows[2] = most + 1 - (most + 1) / 2, s->count[2] = n % parts;
    }
    for (i = 0; i < 3; i++) {
        s->leaves += s->count[i];
        if (s->count[i] > 0) s->largest = max_size(s->largest, s->rows[i]);
    }
    s->nodes = s->leaves - 1;
    return s->leaves > TREE_MOST ? RFM_EOVERFLOW : RFM_OK;
}

/* ==== 5. Splits ================================================================================= */

#define SOFTNESS_STEPS 20 /* beside 0 */
#define SOFTNESS_LEAST R(0.025)
#define SOFTNESS_MOST  R(4.5)
#define SOFTNESS_ROWS  2000   /* validation rows that choose it, evenly spread */
#define SPLIT_SHARE    R(0.1) /* of the ticks */

typedef struct {
    const rfm_ctx *ctx;
    const rfm_data *data;
    const rfm_tree_options *o;
    const rfm_contents *parts;
    size_t n, d, c, rows, checked; /* rows of a fit at most; validation rows */
    shape shape;
    tree_plan plan;
    desk desk;
    uint32_t *index;        /* (n) rows, those of a part together */
    rfm_real *key;          /* (n) v'x of each row; by row */
    uint32_t *first, *size; /* (nodes + leaves) parts of a tree: where in `index`, level by level */
    rfm_real *x, *y, *w;    /* (rows, d), (rows, c), (rows): of one fit */
    rfm_real *mean, *all;   /* (c) what was taken out of y; the mean of all rows */
    rfm_real *sum;          /* (d, d) AGOP of a split */
    rfm_real *v, *value;    /* (d), (1) its top eigenvector and eigenvalue */
    rfm_step *path;
    rfm_real *xv, *yv, *fv; /* (checked, d), (checked, c), (checked, c): validation rows, and predictions of them */
    mixing mixing;
    size_t mark; /* of the arena, below the desk of the fits: that of the mixing takes its place */
    unsigned char *blob;
    size_t bytes; /* of the blob up to now */
    uint32_t rank;
    rfm_real ridge;
} growing;

/* y of the gathered rows less its mean, or all of it if it is constant. 1: it was; then there is nothing to learn. */
static int center_targets(growing *g, size_t rows) {
    rfm_real total = R(0);
    size_t i, k;
    int flat = 1;
    for (i = 0; i < rows; i++) total += g->w[i];
    for (k = 0; k < g->c; k++) {
        rfm_real mean = g->y[k], seen = R(0);
        int same = 1;
        for (i = 1; i < rows; i++) same &= !(g->y[i * g->c + k] < mean || g->y[i * g->c + k] > mean);
        for (i = 0; !same && i < rows; i++) {
            seen += g->w[i];
            if (g->w[i] > R(0)) mean += (g->y[i * g->c + k] - mean) * (g->w[i] / seen);
        }
        if (!(total > R(0))) mean = g->all[k];
        g->mean[k] = mean;
        for (i = 0; i < rows; i++) g->y[i * g->c + k] = total > R(0) ? g->y[i * g->c + k] - mean : R(0);
        flat &= same;
    }
    for (i = 0; !(total > R(0)) && i < rows; i++) g->w[i] = R(1);
    return flat || !(total > R(0));
}

static void gather(growing *g, const uint32_t *index, size_t rows) {
    const rfm_data *data = g->data;
    size_t i;
    for (i = 0; i < rows; i++) {
        memcpy(g->x + i * g->d, row_at(data->x, index[i]), g->d * sizeof *g->x);
        memcpy(g->y + i * g->c, row_at(data->y, index[i]), g->c * sizeof *g->y);
        g->w[i] = data->weights != NULL ? data->weights[index[i]] : R(1);
    }
}

static rfm_data gathered(const growing *g, size_t rows) {
    rfm_data data;
    memset(&data, 0, sizeof data);
    data.x = rfm_cview(g->x, rows, g->d), data.y = rfm_cview(g->y, rows, g->c);
    if (g->data->weights != NULL) data.weights = g->w;
    return data;
}

/* The input that varies most, where gradients say nothing; half of its range. */
static rfm_real direction_of_spread(growing *g, size_t rows) {
    rfm_real most = R(-1);
    size_t best = 0, i, j;
    for (j = 0; j < g->d; j++) {
        rfm_real low = g->x[j], high = g->x[j];
        for (i = 1; i < rows; i++) {
            rfm_real x = g->x[i * g->d + j];
            low = x < low ? x : low, high = max_real(high, x);
        }
        if (high / R(2) - low / R(2) > most) most = high / R(2) - low / R(2), best = j;
    }
    for (j = 0; j < g->d; j++) g->v[j] = j == best ? R(1) : R(0);
    return most;
}

/* x (n) in units of the power of two at its largest, times 2^exponent. */
static void set_unit(size_t n, rfm_real *x, int exponent) {
    rfm_real most = R(0);
    size_t i;
    for (i = 0; i < n; i++) most = max_real(most, RFM_MATH(fabs)(x[i]));
    exponent -= exponent_of(most);
    for (i = 0; i < n; i++) x[i] = RFM_MATH(ldexp)(x[i], exponent);
}

static rfm_options split_options(const growing *g) {
    rfm_options o = g->o->split;
    o.metric = RFM_IDENTITY, o.iterations = 0, o.select = RFM_SELECT_LAST, o.agop_points = 0;
    return o;
}

#define SPREAD_MOST 60 /* exponents of two beyond which targets do not follow the inputs */

/* v: the top direction of the AGOP of a machine that was fitted to some rows of a part. Units of targets and weights do
 * not change it: they are chosen so that squares of gradients are near 1. */
static int find_direction(growing *g, const uint32_t *index, size_t rows) {
    rfm_options o = split_options(g);
    rfm_data data;
    rfm_model m;
    rfm_real steep = R(0); /* of the diagonal: below it the sum is not written */
    size_t j, most = 0;
    int status, flat, unit;
    gather(g, index, rows);
    flat = center_targets(g, rows);
    if (!rfm_finite(rows * g->c, g->y)) return RFM_ERANGE;
    data = gathered(g, rows);
    desk_start(&g->desk);
    unit = exponent_of(direction_of_spread(g, rows));
    if (flat) return RFM_OK;
    set_unit(rows * g->c, g->y, unit > SPREAD_MOST ? SPREAD_MOST : unit < -SPREAD_MOST ? -SPREAD_MOST : unit);
    status = rfm_fit(&g->desk.room.ctx, &data, &o, &g->desk.room.arena, &m, NULL);
    if (data.weights != NULL) set_unit(rows, g->w, 0);
    if (status == RFM_OK)
        status =
            rfm_agop(&g->desk.room.ctx, &m, data.x, data.weights, rfm_view(g->sum, g->d, g->d), rfm_view(NULL, 0, 0));
    for (j = 0; status == RFM_OK && j < g->d; j++) steep = max_real(steep, g->sum[j * g->d + j]);
    if (!(steep > R(0))) return in_range(status);
    status = rfm_eig(&g->desk.room.ctx, rfm_view(g->sum, g->d, g->d), 1, g->value, rfm_view(g->v, 1, g->d));
    for (j = 1; j < g->d; j++)
        if (RFM_MATH(fabs)(g->v[j]) > RFM_MATH(fabs)(g->v[most])) most = j;
    for (j = 0; status == RFM_OK && g->v[most] < R(0) && j < g->d; j++)
        if (j != most) g->v[j] = -g->v[j];
    if (status == RFM_OK) g->v[most] = RFM_MATH(fabs)(g->v[most]);
    return in_range(status);
}

/* Is row a before row b along v? Equal ones are ordered by their number. */
static int before(const growing *g, uint32_t a, uint32_t b) {
    return g->key[a] < g->key[b] || (!(g->key[a] > g->key[b]) && a < b);
}

/* Heap sort of rows along v. */
static void sort_rows(const growing *g, uint32_t *index, size_t rows) {
    size_t start = rows / 2, end = rows;
    while (end > 1) {
        uint32_t moved;
        size_t at, child;
        if (start > 0)
            moved = index[at = --start];
        else
            moved = index[--end], index[end] = index[0], at = 0;
        while ((child = 2 * at + 1) < end) {
            if (child + 1 < end && before(g, index[child], index[child + 1])) child++;
            if (!before(g, moved, index[child])) break;
            index[at] = index[child], at = child;
        }
        index[at] = moved;
    }
}

/* Splits `rows` rows at index: the first rows / 2 go left. The direction and the node, folded, go into the blob. */
static int split(growing *g, uint32_t *index, size_t rows, size_t node, uint32_t *state) {
    const rfm_contents *p = g->parts;
    rfm_tree_node *to = (rfm_tree_node *)(void *)(g->blob + g->plan.at[PART_NODES]) + node;
    rfm_real *v = (rfm_real *)(void *)(g->blob + g->plan.at[PART_DIRECTIONS]) + node * g->d;
    size_t some = min_size(g->o->split_rows, g->o->trees > 1 ? (rows + 1) / 2 : rows), i, j, half = rows / 2;
    int status;
    for (i = 0; some < rows && i < some; i++) { /* drawn to the front */
        size_t at = i + random_index(state, rows - i);
        uint32_t swap = index[at];
        index[at] = index[i], index[i] = swap;
    }
    status = find_direction(g, index, some);
    if (status != RFM_OK) return status;
    for (i = 0; i < rows; i++) {
        const rfm_real *x = row_at(g->data->x, index[i]);
        rfm_real sum = R(0);
        for (j = 0; j < g->d; j++) sum += g->v[j] * x[j];
        if (!rfm_finite(1, &sum)) return RFM_ERANGE;
        g->key[index[i]] = sum;
    }
    sort_rows(g, index, rows);
    to->threshold = g->key[index[half - 1]] / R(2) + g->key[index[half]] / R(2);
    if (!(to->threshold < g->key[index[half]])) to->threshold = g->key[index[half - 1]]; /* neighbours */
    to->spread = g->key[index[rows - 1 - rows / 4]] - g->key[index[rows / 4]];
    if (!rfm_finite(1, &to->spread)) return RFM_ERANGE;
    for (j = 0; j < g->d; j++) v[j] = p->x_scale != NULL ? g->v[j] / p->x_scale[j] : g->v[j];
    return rfm_finite(g->d, v) ? RFM_OK : RFM_ERANGE;
}

/* ==== 6. Leaves ================================================================================= */

/* The best of the tries becomes the next leaf of the blob. from, to: what is done of the whole before and after it. */
static int fit_leaf(growing *g, const uint32_t *index, size_t rows, size_t leaf, rfm_real from, rfm_real to) {
    rfm_contents parts = *g->parts;
    rfm_summary summary;
    rfm_data data;
    rfm_model m;
    rfm_report report;
    rfm_real best = R(0), ridge = R(0);
    size_t t, tries, bytes = 0, kept = 0;
    int status = RFM_OK, flat;
    gather(g, index, rows);
    flat = center_targets(g, rows);
    tries = flat ? 1 : g->o->tries;
    if (!rfm_finite(rows * g->c, g->y) || !rfm_finite(g->c, g->mean)) return RFM_ERANGE;
    data = gathered(g, rows);
    data.start = g->data->start;
    report.path = g->path;
    memset(&summary, 0, sizeof summary);
    parts.model = &m, parts.summary = &summary, parts.class_names = parts.input_names = NULL, parts.record_bytes = 0;
    parts.temperature = R(0);
    for (t = 0; status == RFM_OK && t < tries; t++) {
        rfm_options o = g->o->leaf[t];
        const rfm_step *step;
        if (flat) o.iterations = 0, o.select = RFM_SELECT_LAST;
        if (o.agop_points > rows) o.agop_points = 0;
        desk_start(&g->desk);
        g->desk.base = t == 0 ? from : g->desk.end;
        g->desk.end = t + 1 < tries ? from + (to - from) * R(t + 1) / R(tries) : to;
        if (g->ctx->tick != NULL) g->desk.room.ctx.tick = desk_tick_inner, g->desk.room.ctx.tick_arg = &g->desk;
        status = rfm_fit(&g->desk.room.ctx, &data, &o, &g->desk.room.arena, &m, &report);
        if (status != RFM_OK) break;
        step = &g->path[report.best];
        if (t > 0 && !(step->score < best)) continue;
        best = step->score, ridge = step->ridge, m.offset = g->mean;
        summary.bandwidth = m.bandwidth, summary.ridge = step->ridge, summary.validation = step->score;
        summary.rows = (uint32_t)rows, summary.iterations = (uint32_t)report.best;
        status = rfm_model_size(&parts, &bytes);
        if (status == RFM_OK) status = rfm_model_write(&parts, g->blob + g->bytes, bytes);
        kept = m.r;
    }
    if (status != RFM_OK) return in_range(status);
    g->ridge = max_real(g->ridge, ridge), g->rank = (uint32_t)max_size(g->rank, kept);
    rfm_put_u32(g->blob + g->plan.at[PART_LEAVES] + 4 * leaf, (uint32_t)g->bytes);
    g->bytes += bytes;
    return RFM_OK;
}

/* ==== 7. The fit ================================================================================ */

void rfm_tree_options_init(rfm_tree_options *o) {
    size_t i;
    memset(o, 0, sizeof *o);
    o->leaf_rows = 1000, o->split_rows = 500, o->trees = 1, o->tries = 1, o->score = RFM_SCORE_SQUARED;
    rfm_options_init(&o->split);
    o->split.bandwidth_rule = RFM_BANDWIDTH_MEDIAN, o->split.bandwidth = R(1);
    for (i = 0; i < RFM_TREE_TRIES; i++) {
        o->leaf[i] = o->split;
        o->leaf[i].iterations = 3, o->leaf[i].select = RFM_SELECT_LOO;
    }
}

static int tree_options_right(const rfm_tree_options *o) {
    size_t i;
    if (o->leaf_rows < 2 || o->split_rows < 2 || o->trees < 1 || o->tries < 1 || o->tries > RFM_TREE_TRIES) return 0;
    if (!between(RFM_SCORE_SQUARED, o->score, RFM_SCORE_ACCURACY)) return 0;
    for (i = 0; i < o->tries; i++) {
        if (o->leaf[i].score != RFM_SCORE_SQUARED || o->leaf[i].select == RFM_SELECT_VALIDATION) return 0;
        if (o->tries > 1 && o->leaf[i].select != RFM_SELECT_LOO) return 0;
    }
    return 1;
}

/* A model like that of a fit with these options, of full rank: only its sizes are read. */
static rfm_model model_like(const growing *g, const rfm_options *o, size_t rows) {
    rfm_model m;
    memset(&m, 0, sizeof m);
    m.n = rows, m.d = m.r = g->d, m.c = g->c;
    m.kernel = o->kernel, m.metric = o->iterations > 0 || g->data->start.at != NULL ? o->metric : RFM_IDENTITY;
    m.bandwidth = R(1), m.exponent = o->exponent, m.radius = o->unit_rows ? R(1) : R(0);
    m.shift = m.p = m.centers = m.alpha = m.offset = &somewhere;
    return m;
}

/* Bytes of the largest blob that a leaf of so many rows can have. */
static int leaf_need(const growing *g, size_t rows, size_t *most) {
    rfm_contents parts = *g->parts;
    rfm_summary summary;
    size_t i, bytes = 0;
    int status = RFM_OK;
    memset(&summary, 0, sizeof summary);
    parts.summary = &summary, parts.class_names = parts.input_names = NULL, parts.record_bytes = 0;
    for (i = 0, *most = 0; status == RFM_OK && i < g->o->tries; i++) {
        rfm_model m = model_like(g, &g->o->leaf[i], rows);
        parts.model = &m;
        status = rfm_model_size(&parts, &bytes);
        *most = max_size(*most, bytes);
    }
    return status;
}

static uint32_t at_most_a_blob(size_t bytes) { return bytes > TREE_MOST ? UINT32_MAX : (uint32_t)bytes; }

/* What comes before the leaves of so many trees. */
static int plan_parts(growing *g) {
    const rfm_contents *p = g->parts;
    size_t trees = g->o->trees;
    if (trees > TREE_MOST / g->shape.leaves) return RFM_EOVERFLOW;
    size_parts(&g->plan, (uint32_t)g->d, (uint32_t)trees, (uint32_t)(trees * g->shape.nodes),
               (uint32_t)(trees * g->shape.leaves));
    g->plan.bytes[PART_CLASS_NAMES] = at_most_a_blob(names_bytes(p->class_names, g->c == 1 ? 2 : g->c));
    g->plan.bytes[PART_INPUT_NAMES] = at_most_a_blob(names_bytes(p->input_names, g->d));
    g->plan.bytes[PART_RECORD] = at_most_a_blob(p->record_bytes);
    return place_parts(&g->plan);
}

/* The parts of the blob, and *bytes of all of it at most. */
static int plan_blob(growing *g, size_t *bytes) {
    size_t trees = g->o->trees, i, leaf = 0;
    int status = plan_parts(g);
    *bytes = g->plan.end;
    for (i = 0; i < 3 && status == RFM_OK; i++) {
        if (g->shape.count[i] == 0) continue;
        status = leaf_need(g, g->shape.rows[i], &leaf);
        if (status == RFM_OK && leaf > (TREE_MOST - *bytes) / (trees * g->shape.count[i])) status = RFM_EOVERFLOW;
        if (status == RFM_OK) *bytes += leaf * trees * g->shape.count[i];
    }
    return status;
}

static int growing_start(const rfm_ctx *ctx, const rfm_data *data, const rfm_tree_options *o, const rfm_contents *parts,
                         growing *g) {
    int status;
    memset(g, 0, sizeof *g);
    if (ctx == NULL || data == NULL || o == NULL || parts == NULL) return RFM_ENULL;
    status = check_view(data->x);
    if (status == RFM_OK) status = check_view(data->y);
    if (status != RFM_OK) return status;
    if (data->x.rows != data->y.rows) return RFM_ESHAPE;
    if (data->x.cols > TREE_MOST || data->y.cols > TREE_MOST) return RFM_EOVERFLOW;
    if ((data->x_validation.at == NULL) != (data->y_validation.at == NULL)) return RFM_ENULL;
    if (!tree_options_right(o)) return RFM_EVALUE;
    g->ctx = ctx, g->data = data, g->o = o, g->parts = parts;
    g->n = data->x.rows, g->d = data->x.cols, g->c = data->y.cols;
    if (data->x_validation.at != NULL) {
        status = check_view(data->x_validation);
        if (status == RFM_OK) status = check_view(data->y_validation);
        if (status != RFM_OK) return status;
        if (data->x_validation.cols != g->d || data->y_validation.cols != g->c ||
            data->x_validation.rows != data->y_validation.rows)
            return RFM_ESHAPE;
        g->checked = min_size(data->x_validation.rows, SOFTNESS_ROWS);
    }
    status = shape_of(g->n, o->leaf_rows, &g->shape);
    if (g->shape.nodes == 0) g->checked = 0; /* no routing */
    g->rows = max_size(g->shape.largest, g->shape.nodes > 0 ? min_size(o->split_rows, g->n) : 0);
    g->desk.ctx = g->mixing.desk.ctx = ctx, g->mixing.d = g->d, g->mixing.c = g->c, g->mixing.trees = o->trees;
    g->mixing.nodes = o->trees * g->shape.nodes, g->mixing.leaves = o->trees * g->shape.leaves;
    return status;
}

/* The memory of the fits: of the largest leaf, of a split, and of predictions while the softness is chosen. */
static int growing_needs(growing *g) {
    rfm_data like;
    rfm_options o = split_options(g);
    rfm_model m;
    size_t i, scratch = 0, store = 0, bytes = 0, rows = min_size(g->o->split_rows, g->n);
    int status = RFM_OK;
    memset(&like, 0, sizeof like);
    if (g->data->weights != NULL) like.weights = &somewhere;
    if (g->shape.nodes > 0) {
        like.x = rfm_cview(&somewhere, rows, g->d), like.y = rfm_cview(&somewhere, rows, g->c);
        status = rfm_fit_need(g->ctx, &like, &o, &scratch, &store);
        bytes = scratch + store;
        desk_for(&g->desk, status, &bytes);
        m = model_like(g, &o, rows);
        if (status == RFM_OK) status = rfm_agop_need(g->ctx, &m, rows, &bytes);
        bytes += store;
        desk_for(&g->desk, status, &bytes);
        if (status == RFM_OK) status = rfm_eig_need(g->ctx, g->d, 1, &bytes);
        bytes += store;
        desk_for(&g->desk, status, &bytes);
    }
    like.x = rfm_cview(&somewhere, g->shape.largest, g->d), like.y = rfm_cview(&somewhere, g->shape.largest, g->c);
    like.start = g->data->start;
    for (i = 0; i < g->o->tries && status == RFM_OK; i++) {
        o = g->o->leaf[i];
        if (o.agop_points > g->shape.largest) o.agop_points = 0;
        status = rfm_fit_need(g->ctx, &like, &o, &scratch, &store);
        bytes = scratch + store;
        desk_for(&g->desk, status, &bytes);
        m = model_like(g, &o, g->shape.largest);
        if (status == RFM_OK && g->checked > 0)
            status = rfm_predict_need(g->ctx, &m, min_size(g->checked, GATHER_ROWS), &bytes);
        desk_for(&g->mixing.desk, status, &bytes);
    }
    return status;
}

static int growing_layout(rfm_arena *arena, growing *g) {
    size_t parts = g->shape.nodes + g->shape.leaves, most = 0, i;
    for (i = 0; i < g->o->tries; i++) most = max_size(most, g->o->leaf[i].iterations);
    g->index = (uint32_t *)rfm_arena_take(arena, g->n, sizeof *g->index);
    g->key = rfm_arena_reals(arena, g->n, 1);
    g->first = (uint32_t *)rfm_arena_take(arena, parts, sizeof *g->first);
    g->size = (uint32_t *)rfm_arena_take(arena, parts, sizeof *g->size);
    g->x = rfm_arena_reals(arena, g->rows, g->d);
    g->y = rfm_arena_reals(arena, g->rows, g->c);
    g->w = rfm_arena_reals(arena, g->rows, 1);
    g->mean = rfm_arena_reals(arena, g->c, 1);
    g->all = rfm_arena_reals(arena, g->c, 1);
    g->sum = rfm_arena_reals(arena, g->shape.nodes > 0 ? g->d : 0, g->d);
    g->v = rfm_arena_reals(arena, g->d, 1);
    g->value = rfm_arena_reals(arena, 1, 1);
    g->path = (rfm_step *)rfm_arena_take(arena, most + 1, sizeof *g->path);
    g->xv = rfm_arena_reals(arena, g->checked, g->d);
    g->yv = rfm_arena_reals(arena, g->checked, g->c);
    g->fv = rfm_arena_reals(arena, g->checked, g->c);
    g->mark = arena->used;
    if (g->checked > 0 && arena->status == RFM_OK) {
        (void)mixing_layout(arena, &g->mixing, g->checked, 1);
        if (arena->status == RFM_OK) rfm_arena_release(arena, g->mark); /* it comes when all leaves are there */
    }
    desk_layout(arena, &g->desk);
    return arena->status;
}

int rfm_tree_fit_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_tree_options *options,
                      const rfm_contents *contents, size_t *scratch, size_t *blob) {
    rfm_arena measure;
    growing g;
    size_t bytes = 0;
    int status = growing_start(ctx, data, options, contents, &g);
    if (status == RFM_OK && (scratch == NULL || blob == NULL)) status = RFM_ENULL;
    if (status == RFM_OK) status = growing_needs(&g);
    if (status == RFM_OK) status = plan_blob(&g, &bytes);
    rfm_arena_measure(&measure);
    if (status == RFM_OK) status = growing_layout(&measure, &g);
    if (status == RFM_OK) *scratch = measure.peak, *blob = bytes;
    return status;
}

static int find_not_finite(rfm_cmat a, size_t base, rfm_tree_report *report) {
    size_t i, j;
    for (i = 0; i < a.rows; i++) {
        if (rfm_finite(a.cols, row_at(a, i))) continue;
        for (j = 0; rfm_finite(1, row_at(a, i) + j); j++) continue;
        report->row = i, report->col = base + j;
        return RFM_EFINITE;
    }
    return RFM_OK;
}

static int scales_right(const rfm_real *mean, const rfm_real *scale, size_t count) {
    size_t i;
    if (mean == NULL) return 1;
    for (i = 0; i < count; i++)
        if (!(scale[i] > R(0))) return 0;
    return rfm_finite(count, mean) && rfm_finite(count, scale);
}

/* What goes into the head and behind it. */
static int parts_right(const rfm_contents *p) {
    if (p->record_bytes > 0 && p->record == NULL) return RFM_ENULL;
    if (p->record_bytes > 0 && !rfm_record_right(p->record, p->record_bytes)) return RFM_EVALUE;
    if (!between(RFM_REGRESS, p->task, RFM_CLASSIFY) || !factor_is_right(p->temperature)) return RFM_EVALUE;
    return little_endian() ? RFM_OK : RFM_ETYPE;
}

/* What the numbers have to be, before any work. */
static int check_numbers(const growing *g, rfm_tree_report *report) {
    const rfm_data *data = g->data;
    const rfm_contents *p = g->parts;
    rfm_real most = R(0);
    size_t i;
    int status = find_not_finite(data->x, 0, report);
    if (status == RFM_OK) status = find_not_finite(data->y, g->d, report);
    if (status == RFM_OK && g->checked > 0) {
        if (!finite_view(data->x_validation) || !finite_view(data->y_validation)) status = RFM_EFINITE;
    }
    if (status != RFM_OK) return status;
    for (i = 0; data->weights != NULL && i < g->n; i++) {
        if (!rfm_finite(1, data->weights + i)) return RFM_EFINITE;
        if (!(data->weights[i] >= R(0))) return RFM_EVALUE;
        most = max_real(most, data->weights[i]);
    }
    if (data->weights != NULL && !(most > R(0))) return RFM_EVALUE;
    if ((p->x_mean == NULL) != (p->x_scale == NULL) || (p->y_mean == NULL) != (p->y_scale == NULL)) return RFM_ENULL;
    if (!scales_right(p->x_mean, p->x_scale, g->d) || !scales_right(p->y_mean, p->y_scale, g->c)) return RFM_EVALUE;
    return parts_right(p);
}

/* The mean of all targets, for leaves whose rows have no weight. */
static void mean_of_all(growing *g) {
    const rfm_data *data = g->data;
    size_t i, k;
    for (k = 0; k < g->c; k++) {
        rfm_real mean = R(0), seen = R(0);
        for (i = 0; i < g->n; i++) {
            rfm_real w = data->weights != NULL ? data->weights[i] : R(1);
            seen += w;
            if (w > R(0)) mean += (row_at(data->y, i)[k] - mean) * (w / seen);
        }
        g->all[k] = mean;
    }
}

/* What is done of the whole when so many leaves of a tree are fitted. */
static rfm_real share_done(const growing *g, size_t which, size_t leaves) {
    rfm_real fitted = R(leaves) / R(g->shape.leaves);
    return (R(which) + (SPLIT_SHARE * (R(1) - fitted) + fitted)) / R(g->o->trees);
}

/* One tree, level by level: parts are numbered as they are met, and those with too many rows are halved. Then its
 * leaves are fitted. *node and *leaf are the next numbers of the blob. */
static int grow_tree(growing *g, size_t which, uint32_t *node, uint32_t *leaf) {
    const size_t parts = g->shape.nodes + g->shape.leaves;
    rfm_tree_node *nodes = (rfm_tree_node *)(void *)(g->blob + g->plan.at[PART_NODES]);
    int32_t *root = (int32_t *)(void *)(g->blob + g->plan.at[PART_ROOTS]) + which;
    const uint32_t first_leaf = *leaf;
    uint32_t state = rfm_random_start(g->o->seed + (uint32_t)which), met = 1, parent = *node, i;
    int status = RFM_OK, right = 0;
    for (i = 0; i < g->n; i++) g->index[i] = i;
    g->first[0] = 0, g->size[0] = (uint32_t)g->n;
    for (i = 0; i < parts && status == RFM_OK; i++) {
        const int is_leaf = g->size[i] <= g->o->leaf_rows;
        const int32_t branch = is_leaf ? -1 - (int32_t)(*leaf)++ : (int32_t)(*node)++;
        if (i == 0)
            *root = branch;
        else if (!right)
            nodes[parent].left = branch, right = 1;
        else
            nodes[parent++].right = branch, right = 0;
        if (is_leaf) continue;
        status = split(g, g->index + g->first[i], g->size[i], (size_t)branch, &state);
        g->first[met] = g->first[i], g->size[met] = g->size[i] / 2;
        g->first[met + 1] = g->first[i] + g->size[met], g->size[met + 1] = g->size[i] - g->size[met];
        met += 2;
        g->desk.base = R(which) / R(g->o->trees), g->desk.end = share_done(g, which, 0);
        if (status == RFM_OK) status = desk_tick(&g->desk, R(met) / R(parts));
    }
    for (i = 0, *leaf = first_leaf; i < parts && status == RFM_OK; i++) {
        if (g->size[i] > g->o->leaf_rows) continue;
        status = fit_leaf(g, g->index + g->first[i], g->size[i], *leaf, share_done(g, which, *leaf - first_leaf),
                          share_done(g, which, *leaf - first_leaf + 1));
        ++*leaf;
    }
    return status;
}

static void put_float(unsigned char *at, rfm_real value) {
    float f = (float)value;
    memcpy(at, &f, sizeof f);
}

static void seal(unsigned char *b) { rfm_put_u32(b + 4, rfm_crc32(0, b + COVERED, rfm_get_u32(b + 8) - COVERED)); }

/* Everything but nodes and leaves, which are there. */
static void finish_blob(growing *g) {
    const rfm_contents *p = g->parts;
    unsigned char *b = g->blob;
    rfm_put_u32(b, TREE_MAGIC);
    rfm_put_u32(b + 8, (uint32_t)g->bytes);
    b[12] = TREE_VERSION, b[AT_TYPE] = sizeof(rfm_real), b[AT_TASK] = (unsigned char)p->task;
    rfm_put_u32(b + AT_D, (uint32_t)g->d), rfm_put_u32(b + AT_C, (uint32_t)g->c);
    rfm_put_u32(b + AT_TREES, (uint32_t)g->o->trees);
    rfm_put_u32(b + AT_NODES, (uint32_t)(g->o->trees * g->shape.nodes));
    rfm_put_u32(b + AT_LEAVES, (uint32_t)(g->o->trees * g->shape.leaves));
    rfm_put_u32(b + AT_RANK, g->rank);
    put_float(b + AT_TEMPERATURE, p->temperature);
    rfm_put_u32(b + AT_CLASS_NAMES, g->plan.bytes[PART_CLASS_NAMES]);
    rfm_put_u32(b + AT_INPUT_NAMES, g->plan.bytes[PART_INPUT_NAMES]);
    rfm_put_u32(b + AT_RECORD, g->plan.bytes[PART_RECORD]);
    if (p->x_mean != NULL) memcpy(b + g->plan.at[PART_SHIFT], p->x_mean, g->plan.bytes[PART_SHIFT]);
    if (p->class_names != NULL)
        memcpy(b + g->plan.at[PART_CLASS_NAMES], p->class_names, g->plan.bytes[PART_CLASS_NAMES]);
    if (p->input_names != NULL)
        memcpy(b + g->plan.at[PART_INPUT_NAMES], p->input_names, g->plan.bytes[PART_INPUT_NAMES]);
    if (p->record_bytes > 0) memcpy(b + g->plan.at[PART_RECORD], p->record, p->record_bytes);
    seal(b);
}

/* The score of predictions of the validation rows; of numbers in the units in which they were given to the fit. */
static rfm_real score_of(const growing *g, const rfm_tree *t) {
    const rfm_real *unit = g->parts->y_scale;
    rfm_real sum = R(0);
    rfm_model like;
    size_t i, k;
    memset(&like, 0, sizeof like);
    like.c = t->c, like.task = RFM_CLASSIFY;
    for (i = 0; i < g->checked; i++) {
        const rfm_real *f = g->fv + i * g->c, *y = g->yv + i * g->c;
        if (g->o->score == RFM_SCORE_ACCURACY)
            sum += rfm_class(&like, f, NULL) == rfm_class(&like, y, NULL) ? R(1) : R(0);
        for (k = 0; g->o->score == RFM_SCORE_SQUARED && k < g->c; k++) {
            const rfm_real off = (f[k] - y[k]) / (unit != NULL ? unit[k] : R(1));
            sum += off * off / R(g->c);
        }
    }
    return sum / R(g->checked);
}

/* The validation rows in the units of the blob's inputs and outputs. */
static void take_validation(growing *g) {
    const rfm_contents *p = g->parts;
    const rfm_cmat x = g->data->x_validation, y = g->data->y_validation;
    size_t i, j;
    for (i = 0; i < g->checked; i++) {
        size_t row = i * x.rows / g->checked;
        for (j = 0; j < g->d; j++) {
            rfm_real value = row_at(x, row)[j];
            g->xv[i * g->d + j] = p->x_mean != NULL ? value * p->x_scale[j] + p->x_mean[j] : value;
        }
        for (j = 0; j < g->c; j++) {
            rfm_real value = row_at(y, row)[j];
            g->yv[i * g->c + j] = p->y_mean != NULL ? value * p->y_scale[j] + p->y_mean[j] : value;
        }
    }
}

/* Tries softer and softer routing, until it has become worse for some time. */
static int choose_softness(growing *g, rfm_tree *t, rfm_tree_report *report) {
    rfm_real best = R(0);
    size_t i, worse = 0;
    int status;
    take_validation(g);
    rfm_arena_release(g->ctx->arena, g->mark);
    status = mixing_layout(g->ctx->arena, &g->mixing, g->checked, 1);
    if (status != RFM_OK) return status;
    g->mixing.desk.base = g->mixing.desk.end = R(1);
    for (i = 0; i <= SOFTNESS_STEPS && worse < 4; i++) {
        rfm_real score;
        int better;
        t->softness = R(0);
        if (i > 0)
            t->softness = R((float)(SOFTNESS_LEAST *
                                    RFM_MATH(pow)(SOFTNESS_MOST / SOFTNESS_LEAST, R(i - 1) / R(SOFTNESS_STEPS - 1))));
        status = mix(&g->mixing, t, rfm_cview(g->xv, g->checked, g->d), rfm_view(g->fv, g->checked, g->c));
        if (status != RFM_OK) return status;
        score = score_of(g, t);
        better = g->o->score == RFM_SCORE_SQUARED ? score < report->soft : score > report->soft;
        if (i == 0) report->hard = score;
        if (i == 0 || better)
            report->soft = score, best = t->softness, worse = 0;
        else
            worse++;
    }
    t->softness = best;
    put_float(g->blob + AT_SOFTNESS, best);
    seal(g->blob);
    return RFM_OK;
}

static int grow(growing *g, rfm_tree *tree, rfm_tree_report *report) {
    rfm_tree grown;
    uint32_t node = 0, leaf = 0;
    size_t which;
    int status = RFM_OK;
    memset(&grown, 0, sizeof grown); /* where numbers are big-endian, nothing is opened */
    mean_of_all(g);
    if (!rfm_finite(g->c, g->all)) return RFM_ERANGE;
    memset(g->blob, 0, g->plan.end);
    g->bytes = g->plan.end;
    for (which = 0; which < g->o->trees && status == RFM_OK; which++) status = grow_tree(g, which, &node, &leaf);
    if (status != RFM_OK) return status;
    finish_blob(g);
    status = rfm_tree_open(g->blob, g->bytes, &grown);
    if (status == RFM_OK && g->checked > 0) status = choose_softness(g, &grown, report);
    if (status != RFM_OK) return status;
    report->bytes = g->bytes, report->depth = g->shape.levels, report->ridge = g->ridge;
    *tree = grown;
    return RFM_OK;
}

int rfm_tree_fit(const rfm_ctx *ctx, const rfm_data *data, const rfm_tree_options *options,
                 const rfm_contents *contents, void *blob, size_t size, rfm_tree *tree, rfm_tree_report *report) {
    growing g;
    rfm_tree_report own;
    size_t used, bytes = 0;
    int status = growing_start(ctx, data, options, contents, &g);
    if (status == RFM_OK) status = blob == NULL || tree == NULL ? RFM_ENULL : check_arena(ctx->arena);
    if (status == RFM_OK) status = growing_needs(&g);
    if (status == RFM_OK) status = plan_blob(&g, &bytes);
    if (status == RFM_OK && (uintptr_t)blob % RFM_ALIGN != 0) status = RFM_EALIGN;
    if (status == RFM_OK && size < bytes) status = RFM_EARENA;
    if (status != RFM_OK) return status;
    memset(&own, 0, sizeof own);
    if (report == NULL) report = &own;
    status = check_numbers(&g, report);
    if (status != RFM_OK) return status;
    used = ctx->arena->used;
    g.blob = (unsigned char *)blob;
    status = growing_layout(ctx->arena, &g);
    if (status != RFM_OK) return leave(ctx->arena, used, status);
    memset(report, 0, sizeof *report);
    status = grow(&g, tree, report);
    if (status != RFM_OK) memset(blob, 0, TREE_HEAD);
    return leave(ctx->arena, used, status);
}

/* Sizes that all models have, and the bytes of each of them to their sum. */
static int joined_sizes(growing *g, size_t count, const void *const *blobs, const size_t *sizes, size_t *sum) {
    size_t i;
    for (i = 0, *sum = 0; i < count; i++) {
        rfm_model m;
        int status = blobs[i] == NULL ? RFM_ENULL : rfm_model_open(blobs[i], sizes[i], &m);
        uint32_t bytes;
        if (status != RFM_OK) return status;
        if (i == 0) g->d = m.d, g->c = m.c;
        if (m.d != g->d || m.c != g->c || m.task != g->parts->task) return RFM_ESHAPE;
        bytes = rfm_get_u32((const unsigned char *)blobs[i] + 12);
        if (bytes % RFM_ALIGN != 0) return RFM_ECONTENT;
        if (bytes > TREE_MOST - *sum) return RFM_EOVERFLOW;
        *sum += bytes;
        if (m.r > g->rank) g->rank = (uint32_t)m.r;
    }
    return RFM_OK;
}

int rfm_tree_join(const rfm_contents *contents, size_t count, const void *const *blobs, const size_t *sizes, void *to,
                  size_t size, size_t *bytes) {
    growing g;
    rfm_tree_options o;
    size_t i, sum = 0;
    int status;
    if (contents == NULL || blobs == NULL || sizes == NULL || bytes == NULL) return RFM_ENULL;
    if (count == 0) return RFM_EVALUE;
    memset(&g, 0, sizeof g);
    memset(&o, 0, sizeof o);
    o.trees = count, g.o = &o, g.parts = contents, g.shape.leaves = 1;
    status = joined_sizes(&g, count, blobs, sizes, &sum);
    if (status == RFM_OK) status = parts_right(contents);
    if (status == RFM_OK && contents->x_mean != NULL && !rfm_finite(g.d, contents->x_mean)) status = RFM_EVALUE;
    if (status == RFM_OK) status = plan_parts(&g);
    if (status == RFM_OK && g.plan.end > TREE_MOST - sum) status = RFM_EOVERFLOW;
    if (status != RFM_OK) return status;
    *bytes = g.plan.end + sum;
    if (to == NULL) return RFM_OK;
    if ((uintptr_t)to % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < *bytes) return RFM_EARENA;
    g.blob = (unsigned char *)to, g.bytes = g.plan.end;
    memset(to, 0, g.plan.end);
    for (i = 0; i < count; i++) {
        uint32_t own = rfm_get_u32((const unsigned char *)blobs[i] + 12);
        rfm_put_u32(g.blob + g.plan.at[PART_ROOTS] + 4 * i, ~(uint32_t)i); /* -1 - i */
        rfm_put_u32(g.blob + g.plan.at[PART_LEAVES] + 4 * i, (uint32_t)g.bytes);
        memcpy(g.blob + g.bytes, blobs[i], own);
        g.bytes += own;
    }
    finish_blob(&g);
    return RFM_OK;
}

int rfm_tree_set(void *blob, size_t size, rfm_real softness, rfm_real temperature) {
    unsigned char *b = (unsigned char *)blob;
    rfm_tree tree;
    int status = rfm_tree_open(blob, size, &tree);
    if (status != RFM_OK) return status;
    if (!factor_is_right(softness) || !factor_is_right(temperature) || softness > R(1e30) || temperature > R(1e30))
        return RFM_EVALUE;
    put_float(b + AT_SOFTNESS, softness), put_float(b + AT_TEMPERATURE, temperature);
    seal(b);
    return RFM_OK;
}

int rfm_tree_bare(const void *blob, size_t blob_size, void *to, size_t size, size_t *bytes) {
    const unsigned char *from = (const unsigned char *)blob;
    unsigned char *b = (unsigned char *)to;
    tree_plan old, plan;
    rfm_tree tree;
    uint32_t all, less, i;
    int status = bytes == NULL ? RFM_ENULL : rfm_tree_open(blob, blob_size, &tree);
    if (status != RFM_OK) return status;
    (void)plan_of_blob(from, &old);
    plan = old;
    plan.bytes[PART_INPUT_NAMES] = plan.bytes[PART_RECORD] = 0;
    (void)place_parts(&plan);
    all = rfm_get_u32(from + 8), less = old.end - plan.end;
    if (to != NULL && size < all - less) return RFM_EARENA;
    *bytes = all - less;
    if (to == NULL) return RFM_OK;
    memset(b, 0, plan.end);
    memcpy(b, from, TREE_HEAD);
    rfm_put_u32(b + 8, all - less), rfm_put_u32(b + AT_INPUT_NAMES, 0), rfm_put_u32(b + AT_RECORD, 0);
    for (i = 0; i < PART_LEAVES; i++) memcpy(b + plan.at[i], from + old.at[i], plan.bytes[i]);
    for (i = 0; i < old.bytes[PART_LEAVES]; i += 4)
        rfm_put_u32(b + plan.at[PART_LEAVES] + i, rfm_get_u32(from + old.at[PART_LEAVES] + i) - less);
    memcpy(b + plan.end, from + old.end, all - old.end);
    seal(b);
    return RFM_OK;
}

const void *rfm_tree_record(const void *blob, size_t size, size_t *bytes) {
    const unsigned char *b = (const unsigned char *)blob;
    tree_plan plan;
    rfm_tree tree;
    if (bytes == NULL || rfm_tree_open(blob, size, &tree) != RFM_OK || plan_of_blob(b, &plan) != RFM_OK) return NULL;
    if (plan.bytes[PART_RECORD] == 0 || !rfm_record_right(b + plan.at[PART_RECORD], plan.bytes[PART_RECORD]))
        return NULL;
    *bytes = plan.bytes[PART_RECORD];
    return b + plan.at[PART_RECORD];
}

#endif /* RFM_NO_TRAIN */
