/* Models of floats as code: rfm_predict_one with sizes that the compiler knows, and the small functions of rfm.c. */
#include "standalone.h"

static void put_numbers(header *h, const char *name, const rfm_real *at, size_t count) {
    size_t i;
    array_begin(h, "float", name, count);
    for (i = 0; i < count; i++) array_float(h, (float)at[i]);
    array_end(h);
}

static void put_exp(header *h) {
    put(h, "\ntypedef union {\n    float value;\n    uint32_t bits;\n} @_float;\n"
           "\n/* exp(x), x <= 0: 2^n exp(r), exp(r) as 1 + r + r^2 q(r). */\n"
           "$_APART float @_exp(float x) {\n"
           "    @_float y;\n"
           "    y.value = 0.0f;\n"
           "    if (x > -87.0f) {\n"
           "        int32_t n = (int32_t)(x * 1.442695041f - 0.5f);\n"
           "        float r = x - (float)n * 0.693359375f, q;\n"
           "        r = r + (float)n * 2.12194440e-4f;\n"
           "        q = 0.00831252f * r + 0.04189016f;\n"
           "        q = q * r + 0.16667115f;\n"
           "        q = q * r + 0.49999231f;\n"
           "        y.value = q * r * r + r + 1.0f;\n"
           "        y.bits += (uint32_t)n << 23;\n"
           "    }\n"
           "    return y.value;\n"
           "}\n");
}

/* Exactly rounded, by the processor where it can; numbers below the normal range count as 0. */
static void put_sqrt(header *h) {
    put(h, "\n/* The square root, exactly rounded. */\n"
           "#if defined __GNUC__ && defined __ARM_FP && !defined __aarch64__\n"
           "$_CODE float @_sqrt(float x) {\n"
           "    __asm__(\"vsqrt.f32 %%0, %%1\" : \"=t\"(x) : \"t\"(x));\n"
           "    return x;\n"
           "}\n"
           "#elif defined __GNUC__ && defined __riscv_flen\n"
           "$_CODE float @_sqrt(float x) {\n"
           "    __asm__(\"fsqrt.s %%0, %%1\" : \"=f\"(x) : \"f\"(x));\n"
           "    return x;\n"
           "}\n"
           "#else\n"
           "$_APART float @_sqrt(float x) {\n"
           "    @_float y;\n"
           "    uint32_t exponent, odd, rest, twice = 0U, root = 0U, bit = 0x1000000U;\n"
           "    y.value = x;\n"
           "    exponent = y.bits >> 23;\n"
           "    odd = (exponent & 1U) ^ 1U;\n"
           "    rest = ((y.bits & 0x7fffffU) | 0x800000U) << (odd + 1U);\n"
           "    if (exponent == 0U) {\n"
           "        y.value = 0.0f;\n"
           "    } else if (exponent < 255U) {\n"
           "        do {\n"
           "            if (twice + bit <= rest) {\n"
           "                rest -= twice + bit;\n"
           "                twice += 2U * bit;\n"
           "                root += bit;\n"
           "            }\n"
           "            rest <<= 1;\n"
           "            bit >>= 1;\n"
           "        } while (bit != 0U);\n"
           "        y.bits = ((root + 1U) >> 1) + ((((exponent + 127U - odd) >> 1) - 1U) << 23);\n"
           "    } else {\n"
           "        y.value = x;\n"
           "    }\n"
           "    return y.value;\n"
           "}\n"
           "#endif\n");
}

/* s^q by log and exp. */
static void put_power(header *h, float q) {
    put(h, "\nstatic const float @_exponent = %.9gf%s;\n", (double)q, "");
    put(h, "\n/* s^q, s > 0. log(2^n m), m in [1/sqrt 2, sqrt 2), is n log 2 + 2 artanh((m - 1) / (m + 1)). */\n"
           "$_APART float @_power(float s) {\n"
           "    @_float y;\n"
           "    uint32_t u;\n"
           "    int32_t n;\n"
           "    float t, t2, series, e;\n"
           "    y.value = s;\n"
           "    u = y.bits - 0x3f3504f3U;\n"
           "    y.bits = (u & 0x7fffffU) + 0x3f3504f3U;\n"
           "    n = (int32_t)(u >> 23);\n"
           "    n = n > 255 ? n - 512 : n;\n"
           "    t = (y.value - 1.0f) / (y.value + 1.0f);\n"
           "    t2 = t * t;\n"
           "    series = t2 * (0.33333333f + t2 * (0.2f + t2 * (0.14285714f + t2 * 0.11111111f)));\n"
           "    t = @_exponent * ((float)n * 0.69314718f + 2.0f * (t + t * series));\n"
           "    e = @_exp(t < 0.0f ? t : -t);\n"
           "    return t <= 0.0f ? e : 1.0f / e;\n"
           "}\n");
}

