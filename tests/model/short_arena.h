/* An engine whose arena is used up, without the memory that it would take to use it up. */
#ifndef TESTS_SHORT_ARENA_H
#define TESTS_SHORT_ARENA_H

#include <uvmpolicy/service.h>

/* Ends the first segment where it has been used so far. Returns its true end, for the next function. */
uint32_t short_arena_begin(struct uvmp_service *service);
void short_arena_end(struct uvmp_service *service, uint32_t end);

#endif
