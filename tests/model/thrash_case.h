/* thrash_case.h: one script for the thrashing detector, told by bytes, played to the core and to the naive
 * model at the same time. */
#ifndef THRASH_CASE_H
#define THRASH_CASE_H

#include <stddef.h>
#include <stdint.h>

#define THRASH_CASE_HEAD 16u /* bytes of parameters and relations; then 4 bytes for each step */

/* NULL, or what is not as it should be. */
const char *thrash_case_run(const uint8_t *data, size_t size);

#endif
