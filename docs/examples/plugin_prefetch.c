/* A prefetcher of 20 lines: the rest of the block, and as much of the blocks behind it as the key ahead_blocks says.
 *   cc -shared -fPIC -Iinclude docs/examples/plugin_prefetch.c -o ahead.so
 *   uvmsim run --workload regular:bytes=32m --plugin ahead.so --policy 'prefetch=ahead ahead_blocks=2' */
#include "uvmpolicy/plugin.h"

static void decide(void *user, struct uvmp_prefetch_call *call)
{
	const struct uvmp_prefetch_facts *facts = call->facts;
	uint64_t *left = call->range; /* blocks still to fetch; the walk over them is one decision after the other */

	(void)user;
	*call->pages = *call->candidates;
	*left = facts->is_follow ? *left - 1 : call->value[0];
	if (*left != 0)
		call->follow = facts->range_first + facts->block.pages;
}

static const struct uvmp_plugin_parameter parameters[] = {{"ahead_blocks", "blocks to fetch ahead", 0, 8, 1}};
static const struct uvmp_prefetch_plugin ahead = {
	.size = sizeof(ahead), .name = "ahead", .summary = "whole blocks, and the blocks behind them",
	.parameters = 1, .parameter = parameters,
	.traits = {.walks_ranges = true, .has_one_gpu = true, .range_bytes = sizeof(uint64_t)}, .decide = decide,
};

UVMP_PLUGIN_PREFETCHER(ahead)
