/* Every port that runs here, entry by entry, against plain loops in double; the contract is port/README.md. A case that
 * does not fit in the pool is left out. */
#include "test.h"

#include "rfm_port.h"

void setUp(void) { test_reset(); }
void tearDown(void) {}

#if RFM_REAL_BYTES == 4
#define SQRT(x) sqrtf(x)
#define TINY    FLT_MIN
#define HUGEST  FLT_MAX
#else
#define SQRT(x) sqrt(x)
#define TINY    DBL_MIN
#define HUGEST  DBL_MAX
#endif
#define INF ((rfm_real)HUGE_VAL)

/* How many numbers a sweep takes. */
#if TEST_RAM < 65536
#define SWEEP 300ul
#elif TEST_RAM < (16ul << 20) || defined(TEST_QUICK)
#define SWEEP 20000ul
#else
#define SWEEP 2000000ul
#endif

static int same(rfm_real a, rfm_real b) { return memcmp(&a, &b, sizeof a) == 0; }
static rfm_real not_a_number(void) {
    rfm_real x;

    memset(&x, 0xFF, sizeof x);
    return x;
}

static void fill(rfm_mat a, uint32_t stream) {
    size_t i, j;

    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++) a.at[i * a.stride + j] = (rfm_real)test_number(stream, i, j);
}

/* ---- the tables ----------------------------------------------------------------------------- */

static void test_find(void) {
    const rfm_port *port, *best = NULL;
    const char *name;
    size_t i;

    TEST_ASSERT_NULL(rfm_port_find(NULL));
    TEST_ASSERT_NULL(rfm_port_find(""));
    TEST_ASSERT_NULL(rfm_port_find("scala"));
    TEST_ASSERT_NULL(rfm_port_find("scalar "));
    TEST_ASSERT_NULL(rfm_port_find("Scalar"));
    TEST_ASSERT_TRUE(rfm_port_find("scalar") == &rfm_port_scalar);
    TEST_ASSERT_EQUAL_STRING("scalar", rfm_port_name(0));
    for (i = 0; (name = rfm_port_name(i)) != NULL; i++) {
        port = rfm_port_find(name);
        if (port == NULL) continue;
        TEST_ASSERT_EQUAL_STRING(name, port->name);
        best = port;
    }
    TEST_ASSERT_NULL(rfm_port_name(i + 1));
    TEST_ASSERT_NULL(rfm_port_name((size_t)-1));
    TEST_ASSERT_TRUE(rfm_port_auto() == best);
    TEST_ASSERT_TRUE(rfm_port_find("auto") == best);
    if (sizeof(rfm_real) == 8) TEST_ASSERT_NULL(rfm_port_name(1));
}

static void test_tables(void) {
    const rfm_port *port;
    size_t i;

    for (i = 0; (port = test_port(i)) != NULL; i++) {
        test_note(port->name, 0, 0, 0);
        CHECK(port->mr > 0 && port->nr > 0 && port->mc > 0 && port->kc > 0 && port->nc > 0);
        CHECK(port->mc % port->mr == 0 && port->nc % port->nr == 0);
        CHECK(port->gemm != NULL);
    }
}

/* ---- gemm ----------------------------------------------------------------------------------- */

/* How A lies in memory. */
enum { PACKED, ROWS, COLUMNS, FORMS };

/* A (mr, k) in a block of its own; what is between its elements is NaN. */
static rfm_real *make_a(const rfm_port *port, size_t k, int form, size_t *rs, size_t *cs) {
    rfm_real *a;
    size_t i, p, count = 0;

    *rs = form == ROWS ? k + 3 : 1;
    *cs = form == ROWS ? 1 : form == COLUMNS ? port->mr + 3 : port->mr;
    if (k > 0) count = (port->mr - 1) * *rs + (k - 1) * *cs + 1;
    a = test_take(count * sizeof *a);
    if (a == NULL) return NULL;
    for (i = 0; i < port->mr; i++)
        for (p = 0; p < k; p++) a[i * *rs + p * *cs] = (rfm_real)test_number(1, i, p);
    return a;
}

/* The start values of C: what add reads, or NaN. */
static void make_c(rfm_mat c, int add) {
    size_t i, j;

    for (i = 0; i < c.rows; i++)
        for (j = 0; j < c.cols; j++) c.at[i * c.stride + j] = add ? (rfm_real)test_number(3, i, j) : not_a_number();
}

