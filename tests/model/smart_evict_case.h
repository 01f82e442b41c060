/* One script of evictions, read from bytes, done by the library and by the naive model. */
#ifndef SMART_EVICT_CASE_H
#define SMART_EVICT_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if both agree after every step. The first bytes are policy, reserve, flags, capacity and shapes of
 * trees; then two to four bytes a step. */
bool smart_evict_case_run(const uint8_t *data, size_t size);

#endif
