/* One decision: page 5 of a VABlock faults on GPU 1. Which pages does the driver prefetch? */
#include <stdio.h>

#include <uvmpolicy/prefetch.h>

int main(void)
{
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state state;              /* one per VABlock */
	struct uvmp_prefetch_facts facts = {.to = 1}; /* other facts are 0: nothing special */
	struct uvmp_prefetch_hint hint;
	uvmp_mask faulted = {{0}};

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	uvmp_prefetch_state_init(&state);
	uvmp_block_from_shape(512, 0, 16, &facts.block); /* 2 MiB in pages of 4 KiB, big pages of 64 KiB */
	uvmp_mask_set(&faulted, 5);
	facts.faulted = &faulted;
	if (uvmp_prefetch_decide(&params, &facts, &state, &hint) != UVMP_OK)
		return 1;
	for (uint32_t page = 0; page < 512; page++)
		if (uvmp_mask_test(&hint.pages, page))
			printf("%u ", (unsigned int)page);
	printf("to GPU %u\n", (unsigned int)hint.to); /* 0 to 4 and 6 to 15: the rest of the big page */
	return 0;
}
