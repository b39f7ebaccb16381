/* rfm_small.c - small models, and inference in integers; rfm_small.h has the contract.
 *
 * Contents:
 *   1. Models of integers  the blob, opened in place; why nothing can overflow
 *   2. One row             prediction in integers
 *   (the rest is not there with RFM_NO_TRAIN)
 *   3. Rows                checks and products that the following share
 *   4. Features, rank
 *   5. Centres             four ways to choose them, the refit, the polish
 *   6. Integers            scales, the table of phi, rounding with feedback
 *   7. Writing
 */
#include "rfm_small.h"

#include <math.h>
#include <string.h>

/* ==== 1. Models of integers ===========================================================================================
 *
 * All arithmetic is in 32 bits, and none of it overflows. With what is checked here, B = 15 for RFM_I8 and 7 for RFM_I16, and limit =
 * 2^k - 1, the largest k with 4 r 4^k <= 2^32 (at most 8 for RFM_I8, 14 for RFM_I16):
 *
 *   u_j <= 4095, RFM_DIAGONAL: 2 limit <= 32766    at x = high, and u grows with x; high - low and gain are below 2^16
 *   |bias_p + sum_j P_pj u_j| < 2^31               because |bias_p| + 4095 sum_j |P_pj| is; RFM_DIAGONAL: |bias_p| + 32767 is
 *   t_i <= 2^32 - 12, so t_i + 8 fits              |z_p| and |center_ip| <= limit, so t_i <= r (2 limit)^2 = r (4 4^k - 8 2^k + 4)
 *                                                  <= 2^32 - 12 r for k >= 1, and 0 for k = 0
 *   |phi| < 2^15                                   checked node by node; between two nodes it is between their values
 *   |offset_k + sum over any centres| < 2^31       because |offset_k| + 2^B sum_i |alpha_ik| is: a term, for RFM_I16 after its shift by 8 to
 *                                                  the right, which rounds towards the next integer of larger magnitude at most, is at most
 *                                                  2^B |alpha_ik|, itself an integer
 *
 * so sums may be taken in any order: every plug-in gives the same bits.
 */

/* Signed numbers are shifted to the right as all compilers do it. */
typedef char shift_is_arithmetic[(-5 >> 1) == -3 ? 1 : -1];
typedef char input_is_8_bytes[sizeof(rfm_input_i) == 8 ? 1 : -1];

/* Sections of a model of integers, beside RFM_PART_... */
enum { PART_INPUTS, PART_P, PART_CENTERS, PART_ALPHA, PART_OFFSET, PART_BIAS = RFM_PART_SUMMARY + 1, PART_SHIFTS, PART_PHI, PART_UNITS, PARTS };

#define U_MOST 4095          /* of u, RFM_FULL */
#define SUM_MOST 0x7fffffffu /* of all sums of signed numbers */
#define NODES_MOST 233       /* T < 2^32 is at 8 * 28 + 7 or before, and the next node is the last that is looked at */
#define PHI_BYTES (48 + 8 * PART_PHI + 4) /* where the table has the length of phi */
#define BITS_INFINITY 0x7f800000u         /* floats below have bits below */

static int32_t limit_of(size_t r, int type) {
    unsigned k = type == RFM_I8 ? 8 : 14;
    while (k > 0 && r > (size_t)1 << (30 - 2 * k)) k--;
    return ((int32_t)1 << k) - 1;
}

static uint32_t magnitude(int32_t x) { return x < 0 ? 0u - (uint32_t)x : (uint32_t)x; }

static int32_t number(const void *at, int type, size_t i) {
    return type == RFM_I8 ? ((const int8_t *)at)[i] : ((const int16_t *)at)[i];
}

/* |start| + weight * (the sum of `count` magnitudes from at[first] on, `step` apart) < 2^31; weight is at most 2^15 for RFM_I8, 2^12 for
 * RFM_I16. */
