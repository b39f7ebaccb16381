/* The programs that boards/size measures, by MEASURE_...: an empty one, one that predicts, one that trains, and one
 * that runs and says how much stack it took, while the plug-in counts its instructions; with MEASURE_integers those
 * that predict and run do it in integers, with MEASURE_l1 by models of that kernel. LOOP is the loop that
 * rfm_predict_one or rfm_predict_i is given. */
#include <stddef.h>
#include <stdint.h>

#include "rfm_port.h"
#include "rfm_small.h"

#if defined MEASURE_dsp
#define LOOP rfm_loop_i_dsp
#elif defined MEASURE_helium && defined MEASURE_integers
#define LOOP rfm_loop_i_helium
#elif defined MEASURE_m4f
#define LOOP rfm_loop_m4f
#elif defined MEASURE_helium
#define LOOP rfm_loop_helium
#else
#define LOOP NULL
#endif

int main(void);

#if defined MEASURE_empty

int main(void) { return 0; }

#elif defined MEASURE_predict && defined MEASURE_integers

/* Only linked, never run: the addresses mean nothing. */
int main(void) {
    rfm_model_i model;
    int16_t *numbers = (int16_t *)1024;
    int32_t *scores = (int32_t *)1024;
    int status = rfm_model_open_i(scores, 1024, &model);
    if (status == RFM_OK) status = rfm_predict_i(&model, numbers, scores, numbers, LOOP, NULL);
    return status == RFM_OK ? (int)rfm_class_i(&model, scores) : status;
}

#elif defined MEASURE_predict

/* Only linked, never run. What the compiler cannot know it cannot leave out. */
int main(void) {
    const void *volatile blob = NULL;
    volatile size_t size = 0;
    float volatile *volatile numbers = NULL;
    float *at = (float *)numbers;
    rfm_model model;
    int status = rfm_model_open(blob, size, &model);
    if (status == RFM_OK) status = rfm_predict_one(&model, at, at, at, LOOP, at);
    return status == RFM_OK ? (int)rfm_class(&model, at, at) : status;
}

#elif defined MEASURE_train

int main(void) {
    void *volatile memory = NULL;
    volatile size_t size = 0;
    rfm_arena arena;
    rfm_ctx ctx = {0};
    rfm_data data = {0};
    rfm_options options;
    rfm_model model;
    int status = rfm_arena_init(&arena, memory, size);
    ctx.arena = &arena;
    rfm_options_init(&options);
    data.x = data.y = rfm_cview((rfm_real *)memory, size, size);
    if (status == RFM_OK) status = rfm_fit(&ctx, &data, &options, &arena, &model, NULL);
    if (status == RFM_OK) status = rfm_predict(&ctx, &model, data.x, rfm_view((rfm_real *)memory, size, size));
    return status;
}

#else

#include "measure.h"
#ifdef MEASURE_integers
#include "models_i.h"
#else
#include "models.h"
#endif

#ifdef MEASURE_l1
#define MODELS_FROM 4
#else
#define MODELS_FROM 0
#endif

/* The calls are made from here alone: the counting ends when control comes back to main. */
#ifdef MEASURE_integers

int main(void) {
    volatile uint32_t *word, *top;
    int16_t x[16], scratch[RFM_PREDICT_I_SCRATCH(16, 16)];
    int32_t scores[4];
    rfm_model_i model;
    size_t i, j;
    int status;
    for (i = MODELS_FROM; i < MODELS_FROM + 4; i++) { /* rank 16 and 8 of 8 bits, of 16 bits */
        PAINT_STACK();
        status = rfm_model_open_i(examples_i[i].blob, examples_i[i].bytes, &model);
        PRINT_STACK("open_stack");
        if (status != RFM_OK) return 1;
        for (j = 0; j < 16; j++) x[j] = (int16_t)((model.inputs[j].low + model.inputs[j].high) >> 1);
        PAINT_STACK();
        status = rfm_predict_i(&model, x, scores, scratch, LOOP, NULL);
        PRINT_STACK("predict_stack");
        if (status != RFM_OK) return 2;
        print_number("model", examples_i[i].bytes);
    }
    return 0;
}

#else

int main(void) {
    static const example *const measured[] = {&examples[1], &examples[2]}; /* rank 16, rank 8 */
    volatile uint32_t *word, *top;
    float x[16], scores[4], scratch[RFM_PREDICT_SCRATCH(16, 16)];
    rfm_model model;
    size_t i, j;
    int status;
    for (i = 0; i < 2; i++) {
        for (j = 0; j < 16; j++) x[j] = measured[i]->x[j];
        PAINT_STACK();
        status = rfm_model_open(measured[i]->blob, measured[i]->bytes, &model);
        PRINT_STACK("open_stack");
        if (status != RFM_OK) return 1;
        PAINT_STACK();
        status = rfm_predict_one(&model, x, scores, scratch, LOOP, NULL);
        PRINT_STACK("predict_stack");
        if (status != RFM_OK) return 2;
        print_number("model", measured[i]->bytes);
    }
    return 0;
}

#endif

#endif
