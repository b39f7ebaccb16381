/* Certificates as code: how far inputs may move before the class can change, as rfm_certify.c and rfm_tiny.c compute
 * it, bit for bit; those say why it is so. */
#include "standalone.h"

#include <math.h>

/* ---- integers of any kind ------------------------------------------------------------------- */

/* @_bounds: t +- 2 rho sqrt(t) + rho^2, rounded to the far side, rho in units of 2^-fraction; `most`: of t, 0 if no sum
 * comes near to it. */
static void put_bounds(header *h, unsigned fraction, unsigned long most) {
    put(h, "\n/* ---- certificates ---- */\n"
           "\n/* The square root, rounded down. */\n"
           "$_CODE uint32_t @_root(uint32_t t) {\n"
           "    uint32_t root = 0U, bit = 0x40000000U;\n"
           "    do {\n"
           "        uint32_t next = root + bit;\n"
           "        root >>= 1;\n"
           "        if (t >= next) {\n"
           "            t -= next;\n"
           "            root += bit;\n"
           "        }\n"
           "        bit >>= 2;\n"
           "    } while (bit != 0U);\n"
           "    return root;\n"
           "}\n"
           "\n/* a / 2^bits, rounded up. */\n"
           "$_CODE uint32_t @_above(uint32_t a, uint32_t bits) {\n"
           "    return (a >> bits) + ((a & ((1U << bits) - 1U)) != 0U ? 1U : 0U);\n"
           "}\n");
    put(h,
        "\n/* |z - center|^2 is t. Where |z' - z| <= rho / %u, |z' - center|^2 is between *low and *high. */\n"
        "$_CODE void @_bounds(uint32_t t, uint32_t rho, uint32_t *low, uint32_t *high) {\n"
        "    uint32_t square = (rho * rho) >> %u, reach = 0U;\n"
        "    if (t != 0U) {\n"
        "        uint32_t scaled = t, k = %uU;\n"
        "        while (scaled < 0x40000000U) {\n"
        "            scaled <<= 2;\n"
        "            k++;\n"
        "        }\n"
        "        reach = @_above(2U * rho * (@_root(scaled) + 1U), k);\n"
        "    }\n"
        "    *low = (square >= t || (reach > t && reach - t >= square)) ? 0U : t - reach + square;\n"
        "    square = @_above(rho * rho, %uU);\n",
        1u << fraction, 2 * fraction, fraction, 2 * fraction);
    if (most == 0)
        put(h, "    *high = t + reach + square;\n}\n");
    else
        put(h,
            "    t += reach < %luU - t ? reach : %luU - t;\n"
            "    t += square < %luU - t ? square : %luU - t;\n"
            "    *high = t;\n}\n",
            most, most, most, most);
}

/* The largest rho of 15 bits within which @_holds. `type`: of z. */
static void put_certify(header *h, const char *type, unsigned fraction) {
    put(h,
        "\n/* The class; every input whose z' has |z' - z|^2 <= *square has it too. 0: only z' = z. */\n"
        "$_CODE uint32_t @_certify(const int16_t x[$_INPUTS], uint32_t *square) {\n"
        "    %s z[$_RANK];\n"
        "    uint32_t at = @_classify(x), rho = 0U, bit = 0x4000U;\n"
        "    @_project(x, z);\n"
        "    do {\n"
        "        if (@_holds(z, at, rho + bit) != 0U) rho += bit;\n"
        "        bit >>= 1;\n"
        "    } while (bit != 0U);\n"
        "    *square = (rho * rho) >> %u;\n"
        "    return at;\n"
        "}\n",
        type, 2 * fraction);
}

