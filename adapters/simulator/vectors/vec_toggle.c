/* Kind "toggle": are prefetch faults switched off, or on again?
 *
 *   toggle enabled=1 invalid=171 max_batch=256 lapse_ms=1000 now=5 since=0   => enabled=0 since=5
 */
#include <inttypes.h>

#include "vec_kind.h"
#include "uvmpolicy/replay.h"

static void toggle_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct uvmp_prefetch_toggle toggle;
	uint32_t invalid, max_batch, lapse_ms;
	uint64_t now_ns;

	(void)state;
	(void)word;
	toggle.is_enabled = vec_flag(args, "enabled");
	invalid = (uint32_t)vec_number(args, "invalid", 0, UINT32_MAX);
	max_batch = (uint32_t)vec_number(args, "max_batch", 0, UINT32_MAX);
	lapse_ms = (uint32_t)vec_number(args, "lapse_ms", 0, UINT32_MAX);
	now_ns = vec_number(args, "now", 0, UINT64_MAX);
	toggle.disabled_since_ns = vec_number(args, "since", 0, UINT64_MAX);
	if (args->failed)
		return;
	uvmp_prefetch_toggle_update(&toggle, invalid, max_batch, lapse_ms, now_ns);
	vec_printf(out, "=> enabled=%d since=%" PRIu64 "\n", toggle.is_enabled, toggle.disabled_since_ns);
}

const struct vec_kind vec_toggle = {.name = "toggle", .line = toggle_line};
