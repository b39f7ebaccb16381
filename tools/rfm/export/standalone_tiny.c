/* Tiny models as code. Constants are laid out as the loops walk over them, in one array of bytes:
 *
 *   P         two rows at a time, their numbers by turns; the last row alone if their number is odd
 *   centres   a centre's r numbers, with 128 more, so that they have no sign, as z has none; then its alpha
 *
 * Prototypes: the centres of the last class come first, so that loops count down; before those of a class its offset,
 * two bytes. If no alpha is negative, its bit 7 marks the last centre of a class, and nobody has to count. Otherwise
 * the low bits of the offset have the number of centres, if there is room for it.
 */
#include "standalone.h"

#include <stdlib.h>

static int all_equal(const uint8_t *v, size_t n) {
    size_t i;
    for (i = 1; i < n; i++)
        if (v[i] != v[0]) return 0;
    return 1;
}

/* Centres as rfm compress deals them out: each class has n / c, and the first ones have one more. */
static int dealt_out(const rfm_tiny *m) {
    size_t k;
    for (k = 0; k < m->c; k++)
        if (m->counts[k] != m->n / m->c + (k < m->n % m->c)) return 0;
    return 1;
}

static int any_empty(const rfm_tiny *m) {
    size_t k;
    for (k = 0; k < m->c; k++)
        if (m->counts[k] == 0) return 1;
    return 0;
}

int positive_alpha(const rfm_tiny *m) {
    size_t i, n = (size_t)m->n * (m->counts != NULL ? 1 : m->c);
    for (i = 0; i < n; i++)
        if (m->alpha[i] < 0) return 0;
    return 1;
}

/* Is bit 7 of alpha the mark of a class's last centre? */
static int marked(const rfm_tiny *m) { return positive_alpha(m) && !any_empty(m) && m->n > m->c; }

/* Is the number of a class's centres in the low bits of its offset? */
#define COUNT_BITS 3

static int counted(const rfm_tiny *m) {
    size_t k;
    if (m->offset == NULL || marked(m) || m->n <= m->c) return 0;
    for (k = 0; k < m->c; k++)
        if (m->counts[k] >> COUNT_BITS != 0 || m->offset[k] * (1L << COUNT_BITS) < INT16_MIN ||
            m->offset[k] * (1L << COUNT_BITS) > INT16_MAX - (1L << COUNT_BITS))
            return 0;
    return 1;
}

/* ---- constants ------------------------------------------------------------------------------ */

static void put_center(header *h, const rfm_tiny *m, size_t i, int last) {
    size_t each = m->counts != NULL ? 1 : m->c, j;
    for (j = 0; j < m->r; j++) array_integer(h, m->centers[i * m->r + j] + 128L);
    for (j = 0; j < each; j++) array_integer(h, (uint8_t)m->alpha[i * each + j] + (last ? 128L : 0L));
}

static void put_prototypes(header *h, const rfm_tiny *m) {
    size_t end = m->n, i, k;
    for (k = m->c; k-- > 0; end -= m->counts[k]) {
        long offset = m->offset == NULL ? 0 : m->offset[k];
        if (counted(m)) offset = offset * (1L << COUNT_BITS) + m->counts[k];
        if (m->offset != NULL) array_integer(h, offset & 255), array_integer(h, offset >> 8 & 255);
        for (i = end - m->counts[k]; i < end; i++) put_center(h, m, i, marked(m) && i + 1 == end);
    }
}

static void put_numbers(header *h, const rfm_tiny *m) {
    size_t d = m->d, bytes = m->r * d + m->n * m->r, i, j;
    bytes += m->counts == NULL ? (size_t)m->n * m->c : m->n + (m->offset != NULL ? 2 * (size_t)m->c : 0);
    array_begin(h, "uint8_t", "numbers", bytes);
    for (i = 0; i + 1 < m->r; i += 2)
        for (j = 0; j < d; j++)
            array_integer(h, (uint8_t)m->p[i * d + j]), array_integer(h, (uint8_t)m->p[(i + 1) * d + j]);
    for (j = 0; m->r % 2 == 1 && j < d; j++) array_integer(h, (uint8_t)m->p[i * d + j]);
    if (m->counts != NULL)
        put_prototypes(h, m);
    else
        for (i = 0; i < m->n; i++) put_center(h, m, i, 0);
    array_end(h);
}