/* The largest moves of 16 bits that are @_within. `sums`: sets its first arguments, y and z. */
static void put_moves_i(header *h, const char *sums) {
    put(h,
        "\n#define $_FREE 65535U /* of moves: any value */\n\n"
        "/* x[j] alone may move by moves[j], up or down; square is that of @_certify. */\n"
        "$_CODE void @_moves(const int16_t x[$_INPUTS], uint32_t square, uint16_t moves[$_INPUTS]) {\n"
        "%s"
        "    for (j = 0U; j < $_INPUTS; j++) {\n"
        "        int32_t count = 0, bit = 0x8000;\n"
        "        do {\n"
        "            int32_t next = count + bit;\n"
        "            if (@_within(y, z, j, x[j], next, square) != 0U && @_within(y, z, j, x[j], -next, square) != 0U)\n"
        "                count = next;\n"
        "            bit >>= 1;\n"
        "        } while (bit != 0);\n"
        "        moves[j] = (uint16_t)count;\n"
        "    }\n"
        "}\n",
        sums);
}

/* The end of @_holds where the sums are leads over each class. */
static void put_leads_hold(header *h, size_t c) {
    if (c == 1)
        put(h, "    if (sums[0] < (int64_t)at) held = 0U;\n");
    else
        put(h, "    for (k = 0U; k < $_OUTPUTS; k++)\n"
               "        if (k != at && sums[k] < (k < at ? 1 : 0)) held = 0U;\n");
    put(h, "    return held;\n}\n");
}

/* ---- tiny models ---------------------------------------------------------------------------- */

#define TINY_FRACTION 6 /* as in rfm_tiny.c */

static void put_holds_prototypes(header *h, const rfm_tiny *m) {
    put(h,
        "\n/* Does the class stay where |z' - z| <= rho / 64? Its terms at their least, those of others at their most. "
        "*/\n"
        "$_CODE uint32_t @_holds(const uint8_t *z, uint32_t at, uint32_t rho) {\n"
        "    const uint8_t *center = &@_numbers[$_RANK * $_INPUTS];\n"
        "    int32_t scores[$_OUTPUTS];\n"
        "    uint32_t k = $_OUTPUTS, held = 1U;\n"
        "    do {\n");
    put_class_begin(h, m, 1);
    put(h, "            uint32_t low, high;\n"
           "            @_bounds(@_distance(z, center, 0U), rho, &low, &high);\n");
    if (positive_alpha(m))
        put(h, "            phi = @_phi_at($_START + (k == at + 1U ? high : low));\n");
    else
        put(h,
            "            phi = @_phi_at($_START + (((int8_t)center[$_RANK] > 0) == (k == at + 1U) ? high : low));\n");
    put_class_end(h, m);
    put(h, "        k--;\n"
           "        scores[k] = score;\n"
           "    } while (k != 0U);\n"
           "    do {\n"
           "        if (k < at ? scores[at] <= scores[k] : scores[at] < scores[k]) held = 0U;\n"
           "        k++;\n"
           "    } while (k < $_OUTPUTS);\n"
           "    return held;\n"
           "}\n");
}

static void put_holds_matrix(header *h, const rfm_tiny *m) {
    put(h,
        "\n/* Does the class stay where |z' - z| <= rho / 64? With the worse phi it still leads over each other. */\n"
        "$_CODE uint32_t @_holds(const uint8_t *z, uint32_t at, uint32_t rho) {\n"
        "    const uint8_t *center = &@_numbers[$_RANK * $_INPUTS];\n"
        "    int64_t sums[$_OUTPUTS];\n"
        "    uint32_t k, left = $_CENTERS, held = 1U;\n");
    if (m->offset == NULL)
        put(h, "    for (k = 0U; k < $_OUTPUTS; k++) sums[k] = 0;\n");
    else if (m->c == 1)
        put(h, "    sums[0] = (at == 1U ? (int32_t)@_offset[0] : -(int32_t)@_offset[0]) * %d;\n", RFM_TINY_OFFSET);
    else
        put(h, "    for (k = 0U; k < $_OUTPUTS; k++) sums[k] = ((int32_t)@_offset[at] - @_offset[k]) * %d;\n",
            RFM_TINY_OFFSET);
    put(h,
        "    do {\n"
        "        uint32_t low, high;\n"
        "        int32_t least, most;\n"
        "        @_bounds(@_distance(z, center, 0U), rho, &low, &high);\n"
        "        least = (int32_t)@_phi_at($_START + high);\n"
        "        most = (int32_t)@_phi_at($_START + low);\n"
        "        center = &center[$_RANK];\n"
        "        for (k = 0U; k < $_OUTPUTS; k++) {\n"
        "            int32_t lead = %s;\n"
        "            sums[k] += lead * (lead > 0 ? least : most);\n"
        "        }\n"
        "        center = &center[$_OUTPUTS];\n"
        "        left--;\n"
        "    } while (left != 0U);\n",
        m->c == 1 ? "at == 1U ? (int32_t)(int8_t)center[0] : -(int32_t)(int8_t)center[0]"
                  : "(int32_t)(int8_t)center[at] - (int8_t)center[k]");
    put_leads_hold(h, m->c);
}