static int sum_fits(const void *at, int type, size_t first, size_t count, size_t step, uint32_t weight, int32_t start) {
    uint32_t left = SUM_MOST, term = magnitude(start);
    for (;; first += step) {
        if (term > left) return 0;
        left -= term;
        if (count-- == 0) return 1;
        term = magnitude(number(at, type, first)) * weight;
    }
}

/* Everything that the head of this section relies on, of a model whose arrays are there. */
static int content_right(const rfm_model_i *m) {
    int full = m->metric == RFM_FULL;
    uint32_t u_most = full ? U_MOST : 2 * (uint32_t)m->limit, bits;
    size_t i;
    for (i = 0; i < m->d; i++) {
        const rfm_input_i *in = &m->inputs[i];
        if (in->low > in->high || in->shift > 31 || (uint32_t)(in->high - in->low) * in->gain >> in->shift > u_most) return 0;
    }
    for (i = 0; i < m->r; i++) {
        if (full ? m->shifts[i] > 31 : magnitude(m->bias[i]) > SUM_MOST - 32767) return 0;
        if (full && !sum_fits(m->p, m->type, i * m->d, m->d, 1, U_MOST, m->bias[i])) return 0;
    }
    for (i = 0; i < m->n * m->r; i++)
        if (magnitude(number(m->centers, m->type, i)) > (uint32_t)m->limit) return 0;
    if (m->nodes > NODES_MOST) return 0;
    for (i = 0; i < m->nodes; i++)
        if (m->phi[i] > RFM_PHI_ONE) return 0;
    for (i = 0; i < m->c; i++) {
        memcpy(&bits, &m->units[i], sizeof bits);
        if (bits - 1 >= BITS_INFINITY - 1) return 0; /* not a positive number */
        if (!sum_fits(m->alpha, m->type, i, m->n, m->c, m->type == RFM_I8 ? 1u << 15 : 1u << 7, m->offset[i])) return 0;
    }
    return 1;
}

int rfm_model_open_i(const void *blob, size_t size, rfm_model_i *model) {
    rfm_blob head;
    rfm_model_i m;
    int status = model == NULL ? RFM_ENULL : rfm_blob_open(blob, size, RFM_I8 | RFM_I16, &head);
    if (status != RFM_OK) return status;
    m.n = head.n, m.d = head.d, m.c = head.c, m.r = head.r;
    m.type = head.type, m.metric = head.metric, m.task = head.task;
    m.limit = limit_of(head.r, head.type);
    m.p = m.shifts = NULL;
    if (head.metric == RFM_FULL) {
        m.p = rfm_blob_part(&head, PART_P, head.d, head.r, head.type);
        m.shifts = (const uint8_t *)rfm_blob_part(&head, PART_SHIFTS, head.r, 1, 1);
        if (m.p == NULL || m.shifts == NULL) return RFM_ECONTENT;
    }
    m.inputs = (const rfm_input_i *)rfm_blob_part(&head, PART_INPUTS, head.d, 1, sizeof(rfm_input_i));
    m.centers = rfm_blob_part(&head, PART_CENTERS, head.n, head.r, head.type);
    m.alpha = rfm_blob_part(&head, PART_ALPHA, head.n, head.c, head.type);
    m.offset = (const int32_t *)rfm_blob_part(&head, PART_OFFSET, head.c, 1, 4);
    m.bias = (const int32_t *)rfm_blob_part(&head, PART_BIAS, head.r, 1, 4);
    m.units = (const float *)rfm_blob_part(&head, PART_UNITS, head.c, 1, 4);
    if (m.inputs == NULL || m.centers == NULL || m.alpha == NULL || m.offset == NULL || m.bias == NULL || m.units == NULL) return RFM_ECONTENT;
    /* The table has PARTS entries, then. A length of phi of more than two bytes does not pass. */
    m.nodes = ((size_t)head.at[PHI_BYTES] | (size_t)head.at[PHI_BYTES + 1] << 8) / 2;
    m.phi = (const uint16_t *)rfm_blob_part(&head, PART_PHI, (uint32_t)m.nodes, 1, 2);
    if (m.phi == NULL || !content_right(&m)) return RFM_ECONTENT;
    m.class_names = (const char *)rfm_blob_text(&head, RFM_PART_CLASS_NAMES);
    m.input_names = (const char *)rfm_blob_text(&head, RFM_PART_INPUT_NAMES);
    m.summary = rfm_blob_text(&head, RFM_PART_SUMMARY);
    *model = m;
    return RFM_OK;
}

