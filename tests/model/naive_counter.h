/* naive_counter.h: the pages that notifications of access counters name, page by page over arrays. */
#ifndef NAIVE_COUNTER_H
#define NAIVE_COUNTER_H

#include "uvmpolicy/counter.h"

/* is_named[512]; the facts are taken to be right. */
void naive_counter_expand(const struct uvmp_processors *processors, const struct uvmp_counter_facts *facts,
			  const struct uvmp_counter_note *notes, uint32_t count, bool *is_named);

#endif
