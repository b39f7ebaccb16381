#include "conv.h"
int conv_report(const call *c, machine *m, any_model *any, char *blob, size_t size) { (void)c;(void)m;(void)any;(void)blob;(void)size; return 1; }