/* ==== 2. One row ========================================================================================================
 *
 * u, z = P u, then one centre after the other: r d + n (r + c) products, no memory but scratch. What runs often is there for both types,
 * and goes backwards: the index is the count.
 */

static int32_t dot_8(const int8_t *a, const int16_t *u, size_t n) {
    int32_t sum = 0;
    while (n-- > 0) sum += a[n] * u[n];
    return sum;
}

static int32_t dot_16(const int16_t *a, const int16_t *u, size_t n) {
    int32_t sum = 0;
    while (n-- > 0) sum += a[n] * u[n];
    return sum;
}

static uint32_t distance_8(const int8_t *a, const int16_t *z, size_t n) {
    uint32_t sum = 0;
    while (n-- > 0) {
        int32_t diff = a[n] - z[n];
        sum += (uint32_t)(diff * diff);
    }
    return sum;
}

static uint32_t distance_16(const int16_t *a, const int16_t *z, size_t n) {
    uint32_t sum = 0;
    while (n-- > 0) {
        int32_t diff = a[n] - z[n];
        sum += (uint32_t)(diff * diff);
    }
    return sum;
}

/* phi of t by its table. With T = t + 8 = 2^e (1 + f), 3 <= e, the first three bits of f and e are the place, the next 16 are how far it is
 * to the next node. */
static int32_t phi_at(const uint16_t *phi, size_t nodes, uint32_t t) {
    uint32_t i, step, fraction;
    t += 8;
    i = 8 * 28;
#if defined(__ARM_FEATURE_CLZ)
    step = (uint32_t)__builtin_clz(t);
    t <<= step;
    i -= 8 * step;
#else
    for (step = 16; step > 0; step >>= 1)
        if (t >> (32 - step) == 0) t <<= step, i -= 8 * step;
#endif
    i += t >> 28 & 7;
    if (i + 1 >= nodes) return 0;
    fraction = t >> 12 & 0xffff;
    return phi[i] + ((phi[i + 1] - phi[i]) * (int32_t)fraction >> 16);
}

static int32_t clamp(int32_t x, int32_t limit) { return x < -limit ? -limit : x > limit ? limit : x; }

static int32_t scores_portable(const rfm_model_i *m, int16_t *scratch, int32_t *scores) {
    const int8_t *a8 = (const int8_t *)m->p;
    const int16_t *a16 = (const int16_t *)m->p;
    int16_t *z = scratch + m->d;
    size_t i, k;
    int32_t largest = 0;
    int is_8 = m->type == RFM_I8;
    for (i = 0; i < m->r; i++) {
        int32_t sum;
        if (m->metric != RFM_FULL) sum = scratch[i] + m->bias[i];
        else if (is_8) sum = (dot_8(a8, scratch, m->d) + m->bias[i]) >> m->shifts[i], a8 += m->d;
        else sum = (dot_16(a16, scratch, m->d) + m->bias[i]) >> m->shifts[i], a16 += m->d;
        z[i] = (int16_t)clamp(sum, m->limit);
    }
    for (i = 0; i < m->n; i++) {
        uint32_t t;
        int32_t phi;
        if (is_8) t = distance_8((const int8_t *)m->centers + i * m->r, z, m->r);
        else t = distance_16((const int16_t *)m->centers + i * m->r, z, m->r);
        phi = phi_at(m->phi, m->nodes, t);
        if (phi > largest) largest = phi;
        if (phi == 0) continue;
        if (is_8) {
            const int8_t *alpha = (const int8_t *)m->alpha + i * m->c;
            for (k = m->c; k-- > 0;) scores[k] += alpha[k] * phi;
        } else {
            const int16_t *alpha = (const int16_t *)m->alpha + i * m->c;
            for (k = m->c; k-- > 0;) scores[k] += alpha[k] * phi >> 8;
        }
    }
    return largest;
}

