/* Models of integers (rfm_small.h) as code: rfm_predict_i with sizes that the compiler knows. */
#include "standalone.h"

#include <stdlib.h>

static long number(const rfm_model_i *m, const void *at, size_t i) {
    return m->type == RFM_I8 ? ((const int8_t *)at)[i] : ((const int16_t *)at)[i];
}

static void put_numbers(header *h, const rfm_model_i *m, const char *name, const void *at, size_t count) {
    size_t i;
    array_begin(h, m->type == RFM_I8 ? "int8_t" : "int16_t", name, count);
    for (i = 0; i < count; i++) array_integer(h, number(m, at, i));
    array_end(h);
}

static void put_arrays(header *h, const rfm_model_i *m) {
    size_t i;
    put(h, "\n/* An input between low and high becomes u = (x - low) gain >> shift. */\n");
    array_begin(h, "int16_t", "low", m->d);
    for (i = 0; i < m->d; i++) array_integer(h, m->inputs[i].low);
    array_end(h);
    array_begin(h, "int16_t", "high", m->d);
    for (i = 0; i < m->d; i++) array_integer(h, m->inputs[i].high);
    array_end(h);
    array_begin(h, "uint16_t", "gain", m->d);
    for (i = 0; i < m->d; i++) array_integer(h, m->inputs[i].gain);
    array_end(h);
    array_begin(h, "uint8_t", "shift", m->d);
    for (i = 0; i < m->d; i++) array_integer(h, m->inputs[i].shift);
    array_end(h);
    if (m->p != NULL) {
        put_numbers(h, m, "p", m->p, m->r * m->d);
        array_begin(h, "uint8_t", "shifts", m->r);
        for (i = 0; i < m->r; i++) array_integer(h, m->shifts[i]);
        array_end(h);
    }
    array_begin(h, "int32_t", "bias", m->r);
    for (i = 0; i < m->r; i++) array_integer(h, m->bias[i]);
    array_end(h);
    put_numbers(h, m, "centers", m->centers, m->n * m->r);
    put_numbers(h, m, "alpha", m->alpha, m->n * m->c);
    array_begin(h, "uint16_t", "table", m->nodes);
    for (i = 0; i < m->nodes; i++) array_integer(h, m->phi[i]);
    array_end(h);
    array_begin(h, "int32_t", "offset", m->c);
    for (i = 0; i < m->c; i++) array_integer(h, m->offset[i]);
    array_end(h);
    if (m->task == RFM_CLASSIFY) return;
    array_begin(h, "float", "units", m->c);
    for (i = 0; i < m->c; i++) array_float(h, m->units[i]);
    array_end(h);
}

static void put_inputs(header *h) {
    put(h, "\n/* u of one input. */\n"
           "$_CODE int16_t @_input(int32_t v, uint32_t j) {\n"
           "    v = v < @_low[j] ? @_low[j] : v;\n"
           "    v = v > @_high[j] ? @_high[j] : v;\n"
           "    return (int16_t)(((uint32_t)(v - @_low[j]) * @_gain[j]) >> @_shift[j]);\n"
           "}\n");
    put(h, "\n/* How many inputs are outside of what the model was calibrated for; they are taken as its end. */\n"
           "$_CODE uint32_t @_saturated(const int16_t x[$_INPUTS]) {\n"
           "    uint32_t j = 0U, count = 0U;\n"
           "    do {\n"
           "        if (x[j] < @_low[j]) count++;\n"
           "        if (x[j] > @_high[j]) count++;\n"
           "        j++;\n"
           "    } while (j < $_INPUTS);\n"
           "    return count;\n"
           "}\n");
}

static void put_project(header *h, const rfm_model_i *m) {
    put(h, "\n$_CODE int16_t @_z(int32_t s, uint32_t i) {\n%s",
        m->p != NULL ? "    s >>= @_shifts[i];\n" : "    (void)i;\n");
    put(h,
        "    s = s > %ld ? %ld : s;\n"
        "    return (int16_t)(s < -%ld ? -%ld : s);\n"
        "}\n",
        (long)m->limit, (long)m->limit, (long)m->limit, (long)m->limit);
    put(h, "\n$_APART void @_project(const int16_t *x, int16_t *z) {\n    uint32_t i;\n");
    if (m->p != NULL)
        put(h, "    int16_t u[$_INPUTS];\n"
               "    for (i = 0U; i < $_INPUTS; i++) u[i] = @_input(x[i], i);\n");
    put(h, "    for (i = 0U; i < $_RANK; i++) {\n");
    if (m->p != NULL)
        put(h,
            "        const %s *p = &@_p[i * $_INPUTS];\n"
            "        int32_t s = @_bias[i], j = $_INPUTS - 1;\n"
            "        do {\n"
            "            s += p[j] * (int32_t)u[j];\n"
            "            j--;\n"
            "        } while (j >= 0);\n",
            m->type == RFM_I8 ? "int8_t" : "int16_t");
    else
        put(h, "        int32_t s = @_bias[i] + @_input(x[i], i);\n");
    put(h, "        z[i] = @_z(s, i);\n"
           "    }\n"
           "}\n");
}

