/* Ours: an exported blob of integers, opened in place. */
#include "rfm_port.h"
#include "rfm_small.h"

#include "peer.h"

#if defined RFM_LOOP_HAVE_DSP && RFM_LOOP_HAVE_DSP
#define LOOP rfm_loop_i_dsp
#else
#define LOOP NULL
#endif

static rfm_model_i opened;

int peer_open(void) { return rfm_model_open_i(model, MODEL_BYTES, &opened); }

size_t peer_classify(const peer_input *x) {
    int32_t scores[MODEL_OUTPUTS];
    int16_t scratch[MODEL_SCRATCH];
    if (rfm_predict_i(&opened, x, scores, scratch, LOOP, NULL) != RFM_OK) return (size_t)-1;
    PEER_SEEN(scores);
    return rfm_class_i(&opened, scores);
}
