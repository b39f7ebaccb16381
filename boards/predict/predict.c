/* Prediction in firmware: opens each model of models.h where it lies, predicts the recorded inputs and compares with
 * what the machine that made the models computed. The exit status is the number of models that failed.
 *
 * Portable code: bit for bit, on every processor, because the arithmetic is the same everywhere (compiled with
 * -ffp-contract=off, exp is the library's own). The loops of port/ fuse and reorder: within TOLERANCE times the largest
 * |score| that the model could give, |offset| + sum |alpha|; and novelty within TOLERANCE. A big-endian machine must
 * refuse. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "models.h"
#include "rfm_port.h"

#ifdef BOARD_BARE
#include "startup.h"
#define print board_print
#else
#include <stdio.h>
static void print(const char *text) { fputs(text, stdout); }
#endif

#define TOLERANCE    1e-6f
#define MOST_OUTPUTS 16
#define GUARD        12345.0f

int main(void);

static void print_number(size_t value) {
    char text[24], *at = text + sizeof text - 1;
    *at = 0;
    do *--at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    print(at);
}

static float distance(float a, float b) { return a > b ? a - b : b - a; }

static size_t largest(const float *y, size_t c) {
    size_t best = 0, i;
    for (i = 1; i < c; i++)
        if (y[i] > y[best]) best = i;
    return best;
}

/* 0, or what is wrong. `worst`, in 1e-9 of what the tolerance is a share of, grows. */
static const char *check(const example *e, const rfm_model *model, rfm_loop loop, size_t *worst) {
    static float x[64], scores[MOST_OUTPUTS + 1], scratch[129];
    size_t i, j, k, used = RFM_PREDICT_SCRATCH(e->d, e->r), class_of;
    float nearest = -1.0f;
    int status;
    for (i = 0; i < INPUTS; i++) {
        const float *y = e->y + i * e->c;
        float novelty = -1.0f, confidence = -1.0f, off;
        for (j = 0; j < e->d; j++) x[j] = e->x[i * e->d + j];
        scores[e->c] = scratch[used] = GUARD;
        if (rfm_predict_one(model, x, scores, scratch, loop, &novelty) != RFM_OK) return "prediction failed";
        if (scores[e->c] != GUARD || scratch[used] != GUARD) return "written beyond the end";
        if (loop == NULL || model->kernel == RFM_GENERAL) {
            if (memcmp(scores, y, e->c * sizeof *y) != 0) return "other scores than the host's";
            if (memcmp(&novelty, &e->novelty[i], sizeof novelty) != 0) return "another novelty than the host's";
        }
        for (k = 0; k < e->c; k++) {
            off = distance(scores[k], y[k]) / e->magnitude[k];
            if (!(off <= TOLERANCE)) return "scores beyond the tolerance";
            if ((size_t)(off * 1e9f) > *worst) *worst = (size_t)(off * 1e9f);
        }
        off = distance(novelty, e->novelty[i]);
        if (!(off <= TOLERANCE)) return "novelty beyond the tolerance";
        if ((size_t)(off * 1e9f) > *worst) *worst = (size_t)(off * 1e9f);
        class_of = rfm_class(model, scores, &confidence);
        if (model->task == RFM_REGRESS ? class_of != 0
            : e->c > 1                 ? class_of != largest(scores, e->c)
                                       : class_of != (scores[0] > 0.0f))
            return "another class";
        if (!(confidence >= 0.0f && confidence <= 1.0f)) return "confidence";
    }
    /* So far away that distances, and perhaps z, are infinite. */
    for (j = 0; j < e->d; j++) x[j] = 3e38f;
    status = rfm_predict_one(model, x, scores, scratch, loop, &nearest);
    if ((status != RFM_OK && status != RFM_ERANGE) || nearest != 0.0f) return "infinity is not far";
    /* A NaN is refused, and nothing is written. */
    memset(&x[e->d - 1], 0xff, sizeof x[0]);
    scores[0] = GUARD;
    if (rfm_predict_one(model, x, scores, scratch, loop, NULL) != RFM_EFINITE || scores[0] != GUARD)
        return "a NaN went through";
    return NULL;
}

int main(void) {
    static const struct {
        const char *name;
        rfm_loop loop;
    } loops[] = {
        {"portable", NULL},
#if RFM_LOOP_HAVE_M4F
        {"m4f", rfm_loop_m4f},
#endif
#if RFM_LOOP_HAVE_HELIUM
        {"helium", rfm_loop_helium},
#endif
    };
    const uint16_t one = 1;
    int failed = 0;
    size_t i, l;
    for (i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const example *e = &examples[i];
        const char *wrong = NULL;
        rfm_model model;
        int status = rfm_model_open(e->blob, e->bytes, &model);
        print(e->name);
        print(":");
        if (*(const unsigned char *)&one == 0) {
            print(status == RFM_ETYPE ? " refused, as it must be on a big-endian machine" : " NOT REFUSED");
            failed += status != RFM_ETYPE;
        } else if (status != RFM_OK) {
            print(" does not open: ");
            print(rfm_status_text(status));
            failed++;
        } else {
            for (l = 0; l < sizeof loops / sizeof loops[0]; l++) {
                size_t worst = 0;
                const char *text = check(e, &model, loops[l].loop, &worst);
                print(" ");
                print(loops[l].name);
                print(" ");
                if (text != NULL)
                    wrong = text, print("FAILED, "), print(text);
                else if (worst == 0)
                    print("same bits");
                else
                    print("within "), print_number(worst), print("e-9");
                print(l + 1 < sizeof loops / sizeof loops[0] ? ";" : "");
            }
            failed += wrong != NULL;
        }
        print("\n");
    }
    return failed;
}