int rfm_predict_i(const rfm_model_i *m, const int16_t *x, int32_t *scores, int16_t *scratch, rfm_scores_i loop, rfm_notes_i *notes) {
    uint32_t saturated = 0;
    int32_t largest = -1;
    size_t i;
    if (m == NULL || x == NULL || scores == NULL || scratch == NULL) return RFM_ENULL;
    for (i = 0; i < m->d; i++) {
        const rfm_input_i *in = &m->inputs[i];
        int32_t v = x[i];
        if (v < in->low) v = in->low, saturated++;
        if (v > in->high) v = in->high, saturated++;
        scratch[i] = (int16_t)((uint32_t)(v - in->low) * in->gain >> in->shift);
    }
    for (i = 0; i < m->c; i++) scores[i] = m->offset[i];
    if (loop != NULL) largest = loop(m, scratch, scores);
    if (largest < 0) largest = scores_portable(m, scratch, scores);
    if (notes != NULL) notes->nearest = (uint16_t)largest, notes->saturated = saturated;
    return RFM_OK;
}

size_t rfm_class_i(const rfm_model_i *m, const int32_t *scores) {
    size_t best = 0, i;
    if (m->task != RFM_CLASSIFY) return 0;
    if (m->c == 1) return scores[0] > 0;
    for (i = 1; i < m->c; i++)
        if (scores[i] > scores[best]) best = i;
    return best;
}

#ifndef RFM_NO_TRAIN

/* ==== 3. Rows ============================================================================================================ */

/* ==== 4. Features, rank ================================================================================================= */

/* ==== 5. Centres ========================================================================================================= */

/* ==== 6. Integers ======================================================================================================== */

/* ==== 7. Writing =========================================================================================================
 *
 * The summary is copied as it is: that of a model in float, or of a blob of integers. In double its scales would be of another type than
 * the blob's, and are left out.
 */

#define SUMMARY_FIXED 32 /* bytes before the path; the number of steps is at 20, that of the scales at 24 */
#define SUMMARY_STEP 16

static uint32_t get_u32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Shapes and pointers; then the sections: where they are, how long, and their bytes. */
typedef struct {
    size_t bytes[PARTS], at[PARTS], total;
    const void *from[PARTS];
} blob_plan;

static int plan_part(blob_plan *plan, int part, const void *from, size_t count, size_t each, size_t bytes) {
    uint64_t elements = (uint64_t)count * each;
    if (count > UINT32_MAX || each > UINT32_MAX || elements > UINT32_MAX / bytes) return RFM_EOVERFLOW;
    plan->from[part] = from;
    plan->bytes[part] = from == NULL ? 0 : (size_t)elements * bytes;
    return RFM_OK;
}

static size_t names_bytes(const char *names, size_t count) { return names == NULL ? 0 : (size_t)(rfm_name(names, count) - names); }