void put_weight(header *h, const rfm_tiny *m) {
    const char *pairs = "(i / 2U) * (2U * $_INPUTS) + 2U * j + i % 2U", *alone = "i * $_INPUTS + j";
    put(h, "\n$_CODE int32_t @_weight(uint32_t i, uint32_t j) {\n    uint32_t at = %s;\n",
        m->r % 2 == 0 ? pairs : alone);
    if (m->r % 2 == 1 && m->r > 1) put(h, "    if (i != $_RANK - 1) at = %s;\n", pairs);
    put(h, "    return (int8_t)@_numbers[at];\n}\n");
}

/* Is there room for the shifts in the low five bits of the bias? */
static int shifts_inside(const rfm_tiny *m) {
    size_t i;
    if (all_equal(m->shifts, m->r)) return 0;
    for (i = 0; i < m->r; i++)
        if (m->bias[i] < -1024 || m->bias[i] + 128 >= 1024) return 0;
    return 1;
}

/* The bias has 128 more, as z has. */
static void put_bias(header *h, const rfm_tiny *m) {
    size_t i;
    int wide = 0;
    for (i = 0; i < m->r; i++) wide |= m->bias[i] > 32767 - 128;
    array_begin(h, wide ? "int32_t" : "int16_t", "bias", m->r);
    for (i = 0; i < m->r; i++)
        array_integer(h, shifts_inside(m) ? (m->bias[i] + 128L) * 32 + m->shifts[i] : m->bias[i] + 128L);
    array_end(h);
    if (all_equal(m->shifts, m->r) || shifts_inside(m)) return;
    array_begin(h, "uint8_t", "shifts", m->r);
    for (i = 0; i < m->r; i++) array_integer(h, m->shifts[i]);
    array_end(h);
}

