/* What firmware does with an exported model: opens it in flash, predicts, says the class. No heap, no training code.
 *
 * gesture.h is made by rfm export, rows.h holds a few recorded gestures that the model has not seen. */
#include "gesture.h"
#include "rfm.h"
#include "rows.h"

#ifdef BOARD_BARE
#include "startup.h"
#define PRINT(text) board_print(text)
#else
#include <stdio.h>
#define PRINT(text) fputs(text, stdout)
#endif

static rfm_real scores[GESTURE_OUTPUTS], scratch[GESTURE_SCRATCH]; /* all the RAM that it needs */

static void print_percent(rfm_real share) {
    unsigned percent = (unsigned)(share * (rfm_real)100 + (rfm_real)0.5);
    char text[4] = {' ', ' ', ' ', 0};
    int i;
    for (i = 2; i == 2 || percent > 0; i--, percent /= 10) text[i] = (char)('0' + percent % 10);
    PRINT(text);
}

int main(void) {
    rfm_model model;
    rfm_real confidence;
    unsigned i, right = 0;
    if (rfm_model_open(gesture, GESTURE_BYTES, &model) != RFM_OK) return 1;
    for (i = 0; i < ROWS; i++) {
        const char *name;
        unsigned same;
        if (rfm_predict_one(&model, rows[i], scores, scratch, NULL, NULL) != RFM_OK) return 2;
        name = gesture_class_names[rfm_class(&model, scores, &confidence)];
        same = name[0] == labels[i][0];
        right += same;
        PRINT("    drawn: ");
        PRINT(labels[i]);
        PRINT("   recognised: ");
        PRINT(name);
        PRINT("   sure: ");
        print_percent(confidence);
        PRINT(same ? " %\n" : " %   wrong\n");
    }
    return right * 10 >= ROWS * 7 ? 0 : 3;
}
