/* What rfm_small says to a NaN and to an infinity where the compiler may assume that there are none. Prints what is
 * wrong. */
#include <stdio.h>
#include <string.h>

#include "rfm_small.h"

enum { N = 4, D = 2, C = 1 };

static rfm_real not_a_number(uint32_t bits) { /* the compiler must not know it */
    float x;
    memcpy(&x, &bits, sizeof x);
    return (rfm_real)x;
}

static int wrong;
static void check(const char *what, int expect, int status) {
    if (status == expect) return;
    printf("%s: %d in place of %d\n", what, status, expect);
    wrong = 1;
}

/* Every call with its number changed at `value`. */
static void refuse(const rfm_ctx *ctx, const rfm_model *model, const rfm_data *data, rfm_real *value, rfm_real bad,
                   int is_y) {
    const rfm_real good = *value;
    rfm_centers_options how;
    rfm_model small;
    rfm_model_i small_i;
    rfm_real loss;
    memset(&how, 0, sizeof how);
    how.centers = 2, how.ridge = (rfm_real)0.1;
    *value = bad;
    if (!is_y) check("rank", RFM_EFINITE, rfm_small_rank(ctx, model, data, 1, ctx->arena, &small, NULL));
    check("centers", RFM_EFINITE, rfm_small_centers(ctx, model, data, &how, ctx->arena, &small));
    check("integers", RFM_EFINITE, rfm_small_integers(ctx, model, data, RFM_I16, how.ridge, ctx->arena, &small_i));
    check("loss", RFM_EFINITE, rfm_small_loss(ctx, model, data, how.ridge, &loss, NULL));
    *value = good;
}

int main(void) {
    static const uint32_t kinds[] = {0x7fc00000u, 0x7f800000u, 0xff800000u, 0x7f800001u};
    RFM_ALIGNED static unsigned char memory[1 << 16];
    rfm_real x[N * D] = {0, 1, 2, 3, 5, 4, 7, 9}, y[N * C] = {1, 2, 0, 3}, weights[N] = {1, 2, 1, 1}, scale[D] = {1, 2};
    rfm_real shift[D] = {1, 2}, p[D * D] = {1, 0, 0, 2}, alpha[N * C] = {1, -1, 2, 0}, centers[N * D], offset[C] = {0};
    rfm_real importance[D];
    rfm_arena arena;
    rfm_ctx ctx;
    rfm_model m;
    rfm_model_i made;
    rfm_data data;
    int16_t xi[D];
    size_t i, j;

    for (i = 0; i < N; i++)
        for (j = 0; j < D; j++) centers[i * D + j] = p[j * D + j] * (x[i * D + j] - shift[j]);
    memset(&ctx, 0, sizeof ctx), memset(&m, 0, sizeof m), memset(&data, 0, sizeof data);
    check("arena", RFM_OK, rfm_arena_init(&arena, memory, sizeof memory));
    ctx.arena = &arena;
    m.n = N, m.d = m.r = D, m.c = C, m.metric = RFM_FULL, m.bandwidth = 3;
    m.shift = shift, m.p = p, m.centers = centers, m.alpha = alpha, m.offset = offset;
    data.x = rfm_cview(x, N, D), data.y = rfm_cview(y, N, C), data.weights = weights;
    check("integers", RFM_OK, rfm_small_integers(&ctx, &m, &data, RFM_I16, (rfm_real)0.1, &arena, &made));
    check("inputs", RFM_OK, rfm_input_integers(&made, x, xi));
    check("importance", RFM_OK, rfm_small_importance(&m, scale, importance));
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const rfm_real bad = not_a_number(kinds[i]), good = x[1];
        x[1] = bad;
        check("inputs", RFM_EFINITE, rfm_input_integers(&made, x, xi));
        x[1] = good;
        scale[1] = bad;
        check("importance", RFM_EFINITE, rfm_small_importance(&m, scale, importance));
        scale[1] = 2;
        refuse(&ctx, &m, &data, &x[3], bad, 0);
        refuse(&ctx, &m, &data, &y[2], bad, 1);
        refuse(&ctx, &m, &data, &weights[1], bad, 0);
        refuse(&ctx, &m, &data, &p[3], bad, 0);
        refuse(&ctx, &m, &data, &centers[0], bad, 0);
        refuse(&ctx, &m, &data, &alpha[3], bad, 0);
        refuse(&ctx, &m, &data, &offset[0], bad, 0);
    }
    return wrong;
}