void put_certify_tiny(header *h, const rfm_tiny *m) {
    put_bounds(h, TINY_FRACTION, 0);
    if (m->counts != NULL)
        put_holds_prototypes(h, m);
    else
        put_holds_matrix(h, m);
    put_certify(h, "uint8_t", TINY_FRACTION);
    put_weight(h, m);
    put(h, "\n/* Is |z' - z|^2 <= square after x_j has moved, or has come to an end of its type? y = P x. */\n"
           "$_CODE uint32_t @_within(const int32_t *y, const uint8_t *z, uint32_t j, int32_t from, int32_t move, "
           "uint32_t square) {\n"
           "    int32_t to = from + move;\n"
           "    uint32_t i, t = 0U;\n"
           "    to = to > 32767 ? 32767 : to;\n"
           "    to = to < -32768 ? -32768 : to;\n"
           "    for (i = 0U; i < $_RANK; i++) {\n"
           "        int32_t a = (int32_t)@_z(y[i] + @_weight(i, j) * (to - from), i) - z[i];\n"
           "        t += (uint32_t)(a * a);\n"
           "    }\n"
           "    return t <= square ? 1U : 0U;\n"
           "}\n");
    put_moves_i(h, "    int32_t y[$_RANK];\n"
                   "    uint8_t z[$_RANK];\n"
                   "    uint32_t i, j;\n"
                   "    @_project(x, z);\n"
                   "    for (i = 0U; i < $_RANK; i++) {\n"
                   "        y[i] = 0;\n"
                   "        for (j = 0U; j < $_INPUTS; j++) y[i] += @_weight(i, j) * (int32_t)x[j];\n"
                   "    }\n");
}

/* ---- models of integers --------------------------------------------------------------------- */

#define T_MOST 0xfffffff4ul /* as in rfm_private.h */

