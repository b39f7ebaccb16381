/* Prediction in integers, in firmware: each model of models_i.h from its arrays and, opened where it lies, from its
 * blob, with every loop that this target has. Scores, notes and classes of INPUTS_I inputs must be, bit for bit, those
 * of the reference in make_models_i.c. The exit status is the number of models that failed. A big-endian machine must
 * refuse the blobs. */
#include <stddef.h>
#include <stdint.h>

#include "rfm_port.h"
#include "rfm_small.h"

#include "inputs_i.h"
#include "models_i.h"

#ifdef BOARD_BARE
#include "startup.h"
#define print board_print
#else
#include <stdio.h>
static void print(const char *text) { fputs(text, stdout); }
#endif

#define MOST_INPUTS  66
#define MOST_OUTPUTS 10
#define GUARD        12345

int main(void);

static uint32_t crc_of(uint32_t crc, uint32_t value, size_t bytes) {
    unsigned char at[4];
    at[0] = (unsigned char)value, at[1] = (unsigned char)(value >> 8), at[2] = (unsigned char)(value >> 16),
    at[3] = (unsigned char)(value >> 24);
    return rfm_crc32(crc, at, bytes);
}

/* NULL, or what is wrong. */
static const char *check(const rfm_model_i *model, rfm_loop_i loop, uint32_t expected) {
    static int16_t x[MOST_INPUTS], scratch[2 * MOST_INPUTS + 1];
    static int32_t scores[MOST_OUTPUTS + 1];
    uint32_t crc = 0, stream = 1;
    size_t row, j, k, used = RFM_PREDICT_I_SCRATCH(model->d, model->r);
    rfm_notes_i notes = {0, 0};
    for (row = 0; row < INPUTS_I; row++) {
        for (j = 0; j < model->d; j++) x[j] = next_input(&stream, model->inputs[j].low, model->inputs[j].high);
        scores[model->c] = GUARD, scratch[used] = GUARD;
        if (rfm_predict_i(model, x, scores, scratch, loop, &notes) != RFM_OK) return "prediction failed";
        if (scores[model->c] != GUARD || scratch[used] != GUARD) return "written beyond the end";
        for (k = 0; k < model->c; k++) crc = crc_of(crc, (uint32_t)scores[k], 4);
        crc = crc_of(crc, notes.nearest, 2);
        crc = crc_of(crc, notes.saturated, 4);
        crc = crc_of(crc, (uint32_t)rfm_class_i(model, scores), 2);
    }
    return crc == expected ? NULL : "other results than the reference";
}

int main(void) {
    static const struct {
        const char *name;
        rfm_loop_i loop;
    } loops[] = {
        {"portable", NULL},
#if RFM_LOOP_HAVE_DSP
        {"dsp", rfm_loop_i_dsp},
#endif
#if RFM_LOOP_HAVE_HELIUM_I
        {"helium", rfm_loop_i_helium},
#endif
    };
    const uint16_t one = 1;
    int failed = 0, little = *(const unsigned char *)&one;
    size_t i, l;
    for (i = 0; i < sizeof examples_i / sizeof examples_i[0]; i++) {
        const example_i *e = &examples_i[i];
        const char *wrong = check(&e->model, NULL, e->crc);
        rfm_model_i model;
        int status = rfm_model_open_i(e->blob, e->bytes, &model);
        print(e->name);
        print(": ");
        print(wrong != NULL ? wrong : "arrays right");
        if (status != (little ? RFM_OK : RFM_ETYPE)) {
            wrong = rfm_status_text(status);
            print("; the blob: ");
            print(wrong);
        }
        for (l = 0; status == RFM_OK && l < sizeof loops / sizeof loops[0]; l++) {
            const char *text = check(&model, loops[l].loop, e->crc);
            print("; ");
            print(loops[l].name);
            print(text == NULL ? " right" : " FAILED, ");
            if (text != NULL) wrong = text, print(text);
        }
        print("\n");
        failed += wrong != NULL;
    }
    return failed;
}