static void check_gemm(const rfm_port *port, size_t k, int form, int add, rfm_real alpha) {
    const size_t mark = test_mark();
    rfm_mat b, c, first;
    size_t rs, cs, i, j, p;
    rfm_real *a = make_a(port, k, form, &rs, &cs), *packed = make_a(port, k, PACKED, &i, &j);

    b = test_mat(k + 1, port->nr, 0, 0); /* the row too many stays NaN */
    c = test_mat(port->mr, port->nr, 5, 1);
    first = test_mat(port->mr, port->nr, 0, 0);
    if (a == NULL || packed == NULL || b.at == NULL || c.at == NULL || first.at == NULL) {
        test_rewind(mark);
        return;
    }
    b.rows = k;
    fill(b, 2);
    make_c(first, add);
    make_c(c, add);
    port->gemm(k, alpha, packed, 1, port->mr, b.at, first.at, port->nr, add);
    port->gemm(k, alpha, a, rs, cs, b.at, c.at, c.stride, add);
    test_check_padding(c);
    for (i = 0; i < port->mr; i++)
        for (j = 0; j < port->nr; j++) {
            const rfm_real value = c.at[i * c.stride + j];
            double sum = 0, size = 0, start = add ? test_number(3, i, j) : 0;

            for (p = 0; p < k; p++) {
                const double term = test_number(1, i, p) * test_number(2, p, j);
                sum += term;
                size += fabs(term);
            }
            size = fabs((double)alpha) * size + fabs(start);
            CHECK_BELOW(fabs((double)value - ((double)alpha * sum + start)), (double)(k + 2) * TEST_EPS * size);
            CHECK(same(value, first.at[i * port->nr + j])); /* the same bits however A lies */
        }
    test_rewind(mark);
}

static void test_gemm(void) {
    static const size_t ks[] = {0, 1, 2, 3, 4, 5, 7, 8, 64, 257};
    const rfm_port *port;
    size_t i, k;
    int form, add;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (k = 0; k < TEST_LENGTH(ks); k++)
            for (form = 0; form < FORMS; form++)
                for (add = 0; add < 2; add++) {
                    test_note(port->name, ks[k], (size_t)form, (size_t)add);
                    check_gemm(port, ks[k], form, add, (rfm_real)1);
                    check_gemm(port, ks[k], form, add, (rfm_real)-0.375);
                }
}

/* A NaN in row 1 of A and an infinity in column 2 of B: they reach their row and column, and nothing else. */
static void test_gemm_nan(void) {
    const rfm_port *port;
    rfm_mat b, c;
    rfm_real *a;
    size_t index, rs, cs, i, j;

    for (index = 0; (port = test_port(index)) != NULL; index++) {
        test_reset();
        test_note(port->name, 0, 0, 0);
        a = make_a(port, 5, PACKED, &rs, &cs);
        b = test_mat(5, port->nr, 0, 0);
        c = test_mat(port->mr, port->nr, 0, 0);
        if (a == NULL || b.at == NULL || c.at == NULL) continue;
        fill(b, 2);
        a[3 * cs + 1] = not_a_number();
        b.at[4 * port->nr + 2] = INF;
        port->gemm(5, (rfm_real)1, a, rs, cs, b.at, c.at, port->nr, 0);
        for (i = 0; i < port->mr; i++)
            for (j = 0; j < port->nr; j++) {
                const rfm_real value = c.at[i * port->nr + j];

                if (i == 1)
                    CHECK(value != value);
                else if (j == 2)
                    CHECK(value == INF || value == -INF);
                else
                    CHECK(value - value == (rfm_real)0);
            }
    }
}

/* ---- l1 ------------------------------------------------------------------------------------- */