static void put_arrays(header *h, const rfm_tiny *m) {
    size_t k;
    put(h, "\n");
    put_numbers(h, m);
    put_bias(h, m);
    if (m->counts != NULL && !marked(m) && !counted(m) && !dealt_out(m)) {
        array_begin(h, "uint8_t", "counts", m->c);
        for (k = 0; k < m->c; k++) array_integer(h, m->counts[k]);
        array_end(h);
    }
    if (m->counts == NULL && m->offset != NULL) {
        array_begin(h, "int16_t", "offset", m->c);
        for (k = 0; k < m->c; k++) array_integer(h, m->offset[k]);
        array_end(h);
    }
    if (m->units != NULL) {
        array_begin(h, "float", "units", m->c);
        for (k = 0; k < m->c; k++) array_float(h, m->units[k]);
        array_end(h);
    }
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* @_rows(p, x, y): y = P x of two rows, returns where the next are; @_row: of one. @_distance(z, center, t): t + |z -
 * center|^2. */

static void put_helium(header *h, const rfm_tiny *m) {
    put(h, "#include <arm_mve.h>\n");
    if (m->r > 1)
        put(h, "\n$_CODE const uint8_t *@_rows(const uint8_t *p, const int16_t *x, int32_t *y) {\n"
               "    const uint8_t *next = &p[2 * $_INPUTS];\n"
               "    int32_t s0 = 0, s1 = 0, left = $_INPUTS;\n"
               "    do {\n"
               "        int8x16_t w = vreinterpretq_s8_u8(vldrbq_z_u8(p, vctp8q(2U * (uint32_t)left)));\n"
               "        int16x8_t v = vldrhq_z_s16(x, vctp16q((uint32_t)left));\n"
               "        s0 = vmladavaq_s16(s0, vmovlbq_s8(w), v);\n"
               "        s1 = vmladavaq_s16(s1, vmovltq_s8(w), v);\n"
               "        p = &p[16];\n"
               "        x = &x[8];\n"
               "        left -= 8;\n"
               "    } while (left > 0);\n"
               "    y[0] = s0;\n"
               "    y[1] = s1;\n"
               "    return next;\n"
               "}\n");
    if (m->r % 2 == 1)
        put(h, "\n$_CODE int32_t @_row(const uint8_t *p, const int16_t *x) {\n"
               "    int32_t s = 0, left = $_INPUTS;\n"
               "    do {\n"
               "        mve_pred16_t there = vctp16q((uint32_t)left);\n"
               "        int16x8_t w = vmovlbq_s8(vreinterpretq_s8_u16(vldrbq_z_u16(p, there)));\n"
               "        s = vmladavaq_s16(s, w, vldrhq_z_s16(x, there));\n"
               "        p = &p[8];\n"
               "        x = &x[8];\n"
               "        left -= 8;\n"
               "    } while (left > 0);\n"
               "    return s;\n"
               "}\n");
    put(h,
        "\n$_CODE uint32_t @_distance(const uint8_t *z, const uint8_t *center, uint32_t t) {\n"
        "    int32_t sum = (int32_t)t, left = $_RANK;\n"
        "    do {\n"
        "        mve_pred16_t there = vctp16q((uint32_t)left);\n"
        "        int16x8_t a = vreinterpretq_s16_u16(vsubq_u16(vldrbq_z_u16(z, there), vldrbq_z_u16(center, there)));\n"
        "        sum = vmladavaq_s16(sum, a, a);\n"
        "        z = &z[8];\n"
        "        center = &center[8];\n"
        "        left -= 8;\n"
        "    } while (left > 0);\n"
        "    return (uint32_t)sum;\n"
        "}\n");
}

static void put_dsp_function(header *h, const char *name, const char *instruction) {
    put(h,
        "\n$_CODE int16x2_t @_%s(uint32_t word) {\n    int16x2_t pair;\n"
        "    __asm__(\"%s\" : \"=r\"(pair) : \"r\"(word));\n    return pair;\n}\n",
        name, instruction);
}

/* pair + two bytes of a word. */
static void put_dsp_sum(header *h, const char *name, const char *instruction) {
    put(h,
        "\n$_CODE int16x2_t @_%s(int16x2_t pair, uint32_t word) {\n    int16x2_t sum;\n"
        "    __asm__(\"%s\" : \"=r\"(sum) : \"r\"(pair), \"r\"(word));\n    return sum;\n}\n",
        name, instruction);
}

static void put_plain_row(header *h) {
    put(h, "\n$_CODE int32_t @_row(const uint8_t *p, const int16_t *x) {\n"
           "    int32_t s = 0, j = $_INPUTS - 1;\n"
           "    do {\n"
           "        s += (int8_t)p[j] * (int32_t)x[j];\n"
           "        j--;\n"
           "    } while (j >= 0);\n"
           "    return s;\n"
           "}\n");
}

/* A word has two columns of two rows. */
static void put_dsp_rows(header *h, const rfm_tiny *m) {
    put(h, "\n$_CODE const uint8_t *@_rows(const uint8_t *p, const int16_t *x, int32_t *y) {\n"
           "    int32_t s0 = 0, s1 = 0;\n");
    if (m->d > 1)
        put(h,
            "    const int16_t *end = &x[%u];\n"
            "    do {\n"
            "        int16x2_t v = (int16x2_t)@_word(x);\n"
            "        uint32_t w = @_word(p);\n"
            "        s0 = __smlad(@_signed_even(w), v, s0);\n"
            "        s1 = __smlad(@_signed_odd(w), v, s1);\n"
            "        p = &p[4];\n"
            "        x = &x[2];\n"
            "        $_ROLLED(p);\n"
            "    } while (x != end);\n",
            (unsigned)(m->d / 2 * 2));
    if (m->d % 2 == 1)
        put(h, "    s0 += (int8_t)p[0] * (int32_t)x[0];\n"
               "    s1 += (int8_t)p[1] * (int32_t)x[0];\n");
    put(h, "    y[0] = s0;\n    y[1] = s1;\n    return %s;\n}\n", m->d % 2 == 1 ? "&p[2]" : "p");
}

/* Four numbers at a time. What is made of z alone the compiler takes out of the loop over centres. */
static void put_dsp_distance(header *h, const rfm_tiny *m) {
    size_t i;
    if (m->r >= 4) {
        put_dsp_sum(h, "plus_even", "uxtab16 %0, %1, %2");
        put_dsp_sum(h, "plus_odd", "uxtab16 %0, %1, %2, ror #8");
        put(h, "\n/* center - z of four numbers, as two pairs: 255 - z, then -255 + that + center. */\n"
               "$_CODE void @_apart(const uint8_t *z, const uint8_t *center, int16x2_t *even, int16x2_t *odd) {\n"
               "    uint32_t v = ~@_word(z), w = @_word(center);\n"
               "    *even = @_plus_even(@_plus_even(-0xfe00ff, v), w);\n"
               "    *odd = @_plus_odd(@_plus_odd(-0xfe00ff, v), w);\n"
               "}\n");
        put(h, "\n#ifndef __OPTIMIZE_SIZE__\n"
               "#define $_FROM_ZERO /* t is 0 before the first product: no register for where it starts */\n"
               "#endif\n");
    }
    put(h, "\n$_CODE uint32_t @_distance(const uint8_t *z, const uint8_t *center, uint32_t t) {\n");
    if (m->r < 4)
        put(h, "    int32_t b, sum = (int32_t)t;\n");
    else
        put(h,
            "    int16x2_t even, odd;\n"
            "    int32_t%s sum;\n"
            "    uint32_t i = 0U;\n"
            "#ifdef $_FROM_ZERO\n"
            "    (void)t;\n"
            "    @_apart(z, center, &even, &odd);\n"
            "    sum = __smlad(odd, odd, __smuad(even, even));\n"
            "    i = 4U;\n"
            "#else\n"
            "    sum = (int32_t)t;\n"
            "#endif\n"
            "    for (; i < %uU; i += 4U) {\n"
            "        @_apart(&z[i], &center[i], &even, &odd);\n"
            "        sum = __smlad(even, even, sum);\n"
            "        sum = __smlad(odd, odd, sum);\n"
            "%s"
            "    }\n",
            m->r % 4 != 0 ? " b," : "", m->r / 4 * 4,
            m->r < 8 ? "" : "#ifdef __OPTIMIZE_SIZE__\n        $_ROLLED(i);\n#endif\n");
    for (i = m->r / 4 * 4; i < m->r; i++) put(h, "    b = (int32_t)z[%zu] - center[%zu];\n    sum += b * b;\n", i, i);
    put(h, "    return (uint32_t)sum;\n}\n");
}

static void put_dsp(header *h, const rfm_tiny *m) {
    put(h, "#include <arm_acle.h>\n"
           "\n$_CODE uint32_t @_word(const void *at) {\n    uint32_t word;\n"
           "    __builtin_memcpy(&word, at, 4);\n    return word;\n}\n");
    if (m->r > 1 && m->d > 1) {
        put(h, "\n/* Bytes 0 and 2, 1 and 3 of a word. */");
        put_dsp_function(h, "signed_even", "sxtb16 %0, %1");
        put_dsp_function(h, "signed_odd", "sxtb16 %0, %1, ror #8");
    }
    if (m->r > 1) put_dsp_rows(h, m);
    if (m->r % 2 == 1) put_plain_row(h);
    put_dsp_distance(h, m);
}

static void put_plain(header *h, const rfm_tiny *m) {
    size_t i;
    if (m->r > 1)
        put(h, "\n$_APART const uint8_t *@_rows(const uint8_t *p, const int16_t *x, int32_t *y) {\n"
               "    int32_t s0 = 0, s1 = 0;\n"
               "#ifdef __OPTIMIZE_SIZE__\n"
               "    const uint8_t *next = &p[2 * $_INPUTS];\n"
               "    do {\n"
               "        s0 += (int8_t)p[0] * (int32_t)x[0];\n"
               "        s1 += (int8_t)p[1] * (int32_t)x[0];\n"
               "        p = &p[2];\n"
               "        x = &x[1];\n"
               "    } while (p != next);\n"
               "#else\n"
               "    const uint8_t *q = &p[1];\n"
               "    int32_t j = 0;\n"
               "    do {\n"
               "        int32_t v = x[j];\n"
               "        s0 += (int8_t)p[2 * j] * v;\n"
               "        s1 += (int8_t)q[2 * j] * v;\n"
               "        j++;\n"
               "    } while (j < $_INPUTS);\n"
               "    p = &p[2 * $_INPUTS];\n"
               "#endif\n"
               "    y[0] = s0;\n"
               "    y[1] = s1;\n"
               "    return p;\n"
               "}\n");
    if (m->r % 2 == 1) put_plain_row(h);
    put(h, "\n$_CODE uint32_t @_distance(const uint8_t *z, const uint8_t *center, uint32_t t) {\n");
    if (m->r <= 4) {
        put(h, "#ifndef __OPTIMIZE_SIZE__\n    int32_t a;\n");
        for (i = 0; i < m->r; i++)
            put(h, "    a = (int32_t)z[%zu] - center[%zu];\n    t += (uint32_t)(a * a);\n", i, i);
        put(h, "#else\n");
    }
    put(h, "    int32_t i = $_RANK - 1;\n"
           "    do {\n"
           "        int32_t a = (int32_t)z[i] - center[i];\n"
           "        t += (uint32_t)(a * a);\n"
           "        i--;\n");
    if (m->r > 4 && m->r % 2 == 0)
        put(h, "#if defined $_FEW && !defined __OPTIMIZE_SIZE__\n"
               "        $_ROLLED(i);\n"
               "        a = (int32_t)z[i] - center[i];\n"
               "        t += (uint32_t)(a * a);\n"
               "        i--;\n"
               "#endif\n");
    put(h, "    } while (i >= 0);\n");
    if (m->r <= 4) put(h, "#endif\n");
    put(h, "    return t;\n}\n");
}

/* ---- prediction ----------------------------------------------------------------------------- */

static void put_project(header *h, const rfm_tiny *m) {
    char shift[32] = "@_shifts[i]";
    if (all_equal(m->shifts, m->r)) (void)snprintf(shift, sizeof shift, "%u", m->shifts[0]);
    put(h,
        "\n/* z = 128 + a row of P x, shifted and moved, in 8 bits%s. */\n"
        "$_CODE uint8_t @_z(int32_t s, uint32_t i) {\n",
        shifts_inside(m) ? "; bias has the shift in its low five bits" : "");
    if (shifts_inside(m))
        put(h, "    int32_t b = @_bias[i];\n    s = (s >> ((uint32_t)b & 31U)) + (b >> 5);\n");
    else
        put(h, "    s = (s >> %s) + @_bias[i];\n", shift);
    put(h, "#ifdef $_SATURATES\n"
           "    s = (int32_t)__usat(s, 8);\n"
           "#else\n"
           "    if ((uint32_t)s > 255U) s = s < 0 ? 0 : 255;\n"
           "#endif\n"
           "    return (uint8_t)s;\n"
           "}\n");
    put(h, "\n/* z of x; returns the centres. */\n"
           "$_APART const uint8_t *@_project(const int16_t *x, uint8_t *z) {\n"
           "    const uint8_t *p = @_numbers;\n"
           "    int32_t y[$_RANK];\n"
           "    uint32_t i;\n");
    if (m->r > 1)
        put(h,
            "    int32_t *pair = y;\n"
            "    $_ROLLED(p);\n"
            "    do {\n"
            "        p = @_rows(p, x, pair);\n"
            "        pair = &pair[2];\n"
            "        $_ROLLED(pair);\n"
            "    } while (pair != &y[%u]);\n",
            m->r / 2 * 2);
    if (m->r % 2 == 1) put(h, "    y[$_RANK - 1] = @_row(p, x);\n    p = &p[$_INPUTS];\n");
    put(h, "    i = $_RANK;\n"
           "    do {\n"
           "        i--;\n"
           "#ifdef $_FEW\n"
           "        $_ROLLED(i);\n"
           "#endif\n"
           "        z[i] = @_z(y[i], i);\n"
           "    } while (i != 0U);\n"
           "    return p;\n"
           "}\n");
}

/* phi(t) = ONE 2^(-t / 2^s), as rfm_tiny.c has it; s is known here. t starts where t >> s is what is shifted by. */
static void put_phi(header *h, const rfm_tiny *m) {
    unsigned s = m->phi_shift, start = s > 6 ? 2 * s - 12 : 0;
    char left[16] = "";
    if (s < 6) (void)snprintf(left, sizeof left, " << %u", 12 - 2 * s);
    put(h,
        "\n#define $_ONE %dU /* phi at a centre */\n"
        "#ifdef $_FROM_ZERO\n"
        "#define $_START 0U\n"
        "#define $_LATER %uU /* phi is shifted by so much besides */\n"
        "#else\n"
        "#define $_START %luU /* added to t */\n"
        "#define $_LATER 0U\n"
        "#endif\n\n"
        "/* phi = $_ONE 2^(-t / %lu), t = |z - center|^2. Between its halvings 2^-f is ((2 - f)^2 + 2) / 6. */\n",
        RFM_TINY_ONE, start, (unsigned long)start << s, 1ul << s);
    put(h,
        "#ifdef $_SATURATES\n"
        "$_CODE uint32_t @_phi_at(uint32_t t) {\n"
        "    uint32_t u;\n"
        "    t = (uint32_t)__usat((int32_t)t, %u); /* phi is 0 there */\n"
        "    u = %luU - (t & %luU);\n",
        s + 5, 2ul << s, (1ul << s) - 1);
    if (s < 14) /* u has 15 bits */
        put(h,
            "#ifdef __ARM_FEATURE_DSP\n"
            "    u = (uint32_t)__smlabb((int32_t)u, (int32_t)u, %lu);\n"
            "#else\n"
            "    u = u * u + %luU;\n"
            "#endif\n",
            2ul << (2 * s), 2ul << (2 * s));
    else
        put(h, "    u = u * u + %luU;\n", 2ul << (2 * s));
    put(h, "    return ((u%s) >> $_LATER) >> (t >> %u);\n}\n", left, s);
    put(h,
        "#else\n"
        "$_CODE uint32_t @_phi_at(uint32_t t) {\n"
        "    uint32_t h = t >> %u, phi = 0U, two = %luU;\n"
        "    if (h < %uU) {\n"
        "        $_ROLLED(two);\n"
        "        t = ((h + 2U) << %u) - t;\n"
        "        phi = ((t * t + two)%s) >> h;\n"
        "    }\n"
        "    return phi;\n"
        "}\n"
        "#endif\n",
        s, 2ul << (2 * s), start + 15, s, left);
    put(h, "\n$_APART uint32_t @_phi(const uint8_t *z, const uint8_t *center) {\n"
           "    return @_phi_at(@_distance(z, center, $_START));\n"
           "}\n");
}

/* The centres of a class, one after the other; k is the class + `from`. A mark in the last alpha is taken out of the
 * score afterwards. */
void put_class_begin(header *h, const rfm_tiny *m, unsigned from) {
    put(h, "        int32_t score = %s;\n",
        m->offset == NULL ? "0" : "(int16_t)(uint16_t)(center[0] | ((uint32_t)center[1] << 8))");
    put(h, "        uint32_t phi%s;\n", marked(m) ? ", alpha" : m->n > m->c || any_empty(m) ? ", left" : "");
    if (counted(m))
        put(h, "        left = (uint32_t)score & %uU;\n        score >>= %d;\n", (1u << COUNT_BITS) - 1, COUNT_BITS);
    if (m->offset != NULL) put(h, "        score *= %d;\n        center = &center[2];\n", RFM_TINY_OFFSET);
    if (marked(m)) {
        put(h, "        do {\n");
        return;
    }
    if (!counted(m) && !dealt_out(m))
        put(h, "        left = @_counts[k%s];\n", from == 1 ? " - 1U" : "");
    else if (!counted(m) && m->n % m->c != 0)
        put(h, "        left = k >= %u%s ? %uU : %uU;\n", m->n % m->c + from, from == 1 ? "U" : "", m->n / m->c,
            m->counts[0]);
    else if (!counted(m) && m->n > m->c)
        put(h, "        left = %uU;\n", m->counts[0]);
    put(h, any_empty(m) ? "        while (left != 0U) {\n" : m->n > m->c ? "        do {\n" : "        {\n");
}

void put_class_end(header *h, const rfm_tiny *m) {
    const char *sign = positive_alpha(m) ? "" : "(int8_t)";
    if (marked(m))
        put(h, "            alpha = center[$_RANK];\n"
               "            score += (int32_t)(alpha * phi);\n"
               "            center = &center[$_RANK + 1];\n"
               "        } while (alpha < 128U);\n"
               "        score -= (int32_t)(128U * phi);\n");
    else
        put(h, "            score += %scenter[$_RANK] * (int32_t)phi;\n            center = &center[$_RANK + 1];\n",
            sign);
    if (marked(m)) return;
    if (any_empty(m))
        put(h, "            left--;\n        }\n");
    else
        put(h, m->n > m->c ? "            $_ROLLED(left);\n            left--;\n        } while (left != 0U);\n"
                           : "        }\n");
}

static void put_scores(header *h, const rfm_tiny *m) {
    put(h,
        "\n/* All scores; returns the largest phi. */\n"
        "$_CODE uint32_t @_scores(const int16_t x[$_INPUTS], int32_t scores[$_OUTPUTS]) {\n"
        "    uint8_t z[$_RANK];\n"
        "    const uint8_t *center = @_project(x, z);\n"
        "    uint32_t k = $_OUTPUTS, nearest = 0U%s;\n"
        "    do {\n",
        m->counts == NULL ? ", left = $_CENTERS" : "");
    if (m->counts != NULL) {
        put_class_begin(h, m, 1);
        put(h, "            phi = @_phi(z, center);\n"
               "            if (phi > nearest) nearest = phi;\n");
        put_class_end(h, m);
        put(h, "        k--;\n        scores[k] = score;\n    } while (k != 0U);\n    return nearest;\n}\n");
        return;
    }
    if (m->offset != NULL)
        put(h, "        k--;\n        scores[k] = (int32_t)@_offset[k] * %d;\n", RFM_TINY_OFFSET);
    else
        put(h, "        k--;\n        scores[k] = 0;\n");
    put(h,
        "    } while (k != 0U);\n"
        "    do {\n"
        "        uint32_t phi = @_phi(z, center);\n"
        "        if (phi > nearest) nearest = phi;\n"
        "        center = &center[$_RANK];\n"
        "        k = 0U;\n"
        "        do {\n"
        "            scores[k] += (int32_t)%scenter[k] * (int32_t)phi;\n"
        "            k++;\n"
        "        } while (k < $_OUTPUTS);\n"
        "        center = &center[$_OUTPUTS];\n"
        "        left--;\n"
        "    } while (left != 0U);\n"
        "    return nearest;\n"
        "}\n",
        positive_alpha(m) ? "" : "(int8_t)");
}

/* Prototypes: no scores are kept, only the largest. */
static void put_classify_prototypes(header *h, const rfm_tiny *m) {
    put(h, "\n/* The class: the first of the largest score. */\n"
           "$_CODE uint32_t @_classify(const int16_t x[$_INPUTS]) {\n"
           "    uint8_t z[$_RANK];\n"
           "    const uint8_t *center = @_project(x, z);\n"
           "    int32_t most = INT32_MIN;\n"
           "    int32_t k = $_OUTPUTS - 1, best = 0;\n"
           "    do {\n");
    put_class_begin(h, m, 0);
    put(h, "            phi = @_phi(z, center);\n");
    put_class_end(h, m);
    put(h, "        if (score >= most) {\n"
           "            most = score;\n"
           "            best = k;\n"
           "        }\n"
           "        $_ROLLED(k);\n"
           "        k--;\n"
           "    } while (k >= 0);\n"
           "    return (uint32_t)best;\n"
           "}\n");
}

void put_tiny(header *h, const rfm_tiny *m) {
    int *exponents;
    size_t j;
    put_arrays(h, m);
    put(h, "\n/* In a loop that is not to be unrolled: the compiler does not know what it counts. */\n"
           "#if defined __GNUC__\n#define $_ROLLED(v) __asm__(\"\" : \"+r\"(v))\n"
           "#else\n#define $_ROLLED(v) (void)0\n#endif\n"
           "\n#if !defined $_PORTABLE && defined __ARM_FEATURE_SAT && defined __GNUC__\n"
           "#include <arm_acle.h>\n#define $_SATURATES\n#endif\n");
    put(h,
        "\n/* @_rows: y = P x, two rows%s; @_distance: t + |z - center|^2. */\n"
        "#if !defined $_PORTABLE && defined __ARM_FEATURE_MVE && !defined __ARM_BIG_ENDIAN\n",
        m->r % 2 == 1 ? ", @_row: one" : "");
    put_helium(h, m);
    put(h,
        "\n#elif !defined $_PORTABLE && defined __ARM_FEATURE_DSP && defined __GNUC__ && !defined __ARM_BIG_ENDIAN\n");
    put_dsp(h, m);
    put(h, "\n#else\n");
    put_plain(h, m);
    put(h, "\n#endif\n");
    put_project(h, m);
    put_phi(h, m);
    put_scores(h, m);
    if (m->counts != NULL)
        put_classify_prototypes(h, m);
    else if (m->task == RFM_CLASSIFY)
        put_classify(h, m->c, "int16_t", "int32_t", "0");
    else
        put_predict(h);
    exponents = allocate(m->d, sizeof *exponents, "the exponents");
    for (j = 0; j < m->d; j++) {
        exponents[j] = m->exponents != NULL ? m->exponents[j] : m->exponent;
        if (exponents[j] < -126) exponents[j] = -126;
    }
    put_from_floats(h, m->d, m->task, exponents, "        n = (int32_t)(v < 0.0f ? v - 0.5f : v + 0.5f);\n");
    free(exponents);
}
