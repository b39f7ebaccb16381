/* */
#include "rfm_port.h"
#if RFM_SCORES_HAVE_DSP
int32_t rfm_scores_i_dsp(const rfm_model_i *m, int16_t *s, int32_t *y) { (void)m; (void)s; (void)y; return -1; }
#else
typedef int x;
#endif
