/* The transfers of an action page by page, as service.h defines them: the model of
 * uvmp_action_next_transfer and uvmp_action_transfers for any masks. */
#ifndef FUZZ_TRANSFERS_H
#define FUZZ_TRANSFERS_H

#include <stdbool.h>

#include "uvmpolicy/mask.h"
#include "uvmpolicy/service.h"

static inline bool transfers_begin_at(const struct uvmp_action *a, uint32_t page)
{
	if (page == UVMP_MASK_BITS || !uvmp_mask_test(&a->pages, page))
		return false;
	return page == 0 || !uvmp_mask_test(&a->pages, page - 1u) || uvmp_mask_test(&a->cuts, page);
}

static inline struct uvmp_region transfers_after(const struct uvmp_action *a, uint32_t from)
{
	struct uvmp_region t = {from, 0};

	while (t.first < UVMP_MASK_BITS && !uvmp_mask_test(&a->pages, t.first))
		t.first++;
	if (t.first >= UVMP_MASK_BITS)
		return (struct uvmp_region){0, 0};
	for (t.end = t.first + 1u; t.end < UVMP_MASK_BITS && uvmp_mask_test(&a->pages, t.end); t.end++)
		if (transfers_begin_at(a, t.end))
			break;
	return t;
}

static inline bool transfers_is_next(const struct uvmp_action *a, uint32_t from)
{
	struct uvmp_region next = uvmp_action_next_transfer(a, from), right = transfers_after(a, from);

	return next.first == right.first && next.end == right.end;
}

/* The walk from page 0 visits as many transfers as are counted, each as defined; so is the transfer at or
 * after page `from`. */
static inline bool transfers_are_right(const struct uvmp_action *a, uint32_t from)
{
	uint32_t count = 0, page = 0;

	for (uint32_t p = 0; p < UVMP_MASK_BITS; p++)
		count += transfers_begin_at(a, p);
	if (uvmp_action_transfers(a) != count || !transfers_is_next(a, from))
		return false;
	for (; count > 0; count--) {
		if (!transfers_is_next(a, page))
			return false;
		page = transfers_after(a, page).end;
	}
	return transfers_after(a, page).end == 0 && transfers_is_next(a, page);
}

#endif
