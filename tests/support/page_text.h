/* Sets of pages as text, for tables in tests: "0-4,6", "-" or "" for none. */
#ifndef PAGE_TEXT_H
#define PAGE_TEXT_H

#include <stdlib.h>

#include "uvmpolicy/mask.h"

static inline uvmp_mask page_text(const char *text)
{
	uvmp_mask mask = {{0}};
	char *at;

	while (*text >= '0' && *text <= '9') {
		struct uvmp_region run;

		run.first = (uint32_t)strtoul(text, &at, 10);
		run.end = run.first + 1u;
		if (*at == '-')
			run.end = (uint32_t)strtoul(at + 1, &at, 10) + 1u;
		uvmp_mask_region_set(&mask, run);
		text = *at == ',' ? at + 1 : at;
	}
	return mask;
}

#endif
