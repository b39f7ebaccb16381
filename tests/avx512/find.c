/* Takes the place of port/dispatch.c: the portable port and avx512, which runs here whatever the processor. */
#include "rfm_port.h"

#include <string.h>

extern const rfm_port rfm_port_avx512;

static const rfm_port *const ports[] = {&rfm_port_scalar, &rfm_port_avx512};

const char *rfm_port_name(size_t index) { return index < 2 ? ports[index]->name : NULL; }
const rfm_port *rfm_port_auto(void) { return &rfm_port_avx512; }

const rfm_port *rfm_port_find(const char *name) {
    if (name == NULL) return NULL;
    if (strcmp(name, "auto") == 0) return rfm_port_auto();
    if (strcmp(name, "scalar") == 0) return ports[0];
    return strcmp(name, "avx512") == 0 ? ports[1] : NULL;
}
