/* deciding.c: the time that a program spends inside the engine. */
#ifndef DECIDING_H
#define DECIDING_H

#include <stdbool.h>
#include <stdint.h>

/* Measures from now on, or no longer. Off at first: then a call of the engine costs one comparison more. */
void deciding_measure(bool is_on);
/* Nanoseconds inside the engine's functions since deciding_measure(true), without the cost of the clock. */
uint64_t deciding_ns(void);

#endif
