/* Cases for fault.h from bytes: property tests feed random ones, fuzzing feeds what it finds. Each plays a
 * whole story through the library and the naive model and checks what must hold for any input. */
#ifndef FAULT_CASE_H
#define FAULT_CASE_H

#include <stddef.h>
#include <stdint.h>

/* Both return NULL if all is well, else what is not. Not for several threads. */

/* A GPU that writes faults, a driver that asks, fetches and flushes. */
const char *fault_case_fetch(const uint8_t *data, size_t size);
/* Representatives that are ordered, binned and judged. */
const char *fault_case_order(const uint8_t *data, size_t size);

#endif