/* phi of the table: nodes at t + 8 = 2^e (1 + k / 8), e = 3, 4, ..., k < 8; linear between them. */
static void put_phi(header *h, const rfm_model_i *m) {
    const char *type = m->type == RFM_I8 ? "int8_t" : "int16_t";
    put(h,
        "\n#define $_ONE %dU /* phi at a centre */\n\n"
        "/* %s */\n"
        "$_CODE uint32_t @_distance(const int16_t *z, const %s *center) {\n"
        "    uint32_t t = 0U;\n"
        "    int32_t j = $_RANK - 1;\n"
        "    do {\n"
        "        int32_t a = (int32_t)center[j] - z[j];\n"
        "        t += %s;\n"
        "        j--;\n"
        "    } while (j >= 0);\n"
        "    return t;\n"
        "}\n\n"
        "/* phi at that distance, by the table: its nodes are at t + 8 = 2^e (1 + k / 8), e = 3, 4, ..., k < 8. "
        "*/\n"
        "$_CODE int32_t @_phi_at(uint32_t t) {\n"
        "    uint32_t i = 224U;\n"
        "    int32_t phi = 0;\n"
        "    t += 8U;\n"
        "    while ((t & 0xff000000U) == 0U) {\n"
        "        t <<= 8;\n"
        "        i -= 64U;\n"
        "    }\n"
        "    while ((t & 0x80000000U) == 0U) {\n"
        "        t <<= 1;\n"
        "        i -= 8U;\n"
        "    }\n"
        "    t <<= 1;\n"
        "    i += t >> 29;\n"
        "    if (i + 1U < %zuU) {\n"
        "        phi = (int32_t)@_table[i + 1U] - @_table[i];\n"
        "        phi = @_table[i] + ((phi * (int32_t)((t << 3) >> 16)) >> 16);\n"
        "    }\n"
        "    return phi;\n"
        "}\n",
        RFM_PHI_ONE, m->absolute ? "The sum of |z - center|." : "|z - center|^2", type,
        m->absolute ? "(uint32_t)(a < 0 ? -a : a)" : "(uint32_t)(a * a)", m->nodes);
    put(h,
        "\n$_APART int32_t @_phi(const int16_t *z, const %s *center) {\n"
        "    return @_phi_at(@_distance(z, center));\n"
        "}\n",
        type);
}

static void put_scores(header *h, const rfm_model_i *m) {
    const char *type = m->type == RFM_I8 ? "int8_t" : "int16_t";
    put(h,
        "\n/* All scores; returns the largest phi. */\n"
        "$_CODE uint32_t @_scores(const int16_t x[$_INPUTS], int32_t scores[$_OUTPUTS]) {\n"
        "    const %s *center = @_centers, *alpha = @_alpha;\n"
        "    int16_t z[$_RANK];\n"
        "    int32_t nearest = 0;\n"
        "    uint32_t k, left = $_CENTERS;\n"
        "    for (k = 0U; k < $_OUTPUTS; k++) scores[k] = @_offset[k];\n"
        "    @_project(x, z);\n"
        "    do {\n"
        "        int32_t phi = @_phi(z, center);\n"
        "        if (phi > nearest) nearest = phi;\n"
        "        for (k = 0U; k < $_OUTPUTS; k++) scores[k] += %s;\n"
        "        center = &center[$_RANK];\n"
        "        alpha = &alpha[$_OUTPUTS];\n"
        "        left--;\n"
        "    } while (left != 0U);\n"
        "    return (uint32_t)nearest;\n"
        "}\n",
        type, m->type == RFM_I8 ? "alpha[k] * phi" : "(alpha[k] * phi) >> 8");
}

void put_integers(header *h, const rfm_model_i *m) {
    int *exponents = allocate(m->d, sizeof *exponents, "the exponents");
    size_t j;
    put_arrays(h, m);
    put_inputs(h);
    put_project(h, m);
    put_phi(h, m);
    put_scores(h, m);
    if (m->task == RFM_CLASSIFY)
        put_classify(h, m->c, "int16_t", "int32_t", "0");
    else
        put_predict(h);
    for (j = 0; j < m->d; j++) exponents[j] = m->inputs[j].exponent;
    put_from_floats(h, m->d, m->task, exponents,
                    "        n = (int32_t)v;\n"
                    "        v -= (float)n;\n"
                    "        n += v >= 0.5f ? 1 : 0;\n"
                    "        n -= v < -0.5f ? 1 : 0;\n");
    free(exponents);
}