void put_certify_integers(header *h, const rfm_model_i *m, const char *file) {
    const char *type = m->type == RFM_I8 ? "int8_t" : "int16_t", *shift = m->type == RFM_I8 ? "" : " >> 8";
    unsigned fraction = 0;
    size_t i;
    if (m->absolute) fail("%s: its distances are sums of absolute differences; there are no certificates", file);
    for (i = 1; i < m->nodes; i++)
        if (m->phi[i] > m->phi[i - 1]) fail("%s: its phi rises with the distance; there are no certificates", file);
    while ((uint32_t)m->limit + 1 < 1u << (14 - fraction)) fraction++;
    put_bounds(h, fraction, T_MOST);
    put(h,
        "\n/* Does the class stay where |z' - z| <= rho / %u? With the worse phi it still leads over each other. */\n"
        "$_CODE uint32_t @_holds(const int16_t *z, uint32_t at, uint32_t rho) {\n"
        "    const %s *center = @_centers, *alpha = @_alpha;\n"
        "    int64_t sums[$_OUTPUTS];\n"
        "    uint32_t k, left = $_CENTERS, held = 1U;\n",
        1u << fraction, type);
    if (m->c == 1)
        put(h, "    sums[0] = at == 1U ? (int64_t)@_offset[0] : -(int64_t)@_offset[0];\n");
    else
        put(h, "    for (k = 0U; k < $_OUTPUTS; k++) sums[k] = (int64_t)@_offset[at] - @_offset[k];\n");
    put(h, "    do {\n"
           "        uint32_t low, high;\n"
           "        int32_t least, most;\n"
           "        @_bounds(@_distance(z, center), rho, &low, &high);\n"
           "        least = @_phi_at(high);\n"
           "        most = @_phi_at(low);\n"
           "        for (k = 0U; k < $_OUTPUTS; k++) {\n");
    if (m->c == 1)
        put(h,
            "            int32_t a = alpha[0];\n"
            "            if (at == 1U)\n"
            "                sums[0] += (a * (a > 0 ? least : most))%s;\n"
            "            else\n"
            "                sums[0] -= (a * (a > 0 ? most : least))%s;\n",
            shift, shift);
    else
        put(h,
            "            int32_t lead = (int32_t)alpha[at] - alpha[k];\n"
            "            sums[k] += (lead * (lead > 0 ? least : most))%s;\n",
            shift);
    put(h, "        }\n"
           "        center = &center[$_RANK];\n"
           "        alpha = &alpha[$_OUTPUTS];\n"
           "        left--;\n"
           "    } while (left != 0U);\n");
    put_leads_hold(h, m->c);
    put_certify(h, "int16_t", fraction);
    put(h,
        "\n/* Is |z' - z|^2 <= square after x_j has moved? y = bias + P u. */\n"
        "$_CODE uint32_t @_within(const int32_t *y, const int16_t *z, uint32_t j, int32_t from, int32_t move, "
        "uint32_t square) {\n"
        "    int32_t more = (int32_t)@_input(from + move, j) - @_input(from, j), a;\n"
        "    uint32_t t = 0U%s;\n",
        m->p != NULL ? ", i" : "");
    if (m->p != NULL)
        put(h, "    for (i = 0U; i < $_RANK; i++) {\n"
               "        a = (int32_t)@_z(y[i] + @_p[i * $_INPUTS + j] * more, i) - z[i];\n"
               "        t += (uint32_t)(a * a);\n"
               "    }\n");
    else
        put(h, "    a = (int32_t)@_z(y[j] + more, j) - z[j];\n"
               "    t = (uint32_t)(a * a);\n");
    put(h, "    return t <= square ? 1U : 0U;\n}\n");
    put_moves_i(h, m->p != NULL ? "    int32_t y[$_RANK];\n"
                                  "    int16_t z[$_RANK];\n"
                                  "    uint32_t i, j;\n"
                                  "    @_project(x, z);\n"
                                  "    for (i = 0U; i < $_RANK; i++) {\n"
                                  "        y[i] = @_bias[i];\n"
                                  "        for (j = 0U; j < $_INPUTS; j++) y[i] += @_p[i * $_INPUTS + j] * "
                                  "(int32_t)@_input(x[j], j);\n"
                                  "    }\n"
                                : "    int32_t y[$_RANK];\n"
                                  "    int16_t z[$_RANK];\n"
                                  "    uint32_t j;\n"
                                  "    @_project(x, z);\n"
                                  "    for (j = 0U; j < $_INPUTS; j++) y[j] = @_bias[j] + @_input(x[j], j);\n");
}

/* ---- floats --------------------------------------------------------------------------------- */

#define EPS     1.1920928955078125e-7 /* of a float */
#define LEAST   "1.17549435e-38f"
#define LEAST_2 "2.3509887e-38f"
#define MOST    "3.40282347e+38f"
#define SIZE_0  "3.94430453e-31f" /* 4 LEAST / EPS */