/* The contract's own bits: one rounded difference, its sign cleared, summed over p in order, and then added to C. */
static void check_l1(const rfm_port *port, size_t k, int form, int add) {
    const size_t mark = test_mark();
    rfm_mat b, c;
    size_t rs, cs, i, j, p;
    rfm_real *a = make_a(port, k, form, &rs, &cs);

    b = test_mat(k + 1, port->nr, 0, 0); /* the row too many stays NaN */
    c = test_mat(port->mr, port->nr, 5, 1);
    if (a == NULL || b.at == NULL || c.at == NULL) {
        test_rewind(mark);
        return;
    }
    b.rows = k;
    fill(b, 2);
    for (p = 0; p < k; p += 3) b.at[p * port->nr + 1] = a[p * cs]; /* equal numbers are 0 apart */
    make_c(c, add);
    port->l1(k, a, rs, cs, b.at, c.at, c.stride, add);
    test_check_padding(c);
    for (i = 0; i < port->mr; i++)
        for (j = 0; j < port->nr; j++) {
            rfm_real sum = 0, start = add ? (rfm_real)test_number(3, i, j) : 0;

            for (p = 0; p < k; p++) {
                const rfm_real way = a[i * rs + p * cs] - b.at[p * port->nr + j];
                sum += way < 0 ? -way : way;
            }
            CHECK(c.at[i * c.stride + j] == start + sum);
        }
    test_rewind(mark);
}

static void test_l1(void) {
    static const size_t ks[] = {0, 1, 2, 3, 4, 5, 7, 8, 64, 257};
    const rfm_port *port;
    size_t i, k;
    int form, add;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (k = 0; port->l1 != NULL && k < TEST_LENGTH(ks); k++)
            for (form = 0; form < FORMS; form++)
                for (add = 0; add < 2; add++) {
                    test_note(port->name, ks[k], (size_t)form, (size_t)add);
                    check_l1(port, ks[k], form, add);
                }
}

/* ---- signs ---------------------------------------------------------------------------------- */

/* h as the contract adds it up, in order: the same bits. Every third number is equal, for sign(0). */
static void check_signs(const rfm_port *port, size_t n, size_t r, size_t c) {
    const size_t mark = test_mark();
    rfm_mat z = test_mat(n + 1, r, 0, 0), x = test_mat(1, r, 0, 1), w = test_mat(n + 1, c, 0, 2),
            h = test_mat(c, r, 3, 1);
    size_t i, k, q;

    if (z.at == NULL || x.at == NULL || w.at == NULL || h.at == NULL) {
        test_rewind(mark);
        return;
    }
    fill(x, 4);
    for (i = 0; i < n; i++) {
        for (q = 0; q < r; q++) z.at[i * r + q] = (i + q) % 3 == 0 ? x.at[q] : (rfm_real)test_number(5, i, q);
        for (k = 0; k < c; k++) w.at[i * c + k] = (rfm_real)test_number(6, i, k);
    }
    make_c(h, 1);
    port->signs(n, r, c, z.at, x.at, w.at, h.at, h.stride);
    test_check_padding(h);
    for (k = 0; k < c; k++)
        for (q = 0; q < r; q++) {
            rfm_real sum = (rfm_real)test_number(3, k, q);

            for (i = 0; i < n; i++) {
                if (z.at[i * r + q] > x.at[q]) sum += w.at[i * c + k];
                if (z.at[i * r + q] < x.at[q]) sum -= w.at[i * c + k];
            }
            CHECK(h.at[k * h.stride + q] == sum);
        }
    test_rewind(mark);
}

static void test_signs(void) {
    static const size_t ns[] = {0, 1, 5, 32}, rs[] = {1, 3, 8, 15, 16, 17, 33, 64};
    const rfm_port *port;
    size_t i, n, r, c;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (n = 0; port->signs != NULL && n < TEST_LENGTH(ns); n++)
            for (r = 0; r < TEST_LENGTH(rs); r++)
                for (c = 1; c <= 8; c++) {
                    test_note(port->name, ns[n], rs[r], c);
                    check_signs(port, ns[n], rs[r], c);
                }
}

/* ---- pack ----------------------------------------------------------------------------------- */

static void check_pack(const rfm_port *port, size_t width, size_t k, int turn) {
    const size_t mark = test_mark();
    /* Memory's rows lie along the panel, or across it. */
    rfm_mat a = turn ? test_mat(width, k, 3, 1) : test_mat(k, width, 3, 1), to = test_mat(k, width, 0, 0);
    size_t i, p;

    if (a.at == NULL || to.at == NULL) {
        test_rewind(mark);
        return;
    }
    fill(a, 13);
    port->pack(width, k, a.at, turn ? a.stride : 1, turn ? 1 : a.stride, to.at);
    test_check_padding(a);
    test_check_padding(to);
    for (i = 0; i < width; i++)
        for (p = 0; p < k; p++)
            CHECK(same((rfm_real)test_number(13, turn ? i : p, turn ? p : i), to.at[p * width + i]));
    test_rewind(mark);
}

