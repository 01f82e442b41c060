/* The transfers of an action, for hosts. */
#include "../base/mask_internal.h"
#include "uvmpolicy/plan.h"
#include "uvmpolicy/service.h"

struct uvmp_region uvmp_action_next_transfer(const struct uvmp_action *action, uint32_t from)
{
	return uvmp_next_transfer(&action->pages, &action->cuts, from);
}

uint32_t uvmp_action_transfers(const struct uvmp_action *action)
{
	return uvmp_count_transfers(&action->pages, &action->cuts);
}

uint32_t uvmp_action_faulted(const struct uvmp_action *action, struct uvmp_region transfer)
{
	if (action->faulted_pages == 0)
		return 0;
	return action->faulted_pages == uvmpi_mask_weight(&action->pages) ? uvmp_region_pages(transfer) : 1u;
}
