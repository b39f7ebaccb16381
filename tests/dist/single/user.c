/* A user of rfm-single.h, as C and as C++, with names of his own that the sources have, too. With ALONE this file has
 * the implementation; else another one has it. */
#ifdef ALONE
#define RFM_IMPLEMENTATION
#endif
#include "rfm-single.h"
#include "rfm-single.h" /* twice is once */

#include <string.h>

#define R(x)    x[0]
#define PI      3
#define COVERED 1
typedef struct {
    int progress;
} span;
static int dot(int a, int b) { return a * b; }
static int multiply(const span *s) { return s->progress; }

RFM_ALIGNED static unsigned char memory[16384];

int main(void) {
    static const rfm_real x[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, y[4] = {-1, 1, 1, -1};
    rfm_arena arena;
    rfm_ctx ctx;
    rfm_data data;
    rfm_options options;
    rfm_online_options online;
    rfm_model model;
    rfm_real out[4];
    span s;
    int i;
    s.progress = dot(PI, COVERED);
    if (multiply(&s) != 3) return 6;
    memset(&ctx, 0, sizeof ctx), memset(&data, 0, sizeof data);
    rfm_options_init(&options);
    rfm_online_options_init(&online);
    options.iterations = 2;
    data.x = rfm_cview(&x[0][0], 4, 2);
    data.y = rfm_cview(y, 4, 1);
    ctx.arena = &arena;
#ifdef RFM_FAST
    ctx.port = rfm_port_auto();
#endif
    if (rfm_arena_init(&arena, memory, sizeof memory) != RFM_OK) return 1;
    if (rfm_fit(&ctx, &data, &options, &arena, &model, NULL) != RFM_OK) return 2;
    if (rfm_predict(&ctx, &model, data.x, rfm_view(out, 4, 1)) != RFM_OK) return 3;
    for (i = 0; i < 4; i++)
        if (out[i] * y[i] < (rfm_real)0.9) return 4;
    return 0;
}
