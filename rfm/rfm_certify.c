/* rfm_certify.c - certificates and conformal sets; rfm_certify.h has the contract.
 *
 * Contents:
 *   1. Models of numbers   what rounding can do, the radius of each kernel, the moves of single inputs
 *   2. Models of integers  the same by the table of phi
 *   3. Conformal sets
 */
#include "rfm_certify.h"
#include "rfm_private.h"

#include <string.h>

/* ==== 1. Models of numbers ======================================================================
 *
 * x' in the ball of radius rho around x has distances s'_i between s_i - rho and s_i + rho. So each phi'_i has bounds,
 * and the class k stays if for every other class l
 *
 *   o_k - o_l + sum_i (alpha_ik - alpha_il) phi'_i > 0,  phi'_i the worse of its two bounds.
 *
 * A model of one output has the class of its sign: there the l-th score is 0, and all signs turn for class 0.
 *
 * What is computed, here and at x', differs from that by rounding. With u = REAL_EPS / 2, as first-order bounds that
 * are all taken twice or more, so that higher orders and the rounding of the bounds themselves are in them:
 *
 *   z          blur S,  blur = (d + 4) REAL_EPS, S = the length of |P| |x - shift|: sums of d products. At x' the
 *              length is at most 2 S + 16 rho, which is a condition of the contract
 *   s          grain s,  grain = (r + 8) REAL_EPS: a sum of r squares, its root, times 1 / L. What underflows adds at
 *              most the root of r REAL_LEAST
 *   phi        8 REAL_EPS phi; exponentials below REAL_LEAST may be 0
 *   scores     sums V_kl,  sums = (n + 8) REAL_EPS, V_kl = |o_k| + |o_l| + sum_i (|alpha_ik| + |alpha_il|) phi_i, in
 *              any order of additions. V has a little more, so that products that underflow are in it too
 */

#define REAL_MOST RFM_LIMIT(MAX)
#define PHI_LEAST (2 * REAL_LEAST) /* what counts as 0 may be up to this */
#if RFM_REAL_BYTES == 8
#define LOG_LEAST R(710) /* exp(-this) < REAL_LEAST */
#define LOG_TERMS 17
#else
#define LOG_LEAST R(90)
#define LOG_TERMS 8
#endif

#define RADIUS_LEAST 4096 /* RFM_GAUSSIAN: the radius is at least L / this, or 0 */
#define DIGITS       10   /* its binary digits after the first */

typedef struct {
    const rfm_model *m;
    const rfm_real *z; /* (r) */
    rfm_real *sums;    /* (3 c) by the other class */
    size_t class_at;
    rfm_real inverse;            /* 1 / L */
    rfm_real blur, grain, added; /* see above */
    rfm_real seen;               /* 4 blur S and what underflows: the error of s that does not grow with rho */
} proof;

static rfm_real absolute(rfm_real x) { return x < R(0) ? -x : x; }

/* Of a row of alpha, or the offset: its entry of the class less that of l; *size: the sum of their absolute values. */
static rfm_real lead(const proof *p, const rfm_real *row, size_t l, rfm_real *size) {
    rfm_real of_class = row[0], other = R(0);
    if (p->m->c > 1)
        of_class = row[p->class_at], other = row[l];
    else if (p->class_at == 0)
        of_class = -of_class;
    *size = absolute(of_class) + absolute(other);
    return of_class - other;
}

/* Is l one of the classes to compare with? */
static int is_other(const proof *p, size_t l) { return p->m->c == 1 || l != p->class_at; }

/* V starts so large that its rounding covers n products that underflow. */
#define V_LEAST (4 * REAL_LEAST / REAL_EPS)

/* The offset as lead has it. */
static rfm_real lead_offset(const proof *p, size_t l, rfm_real *size) {
    rfm_real first = R(0);
    *size = R(0);
    if (p->m->offset != NULL) first = lead(p, p->m->offset, l, size);
    *size += V_LEAST;
    return first;
}

