/* The surroundings of the first block of docs/embedding.md: compiled by tests/cli/snippets.sh, with the block as SNIPPET. */
#include <uvmpolicy/prefetch.h>

uvmp_mask fetch(const struct uvmp_prefetch_params *from, uint32_t gpu, uvmp_mask faulted, uvmp_mask resident);

uvmp_mask fetch(const struct uvmp_prefetch_params *from, uint32_t gpu, uvmp_mask faulted, uvmp_mask resident)
{
	struct uvmp_prefetch_params params = *from;
	struct uvmp_prefetch_facts facts = {.to = gpu};
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	uvmp_mask extra = {{0}};

	uvmp_prefetch_state_init(&state);
	uvmp_block_from_shape(512, 0, 16, &facts.block);
SNIPPET
	return extra;
}
