/* A program of a CMake user; 0 if the library does what it should. LEVEL is predict, train or fast. */
#include "rfm.h"

#define LEVEL_predict 1
#define LEVEL_train   2
#define LEVEL_fast    3
#define LEVEL_OF(x)   LEVEL_##x
#define LEVEL_IS(x)   LEVEL_OF(x)

#if LEVEL_IS(LEVEL) == 3
#include "rfm_port.h"
#endif

#ifdef RFM_NO_TRAIN

#if LEVEL_IS(LEVEL) != 1
#error "RFM_NO_TRAIN is for rfm::predict alone"
#endif

int main(void) {
    RFM_ALIGNED static unsigned char nothing[64];
    rfm_model model;
    return rfm_model_open(nothing, sizeof nothing, &model) == RFM_EMAGIC ? 0 : 1;
}

#else

#if LEVEL_IS(LEVEL) == 1
#error "rfm::predict has to define RFM_NO_TRAIN"
#endif

RFM_ALIGNED static unsigned char memory[16384];

int main(void) {
    static const rfm_real x[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, y[4] = {-1, 1, 1, -1};
    rfm_arena arena;
    rfm_ctx ctx = {0};
    rfm_data data = {0};
    rfm_options options;
    rfm_model model;
    rfm_real out[4];
    int i;
    rfm_options_init(&options);
    options.iterations = 2;
    data.x = rfm_cview(&x[0][0], 4, 2);
    data.y = rfm_cview(y, 4, 1);
    ctx.arena = &arena;
#if LEVEL_IS(LEVEL) == 3
    ctx.port = rfm_port_auto();
    if (ctx.port == NULL) return 5;
#endif
    if (rfm_arena_init(&arena, memory, sizeof memory) != RFM_OK) return 1;
    if (rfm_fit(&ctx, &data, &options, &arena, &model, NULL) != RFM_OK) return 2;
    if (rfm_predict(&ctx, &model, data.x, rfm_view(out, 4, 1)) != RFM_OK) return 3;
    for (i = 0; i < 4; i++)
        if (out[i] * y[i] < (rfm_real)0.9) return 4;
    return 0;
}

#endif