/* s of a centre */
static rfm_real distance_to(const proof *p, const rfm_real *center) {
    rfm_real sum = R(0);
    size_t j;
    for (j = 0; j < p->m->r; j++) {
        rfm_real diff = center[j] - p->z[j];
        sum += diff * diff;
    }
    return rfm_sqrt(sum);
}

/* S: the length of |P| |w|, w (d) = x - shift. */
static rfm_real seen_length(const rfm_model *m, const rfm_real *w) {
    rfm_real squares = R(0);
    size_t i, j;
    for (i = 0; i < m->r; i++) {
        rfm_real sum = R(0);
        if (m->metric == RFM_FULL)
            for (j = 0; j < m->d; j++) sum += absolute(m->p[i * m->d + j] * w[j]);
        else
            sum = m->metric == RFM_DIAGONAL ? m->p[i] * w[i] : w[i];
        squares += sum * sum;
    }
    return rfm_sqrt(squares);
}

/* log(1 + q), q >= 0 and finite, rounded down. 1 + q is halved until q < 1; then 2 artanh(t), t = q / (2 + q) <= 1/3,
 * by a series of positive terms: where it ends it is below. */
static rfm_real log_above_one(rfm_real q) {
    rfm_real t, t2, sum = R(0);
    int halved = 0, i;
    for (; q >= R(1); halved++) q = (q - R(1)) / R(2);
    t = q / (R(2) + q), t2 = t * t;
    for (i = LOG_TERMS; i >= 0; i--) sum = sum * t2 + R(1) / R(2 * i + 1);
    sum = R(2) * t * sum + R(halved) * R(0.693147180559945309);
    return sum - 32 * REAL_EPS * sum;
}

/* RFM_LAPLACE: phi' is between phi / y and phi y with y = exp(rho / L). With p and q, the sums of the positive and of
 * the negative terms (alpha_ik - alpha_il) phi_i, and o = o_k - o_l, the class stays where o + p / y - q y > 0. That is
 * y < 1 + h, q h^2 + (2 q - o) h = D, D = o + p - q the lead in the scores; for o = 0 it is rho < L artanh(D / (p +
 * q)). The errors of s that grow with s are factors exp(2 grain s / L) of each term: `grown` is the sum of 4 grain s /
 * L times the term. That and the rounding of sums make q larger and D smaller. Returns h, rounded down; 0: none. */
static rfm_real laplace_rise(const proof *p, rfm_real lead_at, rfm_real o, rfm_real both, rfm_real grown, rfm_real v) {
    rfm_real error = R(8) * p->added + R(2) * grown / v, d = lead_at / v - error, q, b, root, h;
    if (!(d > R(0))) return R(0);
    o /= v;
    q = R(0.5) * (both / v - (lead_at / v - o)) + error;
    b = R(2) * q - o;
    root = rfm_sqrt(b * b + R(4) * q * d);
    h = b > R(0) ? R(2) * d / (b + root) : (root - b) / (R(2) * q);
    return h - 16 * REAL_EPS * h;
}

static rfm_real laplace_radius(const proof *p, const rfm_real *scores) {
    const rfm_model *m = p->m;
    rfm_real *both = p->sums, *grown = both + m->c, *v = grown + m->c, least = REAL_MOST, size, o, h, room;
    size_t i, l;
    for (l = 0; l < m->c; l++) both[l] = grown[l] = v[l] = R(0);
    for (i = 0; i < m->n; i++) {
        rfm_real s = distance_to(p, m->centers + i * m->r) * p->inverse, phi = rfm_exp(-s);
        if (!(phi > PHI_LEAST)) phi = PHI_LEAST, s = R(0.25) / p->grain; /* all of the term is an error */
        for (l = 0; l < m->c; l++) {
            rfm_real a = absolute(lead(p, m->alpha + i * m->c, l, &size)), term = a * phi;
            both[l] += term;
            grown[l] += R(4) * p->grain * s * term + a * PHI_LEAST; /* near 0, phi may count as 0 there */
            v[l] += size * phi;
        }
    }
    for (l = 0; l < m->c; l++) {
        if (!is_other(p, l)) continue;
        o = lead_offset(p, l, &size);
        h = laplace_rise(p, lead(p, scores, l, &room), o, both[l], grown[l], v[l] + size);
        if (!(h > R(0))) return R(0);
        if (h < least) least = h;
    }
    if (!(least < REAL_MOST)) return R(0);
    return (log_above_one(least) - 32 * REAL_EPS) / p->inverse - p->seen;
}