/* What both kernels take: leads, and S. */
static void put_lead(header *h, const rfm_model *m) {
    put(h, "\n/* ---- certificates ---- */\n"
           "\n$_CODE float @_absolute(float x) { return x < 0.0f ? -x : x; }\n"
           "\n/* Of a row of alpha, of scores or the offset: what the class has more than k; *size: their absolute "
           "values. */\n"
           "$_CODE float @_lead(const float *row, uint32_t at, uint32_t k, float *size) {\n");
    if (m->c == 1)
        put(h, "    float own = at == 1U ? row[0] : -row[0];\n"
               "    (void)k;\n"
               "    *size = @_absolute(own);\n"
               "    return own;\n"
               "}\n");
    else
        put(h, "    *size = @_absolute(row[at]) + @_absolute(row[k]);\n"
               "    return row[at] - row[k];\n"
               "}\n");
    put(h, "\n/* The same of the offset; what underflows counts for a size of its own. */\n"
           "$_CODE float @_lead_offset(uint32_t at, uint32_t k, float *size) {\n");
    if (m->offset != NULL)
        put(h, "    float first = @_lead(@_offset, at, k, size);\n"
               "    *size += " SIZE_0 ";\n"
               "    return first;\n}\n");
    else
        put(h, "    (void)at;\n"
               "    (void)k;\n"
               "    *size = " SIZE_0 ";\n"
               "    return 0.0f;\n}\n");
    put(h, "\n/* What rounding can do to distances: by the length of |P| |x - shift|. */\n"
           "$_CODE float @_seen(const float *x) {\n"
           "    float squares = 0.0f;\n"
           "    uint32_t i;\n"
           "    for (i = 0U; i < $_RANK; i++) {\n");
    if (m->metric == RFM_FULL)
        put(h, "        float sum = 0.0f;\n"
               "        uint32_t j;\n"
               "        for (j = 0U; j < $_INPUTS; j++) sum += @_absolute(@_p[i * $_INPUTS + j] * (x[j] - "
               "@_shift[j]));\n");
    else
        put(h, "        float sum = %s(x[i] - @_shift[i]);\n", m->metric == RFM_DIAGONAL ? "@_p[i] * " : "");
    put(h,
        "        squares += sum * sum;\n"
        "    }\n"
        "    return %.9gf * @_sqrt(squares) + %.9gf;\n"
        "}\n",
        4 * (double)(m->d + 4) * EPS, 8 * (double)sqrtf((float)m->r * 1.17549435e-38f));
}

static void put_laplace(header *h, const rfm_model *m) {
    const double grain = (double)(m->r + 8) * EPS, added = (double)(m->n + 8) * EPS;
    put(h,
        "\n/* log(1 + q), rounded down. */\n"
        "$_CODE float @_log(float q) {\n"
        "    float halved = 0.0f, sum = 0.0f, t, t2;\n"
        "    int32_t i;\n"
        "    while (q >= 1.0f) {\n"
        "        q = (q - 1.0f) / 2.0f;\n"
        "        halved += 1.0f;\n"
        "    }\n"
        "    t = q / (2.0f + q);\n"
        "    t2 = t * t;\n"
        "    for (i = 8; i >= 0; i--) sum = sum * t2 + 1.0f / (float)(2 * i + 1);\n"
        "    sum = 2.0f * t * sum + halved * 0.693147181f;\n"
        "    return sum - %.9gf * sum;\n"
        "}\n",
        32 * EPS);
    put(h,
        "\n/* h of exp(rho) = 1 + h, up to which a class that leads by `lead` still leads; 0: none. */\n"
        "$_CODE float @_rise(float lead, float o, float both, float grown, float v) {\n"
        "    float error = %.9gf + 2.0f * grown / v, d = lead / v - error, rise = 0.0f;\n"
        "    if (d > 0.0f) {\n"
        "        float q, b, root;\n"
        "        o /= v;\n"
        "        q = 0.5f * (both / v - (lead / v - o)) + error;\n"
        "        b = 2.0f * q - o;\n"
        "        root = @_sqrt(b * b + 4.0f * q * d);\n"
        "        rise = b > 0.0f ? 2.0f * d / (b + root) : (root - b) / (2.0f * q);\n"
        "        rise -= %.9gf * rise;\n"
        "    }\n"
        "    return rise > 0.0f ? rise : 0.0f;\n"
        "}\n",
        8 * added, 16 * EPS);
    put(h,
        "\n$_CODE float @_radius(const float *z, const float *scores, uint32_t at, float seen) {\n"
        "    float both[$_OUTPUTS], grown[$_OUTPUTS], v[$_OUTPUTS], least = " MOST ", size;\n"
        "    uint32_t i, k;\n"
        "    for (k = 0U; k < $_OUTPUTS; k++) {\n"
        "        both[k] = 0.0f;\n"
        "        grown[k] = 0.0f;\n"
        "        v[k] = 0.0f;\n"
        "    }\n"
        "    for (i = 0U; i < $_CENTERS; i++) {\n"
        "        float s = @_sqrt(@_distance(z, &@_centers[i * $_RANK])), phi = @_exp(-s);\n"
        "        if (!(phi > " LEAST_2 ")) {\n"
        "            phi = " LEAST_2 ";\n"
        "            s = 0.25f / %.9gf;\n"
        "        }\n"
        "        for (k = 0U; k < $_OUTPUTS; k++) {\n"
        "            float a = @_absolute(@_lead(&@_alpha[i * $_OUTPUTS], at, k, &size)), term = a * phi;\n"
        "            both[k] += term;\n"
        "            grown[k] += %.9gf * s * term + a * " LEAST_2 ";\n"
        "            v[k] += size * phi;\n"
        "        }\n"
        "    }\n",
        grain, 4 * grain);
    put(h,
        "    for (k = 0U; k < $_OUTPUTS; k++) {\n"
        "%s"
        "            float o = @_lead_offset(at, k, &size), all = v[k] + size;\n"
        "            float rise = @_rise(@_lead(scores, at, k, &size), o, both[k], grown[k], all);\n"
        "            least = rise < least ? rise : least;\n"
        "%s"
        "    }\n"
        "    return (least > 0.0f && least < " MOST ") ? (@_log(least) - %.9gf) - seen : 0.0f;\n"
        "}\n",
        m->c == 1 ? "        {\n" : "        if (k != at) {\n", "        }\n", 32 * EPS);
}