static void test_pack(void) {
    const rfm_port *port;
    size_t i, k;
    int turn;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (k = 1; k <= 37 && port->pack != NULL; k++)
            for (turn = 0; turn < 2; turn++) {
                test_note(port->name, k, (size_t)turn, 0);
                check_pack(port, port->mr, k, turn);
                check_pack(port, port->nr, k, turn);
            }
}

/* ---- trsm ----------------------------------------------------------------------------------- */

/* Right if what was computed solves a system near the given one: the residual of each equation is rounding. */
static void check_trsm(const rfm_port *port, size_t k) {
    const size_t mark = test_mark(), mr = port->mr, nr = port->nr;
    rfm_mat a = test_mat(k + mr, mr, 0, 0), b = test_mat(k + mr, nr, 0, 0);
    rfm_real *again = test_take((k + mr) * nr * sizeof *again);
    size_t i, j, p;

    if (a.at == NULL || b.at == NULL || again == NULL) {
        test_rewind(mark);
        return;
    }
    fill(a, 4); /* column p of A and L is row p here */
    for (p = 0; p < mr; p++)
        for (i = 0; i <= p; i++)
            a.at[(k + p) * mr + i] = i < p ? not_a_number() : (rfm_real)(0.75 + 0.25 * test_number(5, i, p));
    fill(b, 6);
    memcpy(again, b.at, (k + mr) * nr * sizeof *again);
    port->trsm(k, a.at, b.at);
    test_check_padding(a);
    test_check_padding(b);
    for (p = 0; p < k; p++)
        for (j = 0; j < nr; j++) CHECK(same(again[p * nr + j], b.at[p * nr + j]));
    for (i = 0; i < mr; i++)
        for (j = 0; j < nr; j++) {
            double left = (double)b.at[(k + i) * nr + j] / (double)a.at[(k + i) * mr + i], size;
            const double right = test_number(6, k + i, j);

            size = fabs(left) + fabs(right);
            for (p = 0; p < k + i; p++) {
                const double term = (double)a.at[p * mr + i] * (double)b.at[p * nr + j];
                left += term;
                size += fabs(term);
            }
            CHECK_BELOW(fabs(left - right), (double)(k + i + 2) * TEST_EPS * size);
        }
    port->trsm(k, a.at, again);
    CHECK(memcmp(again, b.at, (k + mr) * nr * sizeof *again) == 0);
    test_rewind(mark);
}

static void test_trsm(void) {
    static const size_t ks[] = {0, 1, 2, 3, 4, 5, 7, 24, 65};
    const rfm_port *port;
    size_t i, k;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (k = 0; k < TEST_LENGTH(ks) && port->trsm != NULL; k++) {
            test_note(port->name, ks[k], 0, 0);
            check_trsm(port, ks[k]);
        }
}

/* ---- rows4 ---------------------------------------------------------------------------------- */

static void check_rows4(const rfm_port *port, size_t n, size_t skew) {
    const size_t mark = test_mark();
    /* One column at least, for the sake of the view; it stays NaN if n = 0. */
    const size_t cols = n > 0 ? n : 1;
    rfm_mat a = test_mat(4, cols, 3, skew), x = test_mat(1, cols, 0, skew + 1), y = test_mat(1, cols, 0, skew + 2);
    rfm_real coef[4], dots[4], again[4], *other = test_take(cols * sizeof *other);
    size_t r, j;

    if (a.at == NULL || x.at == NULL || y.at == NULL || other == NULL) {
        test_rewind(mark);
        return;
    }
    if (n > 0) {
        fill(a, 7);
        fill(x, 8);
        fill(y, 9);
    }
    memcpy(other, y.at, n * sizeof *other);
    for (r = 0; r < 4; r++) {
        coef[r] = (rfm_real)test_number(10, r, 0);
        again[r] = dots[r] = (rfm_real)test_number(10, r, 1);
    }
    port->rows4(n, a.at, a.stride, coef, x.at, y.at, dots);
    test_check_padding(a);
    test_check_padding(x);
    test_check_padding(y);
    for (j = 0; j < n; j++) {
        double value = test_number(9, 0, j), size = fabs(value);

        for (r = 0; r < 4; r++) {
            const double term = (double)coef[r] * test_number(7, r, j);
            value += term;
            size += fabs(term);
        }
        CHECK_BELOW(fabs((double)y.at[j] - value), 5 * TEST_EPS * size);
    }
    for (r = 0; r < 4; r++) {
        double value = test_number(10, r, 1), size = fabs(value);

        for (j = 0; j < n; j++) {
            const double term = test_number(7, r, j) * test_number(8, 0, j);
            value += term;
            size += fabs(term);
        }
        CHECK_BELOW(fabs((double)dots[r] - value), (double)(n + 1) * TEST_EPS * size);
    }
    port->rows4(n, a.at, a.stride, coef, x.at, other, again);
    CHECK(n == 0 || memcmp(other, y.at, n * sizeof *other) == 0);
    CHECK(memcmp(again, dots, sizeof dots) == 0);
    test_rewind(mark);
}