/* RFM_GAUSSIAN: does the class stay within rho? */
static int gaussian_holds(const proof *p, rfm_real rho) {
    const rfm_model *m = p->m;
    rfm_real *low = p->sums, *v = low + m->c, reach = rho + R(16) * p->blur * rho + p->seen, size;
    size_t i, l;
    for (l = 0; l < m->c; l++) low[l] = lead_offset(p, l, &v[l]);
    for (i = 0; i < m->n; i++) {
        rfm_real s = distance_to(p, m->centers + i * m->r), least, most;
        rfm_real low_s = (s - R(4) * p->grain * s - reach) * p->inverse;
        rfm_real high_s = (s + reach) * (R(1) + R(4) * p->grain) * p->inverse;
        if (!(low_s > R(0))) low_s = R(0);
        most = rfm_exp(R(-0.5) * low_s * low_s), least = rfm_exp(R(-0.5) * high_s * high_s);
        most += 16 * REAL_EPS * most + PHI_LEAST;
        least = least > PHI_LEAST ? least - 16 * REAL_EPS * least : R(0);
        for (l = 0; l < m->c; l++) {
            rfm_real difference = lead(p, m->alpha + i * m->c, l, &size);
            low[l] += difference * (difference > R(0) ? least : most);
            v[l] += size * most;
        }
    }
    for (l = 0; l < m->c; l++)
        if (is_other(p, l) && !(low[l] > R(4) * p->added * v[l])) return 0;
    return 1;
}

/* The largest radius of DIGITS binary digits that holds, by bisection: first its power of two, then its digits. */
static rfm_real gaussian_radius(const proof *p) {
    static const uint16_t factors[] = {256, 16, 4, 2}; /* 2^8 2^4 2^2 2^1 */
    rfm_real rho = p->m->bandwidth / R(RADIUS_LEAST), part;
    size_t i;
    if (!gaussian_holds(p, rho)) return R(0);
    for (i = 0; i < sizeof factors / sizeof *factors; i++)
        if (gaussian_holds(p, rho * R(factors[i]))) rho *= R(factors[i]);
    for (part = rho / R(2), i = 0; i < DIGITS; i++, part /= R(2))
        if (gaussian_holds(p, rho + part)) rho += part;
    return rho;
}

/* radius / sqrt(M_jj), rounded down. In units of the column's largest entry nothing overflows. */
static rfm_real single_move(const rfm_model *m, rfm_real radius, size_t j) {
    rfm_real most = R(1), squares = R(1), move;
    size_t i;
    if (m->metric == RFM_DIAGONAL) most = absolute(m->p[j]);
    if (m->metric == RFM_FULL) {
        for (most = R(0), i = 0; i < m->r; i++) most = max_real(most, absolute(m->p[i * m->d + j]));
        for (squares = R(0), i = 0; most > R(0) && i < m->r; i++) {
            rfm_real part = m->p[i * m->d + j] / most;
            squares += part * part;
        }
    }
    if (!(most > R(0))) return REAL_MOST;
    move = radius / rfm_sqrt(squares);
    move -= R(m->r + 8) * REAL_EPS * move;
    /* Is move / most beyond the largest number? */
    return most < R(1) && move >= REAL_MOST * most ? REAL_MOST : move / most;
}