static void put_gaussian(header *h, const rfm_model *m) {
    const double blur = (double)(m->d + 4) * EPS, grain = (double)(m->r + 8) * EPS, added = (double)(m->n + 8) * EPS;
    put(h,
        "\n/* Does the class stay where |z' - z| <= rho? */\n"
        "$_CODE uint32_t @_holds(const float *z, uint32_t at, float seen, float rho) {\n"
        "    float low[$_OUTPUTS], v[$_OUTPUTS], reach = rho + %.9gf * rho + seen, size;\n"
        "    uint32_t i, k, held = 1U;\n"
        "    for (k = 0U; k < $_OUTPUTS; k++) low[k] = @_lead_offset(at, k, &v[k]);\n"
        "    for (i = 0U; i < $_CENTERS; i++) {\n"
        "        float s = @_sqrt(@_distance(z, &@_centers[i * $_RANK])), least, most;\n"
        "        float inner = s - %.9gf * s - reach, outer = (s + reach) * %.9gf;\n"
        "        inner = inner > 0.0f ? inner : 0.0f;\n"
        "        most = @_exp(-0.5f * inner * inner);\n"
        "        least = @_exp(-0.5f * outer * outer);\n"
        "        most += %.9gf * most + " LEAST_2 ";\n"
        "        least = least > " LEAST_2 " ? least - %.9gf * least : 0.0f;\n",
        16 * blur, 4 * grain, (double)(1.0f + (float)(4 * grain)), 16 * EPS, 16 * EPS);
    put(h,
        "        for (k = 0U; k < $_OUTPUTS; k++) {\n"
        "            float lead = @_lead(&@_alpha[i * $_OUTPUTS], at, k, &size);\n"
        "            low[k] += lead * (lead > 0.0f ? least : most);\n"
        "            v[k] += size * most;\n"
        "        }\n"
        "    }\n"
        "    for (k = 0U; k < $_OUTPUTS; k++)\n"
        "        if (%s!(low[k] > %.9gf * v[k])) held = 0U;\n"
        "    return held;\n"
        "}\n",
        m->c == 1 ? "" : "k != at && ", 4 * added);
    put(h, "\n/* Ten binary digits of the largest rho between 2^-12 and 16 that holds; 0: none. */\n"
           "$_CODE float @_radius(const float *z, uint32_t at, float seen) {\n"
           "    static const float factors[4] = {256.0f, 16.0f, 4.0f, 2.0f};\n"
           "    float rho = 0.0f, part;\n"
           "    uint32_t i;\n"
           "    if (@_holds(z, at, seen, 1.0f / 4096.0f) != 0U) {\n"
           "        rho = 1.0f / 4096.0f;\n"
           "        for (i = 0U; i < 4U; i++)\n"
           "            if (@_holds(z, at, seen, rho * factors[i]) != 0U) rho *= factors[i];\n"
           "        part = rho / 2.0f;\n"
           "        for (i = 0U; i < 10U; i++) {\n"
           "            if (@_holds(z, at, seen, rho + part) != 0U) rho += part;\n"
           "            part /= 2.0f;\n"
           "        }\n"
           "    }\n"
           "    return rho;\n"
           "}\n");
}