static void test_rows4(void) {
    const rfm_port *port;
    size_t i, n;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (n = 0; n <= 70 && port->rows4 != NULL; n++) {
            test_note(port->name, n, 0, 0);
            check_rows4(port, n, n % 4);
        }
}

/* ---- finite --------------------------------------------------------------------------------- */

static void test_finite(void) {
    static const rfm_real good[] = {0, -0.0f, 1, -1, HUGEST, -HUGEST, TINY, -TINY, TINY / 4, -TINY / 8};
    const rfm_port *port;
    size_t index, n, at, i;
    int kind;

    for (index = 0; (port = test_port(index)) != NULL; index++)
        for (n = 0; n <= 40 && port->finite != NULL; n++) {
            const size_t mark = test_mark();
            rfm_mat x = test_mat(1, n + 1, 0, n % 3); /* the last stays NaN, as what is before the first */

            test_note(port->name, n, 0, 0);
            CHECK(x.at != NULL);
            for (i = 0; i < n; i++) x.at[i] = good[i % TEST_LENGTH(good)];
            CHECK_INT(1, port->finite(n, x.at));
            for (at = 0; at < n; at++)
                for (kind = 0; kind < 3; kind++) {
                    const rfm_real keep = x.at[at];

                    x.at[at] = kind == 0 ? not_a_number() : kind == 1 ? INF : -INF;
                    CHECK_INT(0, port->finite(n, x.at));
                    x.at[at] = keep;
                }
            test_rewind(mark);
        }
}

/* ---- exp: numbers of every size ------------------------------------------------------------- */

#if RFM_REAL_BYTES == 4
/* Number i of SWEEP, by its bits: evenly over all that have this sign. */
static rfm_real sweep(unsigned long i, int negative) {
    const uint32_t step = 0x7f800000u / (uint32_t)SWEEP | 1u;
    const uint32_t bits = ((uint32_t)i * step) % 0x7f800000u | (negative ? 0x80000000u : 0u);
    rfm_real x;

    memcpy(&x, &bits, sizeof x);
    return x;
}
#endif

/* Errors are counted in ulp of the true result: the distance of floats there. */
#define EXP_ULP  1.0 /* of the portable one, the C library's */
#define PORT_ULP 0.9 /* of the others, port/exp.h */

#if RFM_REAL_BYTES == 4
/* ARMv7's NEON takes subnormal numbers for zero. */
static int flushes(const rfm_port *port) {
#if defined(__arm__)
    return strcmp(port->name, "neon") == 0;
#else
    (void)port;
    return 0;
#endif
}

static double ulp_of(double value) {
    int e;

    (void)frexp(value, &e);
    return ldexp(1.0, (e < FLT_MIN_EXP ? FLT_MIN_EXP : e) - FLT_MANT_DIG);
}

static void check_exp(const rfm_port *port, float x, float y) {
    const double value = exp((double)x);

    if (value > (double)FLT_MAX * (1 + (double)FLT_EPSILON / 4))
        CHECK(y == INF);
    else if (value < (double)FLT_MIN && flushes(port))
        CHECK(y == 0.0f || y == FLT_MIN);
    else
        CHECK_BELOW(fabs((double)y - value), (port->exp == rfm_port_scalar.exp ? EXP_ULP : PORT_ULP) * ulp_of(value));
}