int rfm_certify(const rfm_model *m, const rfm_real *x, rfm_real *scores, rfm_real *scratch, size_t *class_at,
                rfm_real *radius, rfm_real *moves) {
    proof p;
    rfm_real found = R(0);
    size_t j;
    int status;
    if (m == NULL || class_at == NULL || radius == NULL) return RFM_ENULL;
    if (m->task != RFM_CLASSIFY || (m->kernel != RFM_LAPLACE && m->kernel != RFM_GAUSSIAN)) return RFM_EVALUE;
    if (on_sphere(m)) return RFM_EVALUE;
    status = rfm_predict_one(m, x, scores, scratch, NULL, NULL);
    if (status != RFM_OK) return status;
    p.m = m, p.z = scratch + m->d, p.sums = scratch + m->d + m->r;
    p.class_at = rfm_class(m, scores, NULL);
    p.inverse = R(1) / m->bandwidth;
    p.blur = R(m->d + 4) * REAL_EPS, p.grain = R(m->r + 8) * REAL_EPS, p.added = R(m->n + 8) * REAL_EPS;
    p.seen = R(4) * p.blur * seen_length(m, scratch) + R(8) * rfm_sqrt(R(m->r) * REAL_LEAST);
    /* Otherwise rounding is no small thing, and the bounds above are none. */
    if (p.blur < R(0.01) && p.grain * LOG_LEAST < R(0.1))
        found = m->kernel == RFM_LAPLACE ? laplace_radius(&p, scores) : gaussian_radius(&p);
    found -= (R(16) * p.blur + p.grain + 8 * REAL_EPS) * found;
    if (!(found > REAL_LEAST) || !rfm_finite(1, &found)) found = R(0);
    *class_at = p.class_at;
    *radius = found;
    for (j = 0; moves != NULL && j < m->d; j++) moves[j] = single_move(m, found, j);
    return RFM_OK;
}

/* ==== 2. Models of integers =====================================================================
 *
 * The same in integers. |z' - z| <= rho gives t' = |center - z'|^2 between (sqrt(t) - rho)^2, 0 where rho >= sqrt(t),
 * and (sqrt(t) + rho)^2; phi falls with t, so its values there are its bounds. A score's term is alpha phi, RFM_I16:
 * floor(alpha phi / 256). For any a, b: floor(a) - floor(b) >= floor(a - b), so the difference of two terms is at least
 * floor((alpha_k - alpha_l) phi / 256), which grows or falls with phi. Products fit: |alpha_k - alpha_l| < 2^16, phi <
 * 2^15. Sums over centres are in 64 bits.
 */

#define RHO_BITS 15 /* of rho, the binary places `fraction` among them: up to 2 limit + 1 */

typedef struct {
    const rfm_model_i *m;
    const int16_t *z; /* (r) */
    int64_t *sums;    /* (c) */
    size_t class_at;
    uint32_t fraction; /* rho is in units of 2^-fraction, so that small limits have fine radii */
} proof_i;

static uint32_t distance_i(const proof_i *p, size_t i) {
    uint32_t sum = 0;
    size_t j;
    for (j = 0; j < p->m->r; j++) {
        int32_t diff = number(p->m->type, p->m->centers, i * p->m->r + j) - p->z[j];
        sum += (uint32_t)(diff * diff);
    }
    return sum;
}

/* The least that class_at leads by over l within the bounds of phi; a model of one output: the least of +-score. */
static int32_t least_lead(const proof_i *p, size_t i, size_t l, int32_t phi_low, int32_t phi_high) {
    const rfm_model_i *m = p->m;
    int shift = m->type == RFM_I16 ? 8 : 0;
    int32_t alpha = number(m->type, m->alpha, i * m->c + l), lead_at;
    if (m->c == 1 && p->class_at == 0) return -(alpha * (alpha > 0 ? phi_high : phi_low) >> shift);
    lead_at = m->c == 1 ? alpha : number(m->type, m->alpha, i * m->c + p->class_at) - alpha;
    return lead_at * (lead_at > 0 ? phi_low : phi_high) >> shift;
}