static int blob_plan_of(const rfm_model_i *m, blob_plan *plan) {
    int status = RFM_OK, full;
    size_t type;
    if (m == NULL || m->inputs == NULL || m->bias == NULL || m->centers == NULL || m->phi == NULL || m->alpha == NULL || m->offset == NULL ||
        m->units == NULL)
        return RFM_ENULL;
    full = m->metric == RFM_FULL;
    if (full && (m->p == NULL || m->shifts == NULL)) return RFM_ENULL;
    if (m->n == 0 || m->d == 0 || m->c == 0 || m->r == 0 || m->nodes == 0) return RFM_EZERO;
    if (!full && m->r != m->d) return RFM_ESHAPE;
    if ((m->type != RFM_I8 && m->type != RFM_I16) || (!full && m->metric != RFM_DIAGONAL)) return RFM_EVALUE;
    type = (size_t)m->type;
    status |= plan_part(plan, PART_INPUTS, m->inputs, m->d, 1, sizeof(rfm_input_i));
    status |= plan_part(plan, PART_P, full ? m->p : NULL, m->d, m->r, type);
    status |= plan_part(plan, PART_CENTERS, m->centers, m->n, m->r, type);
    status |= plan_part(plan, PART_ALPHA, m->alpha, m->n, m->c, type);
    status |= plan_part(plan, PART_OFFSET, m->offset, m->c, 1, 4);
    status |= plan_part(plan, RFM_PART_CLASS_NAMES, m->class_names, names_bytes(m->class_names, m->c == 1 ? 2 : m->c), 1, 1);
    status |= plan_part(plan, RFM_PART_INPUT_NAMES, m->input_names, names_bytes(m->input_names, m->d), 1, 1);
    status |= plan_part(plan, RFM_PART_SUMMARY, m->summary, SUMMARY_FIXED, 1, 1);
    status |= plan_part(plan, PART_BIAS, m->bias, m->r, 1, 4);
    status |= plan_part(plan, PART_SHIFTS, full ? m->shifts : NULL, m->r, 1, 1);
    status |= plan_part(plan, PART_PHI, m->phi, m->nodes, 1, 2);
    status |= plan_part(plan, PART_UNITS, m->units, m->c, 1, 4);
    if (status == RFM_OK && m->summary != NULL) {
        const unsigned char *s = (const unsigned char *)m->summary;
        uint64_t more = (uint64_t)SUMMARY_STEP * get_u32(s + 20) + (sizeof(rfm_real) == 4 ? (uint64_t)4 * get_u32(s + 24) : 0);
        if (more > UINT32_MAX - SUMMARY_FIXED) status = RFM_EOVERFLOW;
        else plan->bytes[RFM_PART_SUMMARY] += (size_t)more;
    }
    return status == RFM_OK ? rfm_blob_layout(PARTS, plan->bytes, plan->at, &plan->total) : RFM_EOVERFLOW;
}

int rfm_model_size_i(const rfm_model_i *model, size_t *bytes) {
    blob_plan plan;
    int status = bytes == NULL ? RFM_ENULL : blob_plan_of(model, &plan);
    if (status == RFM_OK) *bytes = plan.total;
    return status;
}

int rfm_model_write_i(const rfm_model_i *m, void *blob, size_t size) {
    const uint16_t one = 1;
    unsigned char *b = (unsigned char *)blob, first;
    rfm_blob head;
    blob_plan plan;
    int status = blob == NULL ? RFM_ENULL : blob_plan_of(m, &plan), i;
    if (status != RFM_OK) return status;
    if (m->task < RFM_REGRESS || m->task > RFM_CLASSIFY || m->limit != limit_of(m->r, m->type)) return RFM_EVALUE;
    if (!content_right(m)) return RFM_EVALUE;
    memcpy(&first, &one, 1);
    if (first != 1) return RFM_ETYPE;
    if ((uintptr_t)blob % RFM_ALIGN != 0) return RFM_EALIGN;
    if (size < plan.total) return RFM_EARENA;
    head.n = (uint32_t)m->n, head.d = (uint32_t)m->d, head.c = (uint32_t)m->c, head.r = (uint32_t)m->r;
    head.type = (uint8_t)m->type, head.kernel = RFM_LAPLACE, head.metric = (uint8_t)m->metric, head.task = (uint8_t)m->task;
    head.exponent = 1.0f, head.temperature = 0.0f;
    rfm_blob_begin(b, &head, PARTS, plan.bytes, plan.at, plan.total);
    for (i = 0; i < PARTS; i++)
        if (plan.bytes[i] > 0) memcpy(b + plan.at[i], plan.from[i], plan.bytes[i]);
    if (m->summary != NULL && sizeof(rfm_real) != 4) memset(b + plan.at[RFM_PART_SUMMARY] + 24, 0, 4);
    rfm_blob_end(b);
    return RFM_OK;
}

#endif /* RFM_NO_TRAIN */