/* Every port against the true value; so they agree within 2 ulp. */
static void test_exp_sweep(void) {
    const uint32_t low = 0x32000000u,
                   high = 0x42d40000u; /* 2^-27 and 106: between them the result is neither 0, 1, inf */
    const uint32_t step = (high - low) / (uint32_t)SWEEP | 1u;
    const rfm_port *port;
    float x[16], y[16];
    unsigned long i;
    size_t index, j;
    int negative;

    for (index = 0; (port = test_port(index)) != NULL; index++) {
        if (port->exp == NULL) continue;
        for (negative = 0; negative < 2; negative++)
            for (i = 0; i < SWEEP; i += 8) {
                for (j = 0; j < 8; j++) {
                    const uint32_t bits = (low + (uint32_t)(i + j) * step) | (negative ? 0x80000000u : 0u);

                    memcpy(x + j, &bits, sizeof *x);
                    x[j + 8] = sweep(i + j, negative);
                }
                test_note(port->name, i, (size_t)negative, 0);
                port->exp(16, x, y);
                for (j = 0; j < 16; j++) check_exp(port, x[j], y[j]);
            }
    }
}

/* Where results overflow, become subnormal, and vanish: every float for a while on both sides. */
static void test_exp_ends(void) {
    static const float ends[] = {88.7228394f, -87.3365479f, -103.278931f, -103.972084f, 0.0f, 0.346573591f};
    const rfm_port *port;
    float x[16], y[16];
    size_t index, e, j;
    uint32_t bits;
    int i;

    for (index = 0; (port = test_port(index)) != NULL; index++) {
        if (port->exp == NULL) continue;
        for (e = 0; e < TEST_LENGTH(ends); e++)
            for (i = -64; i < 64; i += 16) {
                for (j = 0; j < 16; j++) {
                    memcpy(&bits, ends + e, sizeof bits);
                    bits += (uint32_t)(i + (int)j);
                    if (ends[e] == 0.0f) bits = (uint32_t)(i + (int)j + 64);
                    memcpy(x + j, &bits, sizeof bits);
                }
                test_note(port->name, e, 0, 0);
                port->exp(16, x, y);
                for (j = 0; j < 16; j++) check_exp(port, x[j], y[j]);
            }
    }
}
#else
/* No wider type to compare with everywhere: exp(x) exp(-x) = 1. */
static void test_exp_sweep(void) {
    const rfm_port *port;
    double x[2], y[2];
    size_t index, i;

    for (index = 0; (port = test_port(index)) != NULL; index++)
        for (i = 0; i < 1000 && port->exp != NULL; i++) {
            x[0] = 700 * test_number(11, i, 0);
            x[1] = -x[0];
            port->exp(2, x, y);
            CHECK_BELOW(fabs(y[0] * y[1] - 1), 4 * EXP_ULP * TEST_EPS);
        }
}

static void test_exp_ends(void) {
    const rfm_port *port;
    double x[3] = {709.78, -708.3, -745.0}, y[3];
    size_t index;

    for (index = 0; (port = test_port(index)) != NULL; index++) {
        if (port->exp == NULL) continue;
        port->exp(3, x, y);
        TEST_ASSERT_TRUE(y[0] > 1.79e308 && y[0] <= DBL_MAX);
        TEST_ASSERT_TRUE(y[1] > DBL_MIN && y[1] < 2.5e-308);
        TEST_ASSERT_TRUE(y[2] > 0 && y[2] < 1e-323);
    }
}
#endif

static void test_exp_special(void) {
    const rfm_port *port;
    rfm_real x[10], y[10];
    size_t index;

    x[0] = INF;
    x[1] = -INF;
    x[2] = not_a_number();
    x[3] = 0;
    x[4] = -x[3];
    x[5] = HUGEST;
    x[6] = -HUGEST;
    x[7] = TINY / 4;
    x[8] = (rfm_real)710;
    x[9] = (rfm_real)-746;
    for (index = 0; (port = test_port(index)) != NULL; index++) {
        if (port->exp == NULL) continue;
        test_note(port->name, 0, 0, 0);
        port->exp(10, x, y);
        CHECK(y[0] == INF && y[5] == INF && y[8] == INF);
        CHECK(y[1] == 0 && y[6] == 0 && y[9] == 0);
        CHECK(y[2] != y[2]);
        CHECK(y[3] == 1 && y[4] == 1 && y[7] == 1);
    }
}

/* ---- exp: the place of an element ----------------------------------------------------------- */