/* Does the class stay within rho? Of equal scores the first class wins; a score of 0 is class 0. */
static int holds_i(const proof_i *p, uint32_t rho) {
    const rfm_model_i *m = p->m;
    uint32_t low, high;
    size_t i, l;
    for (l = 0; l < m->c; l++) {
        p->sums[l] = m->offset[l];
        if (m->c > 1) p->sums[l] = (int64_t)m->offset[p->class_at] - m->offset[l];
        if (m->c == 1 && p->class_at == 0) p->sums[l] = -p->sums[l];
    }
    for (i = 0; i < m->n; i++) {
        int32_t phi_low, phi_high;
        t_bounds(distance_i(p, i), rho, p->fraction, &low, &high);
        phi_low = phi_at(m, high), phi_high = phi_at(m, low);
        for (l = 0; l < m->c; l++) p->sums[l] += least_lead(p, i, l, phi_low, phi_high);
    }
    for (l = 0; l < m->c; l++) {
        int needed = m->c == 1 ? (int)p->class_at : l < p->class_at;
        if ((m->c == 1 || l != p->class_at) && p->sums[l] < needed) return 0;
    }
    return 1;
}

static int32_t z_of(const rfm_model_i *m, size_t i, int32_t sum) {
    if (m->metric == RFM_FULL) sum >>= m->shifts[i];
    return sum > m->limit ? m->limit : sum < -m->limit ? -m->limit : sum;
}

/* u of an input, as rfm_predict_i has it. */
static int32_t u_of(const rfm_input_i *in, int32_t x) {
    if (x < in->low) x = in->low;
    if (x > in->high) x = in->high;
    return (int32_t)((uint32_t)(x - in->low) * in->gain >> in->shift);
}

/* Is |z' - z|^2 <= square after x_j has moved to `x`? room: bias + P u (r), u and z are those before. */
static int move_within(const rfm_model_i *m, const int16_t *u, const int64_t *room, size_t j, int32_t x,
                       uint32_t square) {
    const int16_t *z = u + m->d;
    int32_t more = u_of(&m->inputs[j], x) - u[j];
    uint32_t sum = 0;
    size_t first = m->metric == RFM_FULL ? 0 : j, end = m->metric == RFM_FULL ? m->r : j + 1, i;
    for (i = first; i < end; i++) {
        int32_t weight = m->metric == RFM_FULL ? number(m->type, m->p, i * m->d + j) : 1;
        int32_t diff = z_of(m, i, (int32_t)room[i] + weight * more) - z[i];
        sum += (uint32_t)(diff * diff);
    }
    return sum <= square;
}

/* The largest move of x_j, up and down, within the radius. Each z_p goes one way as x_j goes one way, so what holds at
 * an end holds on the way there. */
static uint16_t single_count(const rfm_model_i *m, const int16_t *u, const int64_t *room, size_t j, int32_t x,
                             uint32_t square) {
    int32_t count = 0, bit;
    for (bit = 0x8000; bit != 0; bit >>= 1) {
        int32_t next = count + bit;
        if (move_within(m, u, room, j, x + next, square) && move_within(m, u, room, j, x - next, square)) count = next;
    }
    return (uint16_t)count;
}

int rfm_certify_i(const rfm_model_i *m, const int16_t *x, int32_t *scores, int16_t *scratch, int64_t *room,
                  size_t *class_at, uint32_t *square, uint16_t *counts) {
    proof_i p;
    uint32_t rho = 0, bit;
    size_t i, j;
    int status;
    if (m == NULL || room == NULL || class_at == NULL || square == NULL) return RFM_ENULL;
    if (m->task != RFM_CLASSIFY) return RFM_EVALUE;
#ifdef RFM_SMALL_L1
    if (m->absolute) return RFM_EVALUE;
#endif
    for (i = 1; i < m->nodes; i++)
        if (m->phi[i] > m->phi[i - 1]) return RFM_EVALUE;
    status = rfm_predict_i(m, x, scores, scratch, NULL, NULL);
    if (status != RFM_OK) return status;
    p.m = m, p.z = scratch + m->d, p.sums = room, p.class_at = rfm_class_i(m, scores);
    for (p.fraction = 0; (uint32_t)m->limit + 1 < 1u << (RHO_BITS - 1 - p.fraction);) p.fraction++;
    for (bit = 1u << (RHO_BITS - 1); bit != 0; bit >>= 1)
        if (holds_i(&p, rho + bit)) rho += bit;
    *class_at = p.class_at;
    *square = rho * rho >> 2 * p.fraction;
    if (counts == NULL) return RFM_OK;
    for (i = 0; i < m->r; i++) {
        int32_t sum = m->bias[i];
        if (m->metric == RFM_FULL)
            for (j = 0; j < m->d; j++) sum += number(m->type, m->p, i * m->d + j) * scratch[j];
        else
            sum += scratch[i];
        room[i] = sum;
    }
    for (j = 0; j < m->d; j++) counts[j] = single_count(m, scratch, room, j, x[j], *square);
    return RFM_OK;
}

