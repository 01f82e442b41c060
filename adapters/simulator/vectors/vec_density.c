/* Kind "density": one prefetch decision of the driver about one managed block.
 *
 *   density pages= off= thr= min= dst= last= fm= pref= ft= res= cpures= rmap= f= reg= t= rg= cc=
 *   => p= fm= last= hint=
 */
#include "vec_kind.h"

#include <string.h>

#include "uvmpolicy/prefetch.h"

#define BIG_PAGES 16u

struct density_input {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_facts facts;
	struct uvmp_prefetch_state state;
	uvmp_mask resident, cpu_resident, cpu_read_mapped, faulted, thrashing;
	struct uvmp_region group[UVMP_MASK_BITS];
};

static void take_block(struct vec_args *args, struct uvmp_block *block)
{
	uint32_t pages = (uint32_t)vec_number(args, "pages", 1, UVMP_MASK_BITS);
	uint32_t offset = (uint32_t)vec_number(args, "off", 0, BIG_PAGES - 1u);

	if (!args->failed && uvmp_block_from_shape(pages, offset, BIG_PAGES, block) != UVMP_OK)
		vec_fail(args, "pages=%u is not accepted; with off=%u at most %u", pages, offset,
		         UVMP_MASK_BITS - offset);
}

static uint32_t take_processor(struct vec_args *args, const char *key)
{
	uint32_t proc = vec_proc(args, key);

	if (proc == UVMP_PROC_NONE)
		vec_fail(args, "%s=none is not accepted; a processor", key);
	return proc;
}

/* `first-last`, both always written, at or above `from` and below `limit`. */
static bool scan_region(const char **text, uint64_t from, uint64_t limit, struct uvmp_region *region)
{
	uint64_t first, last;

	if (!vec_scan_number(text, limit - 1u, &first) || **text != '-')
		return false;
	(*text)++;
	if (!vec_scan_number(text, limit - 1u, &last) || first < from || last < first)
		return false;
	region->first = (uint32_t)first;
	region->end = (uint32_t)last + 1u;
	return true;
}

static void take_region(struct vec_args *args, uint32_t pages, struct uvmp_region *region)
{
	const char *value = vec_text(args, "reg"), *at = value;

	if (value != NULL && (!scan_region(&at, 0, pages, region) || *at != '\0'))
		vec_fail(args, "reg=%.80s is not accepted; first-last within 0..%u", value, pages - 1u);
}

/* Range groups: regions in ascending order that do not overlap, so there are at most as many as pages. */
static void take_groups(struct vec_args *args, uint32_t pages, struct density_input *in)
{
	const char *value = vec_text(args, "rg"), *at = value;
	uint32_t count = 0, from = 0;

	if (value == NULL || strcmp(value, "-") == 0)
		return;
	while (scan_region(&at, from, pages, &in->group[count])) {
		from = in->group[count++].end;
		if (*at == '\0') {
			in->facts.range_group = in->group;
			in->facts.range_groups = count;
			return;
		}
		if (*at++ != ',')
			break;
	}
	vec_fail(args, "rg=%.80s is not accepted; first-last,... ascending within 0..%u, or -", value,
	         pages - 1u);
}

static void take_masks(struct vec_args *args, struct density_input *in)
{
	uint32_t pages = in->facts.block.pages;
	bool is_none;

	vec_mask(args, "res", pages, &in->resident, &is_none);
	in->facts.resident = is_none ? NULL : &in->resident;
	vec_mask(args, "cpures", pages, &in->cpu_resident, NULL);
	in->facts.cpu_resident = &in->cpu_resident;
	vec_mask(args, "rmap", pages, &in->cpu_read_mapped, NULL);
	in->facts.cpu_read_mapped = &in->cpu_read_mapped;
	vec_mask(args, "f", pages, &in->faulted, NULL);
	in->facts.faulted = &in->faulted;
	if (uvmp_mask_is_empty(&in->faulted))
		vec_fail(args, "f=- is not accepted; at least one page faulted");
	take_region(args, pages, &in->facts.faulted_region);
	vec_mask(args, "t", pages, &in->thrashing, &is_none);
	in->facts.thrashing = is_none ? NULL : &in->thrashing;
	take_groups(args, pages, in);
}

static void take_all(struct vec_args *args, struct density_input *in)
{
	memset(in, 0, sizeof(*in));
	uvmp_prefetch_params_init(&in->params, UVMP_PREFETCH_DENSITY);
	uvmp_prefetch_state_init(&in->state);
	take_block(args, &in->facts.block);
	in->params.threshold = (uint32_t)vec_number(args, "thr", 0, 100);
	in->params.min_faults = (uint32_t)vec_number(args, "min", 1, 20);
	in->facts.to = take_processor(args, "dst");
	in->state.last_proc = vec_proc(args, "last");
	in->state.faults = (uint16_t)vec_number(args, "fm", 0, UINT16_MAX);
	in->facts.preferred = vec_proc(args, "pref");
	in->facts.has_preferred = in->facts.preferred != UVMP_PROC_NONE;
	in->facts.is_first_touch = vec_flag(args, "ft");
	take_masks(args, in);
	in->facts.is_confidential = vec_flag(args, "cc");
}

static void density_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct density_input in;
	struct uvmp_prefetch_hint hint;
	enum uvmp_status status;

	(void)state;
	(void)word;
	take_all(args, &in);
	if (args->failed)
		return;
	status = uvmp_prefetch_decide(&in.params, &in.facts, &in.state, &hint);
	if (status != UVMP_OK) {
		vec_fail(args, "no decision: %s", uvmp_status_text(status));
		return;
	}
	vec_printf(out, "=> p=");
	vec_print_mask(out, &hint.pages);
	vec_printf(out, " fm=%u last=", in.state.faults);
	vec_print_proc(out, in.state.last_proc);
	vec_printf(out, " hint=");
	vec_print_proc(out, hint.to);
	vec_printf(out, "\n");
}

const struct vec_kind vec_density = {.name = "density", .line = density_line};