typedef void (*map)(size_t n, const rfm_real *x, rfm_real *y);

/* An element's result is the same bits alone, anywhere in an array, in place, and again; and nothing else is
 * written. */
static void check_places(map f, size_t n) {
    const size_t mark = test_mark();
    rfm_mat x = test_mat(1, n + 1, 0, n % 4), y = test_mat(1, n + 1, 0, n % 3);
    rfm_real one, alone;
    size_t i;

    CHECK(x.at != NULL && y.at != NULL);
    for (i = 0; i < n; i++) x.at[i] = (rfm_real)(50 * fabs(test_number(12, i, n)));
    f(n, x.at, y.at);
    test_check_padding(y);
    CHECK(same(y.at[n], not_a_number()));
    for (i = 0; i < n; i++) {
        one = x.at[i];
        f(1, &one, &alone);
        CHECK(same(alone, y.at[i]));
    }
    f(n, x.at, x.at);
    CHECK(same(x.at[n], not_a_number()));
    CHECK(n == 0 || memcmp(x.at, y.at, n * sizeof one) == 0);
    test_rewind(mark);
}

static void test_places(void) {
    const rfm_port *port;
    size_t i, n;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (n = 0; n <= 41; n++) {
            test_note(port->name, n, 0, 0);
            if (port->exp != NULL) check_places(port->exp, n);
        }
}

/* ---- laplace -------------------------------------------------------------------------------- */

/* phi is what sqrt, one product and the port's own exp make, bit for bit; w is two more roundings. */
static void check_laplace(const rfm_port *port, size_t n, rfm_real inverse) {
    const size_t mark = test_mark();
    rfm_mat s2 = test_mat(1, n + 1, 0, n % 4), phi = test_mat(1, n + 1, 0, n % 3), w = test_mat(1, n + 1, 0, n % 2);
    size_t i;

    if (s2.at == NULL || phi.at == NULL || w.at == NULL) {
        test_rewind(mark);
        return;
    }
    for (i = 0; i < n; i++) {
        const double x = test_number(14, i, n);

        s2.at[i] = (rfm_real)(i % 7 == 3 ? 0.0 : i % 7 == 4 ? -0.0 : i % 7 == 5 ? x * x * 1e-30 : 900 * x * x);
    }
    port->laplace(n, inverse, s2.at, phi.at, w.at);
    test_check_padding(phi);
    test_check_padding(w);
    CHECK(same(phi.at[n], not_a_number()) && same(w.at[n], not_a_number()));
    for (i = 0; i < n; i++) {
        const rfm_real s = SQRT(s2.at[i]), t = -(s * inverse);
        rfm_real e;

        (port->exp != NULL ? port->exp : rfm_port_scalar.exp)(1, &t, &e);
        CHECK(same(e, phi.at[i]));
        if (s == 0) {
            CHECK(w.at[i] == 0);
        } else {
            const double value = (double)inverse * (double)e / (double)s;

            CHECK_BELOW(fabs((double)w.at[i] - value), 2 * TEST_EPS * value + (double)TINY);
        }
    }
    port->laplace(n, inverse, s2.at, s2.at, NULL);
    test_check_padding(s2);
    CHECK(same(s2.at[n], not_a_number()));
    CHECK(n == 0 || memcmp(s2.at, phi.at, n * sizeof *s2.at) == 0);
    test_rewind(mark);
}

static void test_laplace(void) {
    const rfm_port *port;
    size_t i, n;

    for (i = 0; (port = test_port(i)) != NULL; i++)
        for (n = 0; n <= 41 && port->laplace != NULL; n++) {
            test_note(port->name, n, 0, 0);
            check_laplace(port, n, (rfm_real)0.3);
            check_laplace(port, n, (rfm_real)10);
        }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_find);
    RUN_TEST(test_tables);
    RUN_TEST(test_gemm);
    RUN_TEST(test_gemm_nan);
    RUN_TEST(test_l1);
    RUN_TEST(test_signs);
    RUN_TEST(test_pack);
    RUN_TEST(test_trsm);
    RUN_TEST(test_rows4);
    RUN_TEST(test_finite);
    RUN_TEST(test_exp_sweep);
    RUN_TEST(test_exp_ends);
    RUN_TEST(test_exp_special);
    RUN_TEST(test_places);
    RUN_TEST(test_laplace);
    return UNITY_END();
}