/* radius / sqrt(M_jj), rounded down. */
static void put_moves(header *h, const rfm_model *m) {
    put(h, "\n#define $_FREE " MOST " /* of moves: any value */\n\n"
           "/* x[j] alone may move by moves[j], up or down; several by shares of theirs that add up to 1. */\n"
           "$_CODE void @_moves(float radius, float moves[$_INPUTS]) {\n"
           "    uint32_t j;\n"
           "    for (j = 0U; j < $_INPUTS; j++) {\n");
    if (m->metric == RFM_FULL)
        put(h, "        float most = 0.0f, squares = 0.0f, move;\n"
               "        uint32_t i;\n"
               "        for (i = 0U; i < $_RANK; i++) {\n"
               "            float a = @_absolute(@_p[i * $_INPUTS + j]);\n"
               "            most = most > a ? most : a;\n"
               "        }\n"
               "        for (i = 0U; i < $_RANK && most > 0.0f; i++) {\n"
               "            float part = @_p[i * $_INPUTS + j] / most;\n"
               "            squares += part * part;\n"
               "        }\n");
    else
        put(h, "        float most = %s, squares = 1.0f, move;\n",
            m->metric == RFM_DIAGONAL ? "@_absolute(@_p[j])" : "1.0f");
    put(h,
        "        moves[j] = $_FREE;\n"
        "        if (most > 0.0f) {\n"
        "            move = radius / @_sqrt(squares);\n"
        "            move -= %.9gf * move;\n"
        "            if (!(most < 1.0f) || move < $_FREE * most) moves[j] = move / most;\n"
        "        }\n"
        "    }\n"
        "}\n",
        (double)(m->r + 8) * EPS);
}

void put_certify_floats(header *h, const rfm_model *m, const char *file) {
    const double blur = (double)(m->d + 4) * EPS, grain = (double)(m->r + 8) * EPS;
    if (!(blur < 0.01 && grain * 90 < 0.1)) fail("%s: too many inputs for certificates in floats", file);
    put_lead(h, m);
    if (m->kernel == RFM_LAPLACE)
        put_laplace(h, m);
    else
        put_gaussian(h, m);
    put(h,
        "\n/* The class; every x' with |P (x' - x)| <= *radius has it too. 0: too close to call. Rounding is part of "
        "it. "
        "*/\n"
        "$_CODE uint32_t @_certify(const float x[$_INPUTS], float *radius) {\n"
        "    float z[$_RANK], scores[$_OUTPUTS], seen = @_seen(x), found = 0.0f;\n"
        "    uint32_t at;\n"
        "    (void)@_scores(x, scores);\n"
        "    at = @_class(scores);\n"
        "    @_project(x, z);\n"
        "    if (seen <= " MOST ") found = @_radius(z, %sat, seen);\n"
        "    found -= %.9gf * found;\n"
        "    *radius = (found > " LEAST " && found <= " MOST ") ? found : 0.0f;\n"
        "    return at;\n"
        "}\n",
        m->kernel == RFM_LAPLACE ? "scores, " : "", 16 * blur + grain + 8 * EPS);
    put_moves(h, m);
}