static void put_project(header *h, const rfm_model *m) {
    put(h, "\n/* z = P (x - shift) */\n$_APART void @_project(const float *x, float *z) {\n    uint32_t i;\n");
    if (m->metric != RFM_FULL) {
        put(h, "    for (i = 0U; i < $_INPUTS; i++) z[i] = %s(x[i] - @_shift[i]);\n}\n",
            m->p != NULL ? "@_p[i] * " : "");
        return;
    }
    put(h, "    for (i = 0U; i < $_RANK; i++) {\n"
           "        const float *p = &@_p[i * $_INPUTS];\n"
           "        float s = 0.0f;\n"
           "        uint32_t j;\n"
           "        for (j = 0U; j < $_INPUTS; j++) s += p[j] * (x[j] - @_shift[j]);\n"
           "        z[i] = s;\n"
           "    }\n"
           "}\n");
}

static void put_phi(header *h, const rfm_model *m, int certify) {
    int power = (m->kernel == RFM_GENERAL || m->kernel == RFM_L1) && m->exponent != (rfm_real)1;
    put_exp(h);
    if (m->kernel == RFM_LAPLACE || m->kernel == RFM_GENERAL || certify) put_sqrt(h);
    if (power) put_power(h, (float)m->exponent);
    put(h,
        "\n#define $_ONE 1.0f /* phi at a centre */\n\n"
        "/* %s */\n"
        "$_CODE float @_distance(const float *z, const float *center) {\n"
        "    float s = 0.0f;\n"
        "    uint32_t j;\n"
        "    for (j = 0U; j < $_RANK; j++) {\n"
        "        float a = center[j] - z[j];\n",
        m->kernel == RFM_L1 ? "The sum of |z - center|." : "|z - center|^2");
    put(h, m->kernel == RFM_L1 ? "        s += a < 0.0f ? -a : a;\n    }\n" : "        s += a * a;\n    }\n");
    put(h, "    return s;\n"
           "}\n"
           "\n$_CODE float @_phi(const float *z, const float *center) {\n"
           "    float s = @_distance(z, center);\n");
    if (m->kernel == RFM_LAPLACE || m->kernel == RFM_GENERAL) put(h, "    s = @_sqrt(s);\n");
    if (power) put(h, "    if (s > 0.0f) s = @_power(s);\n");
    put(h, m->kernel == RFM_GAUSSIAN ? "    return @_exp(-0.5f * s);\n}\n" : "    return @_exp(-s);\n}\n");
}

static void put_scores(header *h, const rfm_model *m) {
    put(h,
        "\n/* All scores; returns the largest phi. */\n"
        "$_CODE float @_scores(const float x[$_INPUTS], float scores[$_OUTPUTS]) {\n"
        "    const float *center = @_centers, *alpha = @_alpha;\n"
        "    float z[$_RANK], nearest = 0.0f;\n"
        "    uint32_t k, left = $_CENTERS;\n"
        "    for (k = 0U; k < $_OUTPUTS; k++) scores[k] = %s;\n"
        "    @_project(x, z);\n"
        "    do {\n"
        "        float phi = @_phi(z, center);\n"
        "        if (phi > nearest) nearest = phi;\n"
        "        for (k = 0U; k < $_OUTPUTS; k++) scores[k] += alpha[k] * phi;\n"
        "        center = &center[$_RANK];\n"
        "        alpha = &alpha[$_OUTPUTS];\n"
        "        left--;\n"
        "    } while (left != 0U);\n"
        "    return nearest;\n"
        "}\n",
        m->offset != NULL ? "@_offset[k]" : "0.0f");
}

void put_floats(header *h, const rfm_model *m, int certify) {
    put(h, "\n");
    put_numbers(h, "shift", m->shift, m->d);
    if (m->p != NULL) put_numbers(h, "p", m->p, (m->metric == RFM_FULL ? m->r : 1) * m->d);
    put_numbers(h, "centers", m->centers, m->n * m->r);
    put_numbers(h, "alpha", m->alpha, m->n * m->c);
    if (m->offset != NULL) put_numbers(h, "offset", m->offset, m->c);
    put_project(h, m);
    put_phi(h, m, certify);
    put_scores(h, m);
    if (m->task == RFM_CLASSIFY)
        put_classify(h, m->c, "float", "float", "0.0f");
    else
        put(h, "\n/* The predicted numbers. */\n"
               "$_CODE void @_predict(const float x[$_INPUTS], float y[$_OUTPUTS]) { (void)@_scores(x, y); }\n");
}