/* ==== 3. Conformal sets ====================================================================== */

static rfm_real largest_score(size_t c, const rfm_real *scores) {
    rfm_real most = c == 1 ? absolute(scores[0]) : scores[0];
    size_t i;
    for (i = 1; i < c; i++) most = max_real(most, scores[i]);
    return most;
}

/* How much class k is behind the largest score, at most REAL_MOST. */
static rfm_real behind(size_t c, const rfm_real *scores, rfm_real most, size_t k) {
    rfm_real own = c > 1 ? scores[k] : k == 1 ? scores[0] : -scores[0], rest = most - own;
    return rest < REAL_MOST ? rest : REAL_MOST;
}

/* Sorts upwards: a heap whose largest element goes to the end, again and again. */
static void sort(size_t n, rfm_real *a) {
    size_t first = n >> 1, i, next;
    while (n > 1) {
        rfm_real value;
        if (first > 0)
            value = a[--first];
        else
            value = a[--n], a[n] = a[0];
        for (i = first; (next = 2 * i + 1) < n; i = next) {
            if (next + 1 < n && a[next + 1] > a[next]) next++;
            if (!(a[next] > value)) break;
            a[i] = a[next];
        }
        a[i] = value;
    }
}

int rfm_conformal_threshold(size_t n, size_t c, const rfm_real *scores, const uint32_t *classes, rfm_real coverage,
                            rfm_real *scratch, rfm_real *threshold) {
    size_t i, least = 1, most = n + 1;
    if (scores == NULL || classes == NULL || scratch == NULL || threshold == NULL) return RFM_ENULL;
    if (n == 0 || c == 0) return RFM_EZERO;
    if (!rfm_finite(1, &coverage) || !(coverage > R(0) && coverage <= R(1))) return RFM_EVALUE;
    for (i = 0; i < n; i++)
        if (classes[i] >= (c == 1 ? 2 : c)) return RFM_EVALUE;
    for (i = 0; i < n; i++)
        if (!rfm_finite(c, scores + i * c)) return RFM_EFINITE;
    for (i = 0; i < n; i++, scores += c) scratch[i] = behind(c, scores, largest_score(c, scores), classes[i]);
    sort(n, scratch);
    /* The least m with m / (n + 1) >= coverage: compared as it was rounded, 9 of 10 is 0.9. */
    while (least < most) {
        size_t m = least + (most - least) / 2;
        if (R(m) / R(n + 1) >= coverage)
            most = m;
        else
            least = m + 1;
    }
    *threshold = least > n ? REAL_MOST : scratch[least - 1];
    return RFM_OK;
}

int rfm_conformal_set(size_t c, const rfm_real *scores, rfm_real threshold, unsigned char *member, size_t *count) {
    size_t classes = c == 1 ? 2 : c, k;
    rfm_real most;
    if (scores == NULL || member == NULL || count == NULL) return RFM_ENULL;
    if (c == 0) return RFM_EZERO;
    if (!rfm_finite(c, scores) || !rfm_finite(1, &threshold)) return RFM_EFINITE;
    if (threshold < R(0)) return RFM_EVALUE;
    *count = 0, most = largest_score(c, scores);
    for (k = 0; k < classes; k++) {
        member[k] = behind(c, scores, most, k) <= threshold;
        *count += member[k];
    }
    return RFM_OK;
}
