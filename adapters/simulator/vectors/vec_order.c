/* Kind "order": representatives sorted, their duplicates, and the bins of aligned 2 MiB blocks.
 *
 *   order faults=v1g1p2Wn1,...
 *   => order=
 *   => adj= dup= ndup=
 *   => bin=v1g1p0 first= count=             one per walk
 */
#include "vec_kind.h"

#include <inttypes.h>
#include <stdlib.h>

#include "vec_fault.h"

#define BLOCK_BYTES 0x200000u
/* As many as the largest fault buffer can hold. */
#define INSTANCES_MAX (1u << 24)
#define FORM          "v<VA space>g<gpu>p<page><P|R|W|A|S>n<instances 1..16777216>"

static bool scan_fault(const char **text, struct uvmp_fault *fault)
{
	uint64_t gpu, page, instances;

	if (!vec_scan_part(text, 'v', UINT64_MAX, &fault->va_space) ||
	    !vec_scan_part(text, 'g', UINT32_MAX, &gpu) || !vec_scan_part(text, 'p', VEC_PAGE_MAX, &page) ||
	    !vec_scan_access(text, &fault->access) || !vec_scan_part(text, 'n', INSTANCES_MAX, &instances) ||
	    instances == 0)
		return false;
	fault->gpu = (uint32_t)gpu;
	fault->address = page * VEC_PAGE_BYTES;
	fault->num_instances = (uint32_t)instances;
	return true;
}

/* The arrays of one line, all of the same length. */
struct order_lists {
	uint32_t *order, *adjacent, *duplicate;
	uint64_t *scratch;
	uint32_t adjacents, duplicates, duplicate_instances;
	struct uvmp_fault_bin *bin;
	uint32_t bins;
};

static bool is_same_as_before(const struct uvmp_fault *fault, const uint32_t *order, uint32_t i)
{
	return uvmp_fault_is_same_page(&fault[order[i - 1u]], &fault[order[i]]);
}

static void make_lists(struct vec_args *args, const struct uvmp_fault *fault, uint32_t count,
                       struct order_lists *lists)
{
	for (uint32_t i = 0; i < count; i++)
		lists->order[i] = i;
	uvmp_fault_order(fault, lists->order, count, lists->scratch);
	for (uint32_t i = 1; i < count; i++)
		if (is_same_as_before(fault, lists->order, i))
			lists->adjacent[lists->adjacents++] = i;
	for (uint32_t first = 0; first < count; first += lists->bin[lists->bins++].count) {
		struct uvmp_fault_bin *bin = &lists->bin[lists->bins];
		uvmp_addr end = fault[lists->order[first]].address | (BLOCK_BYTES - 1u);
		enum uvmp_status status = uvmp_fault_bin_next(fault, lists->order, count, first, end, bin);

		if (status != UVMP_OK) {
			vec_fail(args, "no bin: %s", uvmp_status_text(status));
			return;
		}
		lists->duplicate_instances += bin->duplicates;
		for (uint32_t i = first + 1u; i < first + bin->count; i++)
			if (is_same_as_before(fault, lists->order, i))
				lists->duplicate[lists->duplicates++] = i;
	}
}

static void print_lists(const struct uvmp_fault *fault, uint32_t count, const struct order_lists *lists,
                        struct vec_out *out)
{
	vec_printf(out, "=> order=");
	vec_print_list(out, lists->order, count);
	vec_printf(out, "\n=> adj=");
	vec_print_list(out, lists->adjacent, lists->adjacents);
	vec_printf(out, " dup=");
	vec_print_list(out, lists->duplicate, lists->duplicates);
	vec_printf(out, " ndup=%u\n", lists->duplicate_instances);
	for (uint32_t i = 0; i < lists->bins; i++) {
		const struct uvmp_fault_bin *bin = &lists->bin[i];
		uvmp_addr start = fault[lists->order[bin->first]].address & ~(uvmp_addr)(BLOCK_BYTES - 1u);

		vec_printf(out, "=> bin=v%" PRIu64 "g%up%" PRIu64 " first=%u count=%u\n", bin->va_space,
		           bin->gpu, start / VEC_PAGE_BYTES, bin->first, bin->count);
	}
}

static void order_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct order_lists lists = {.order = NULL};
	uint32_t count;
	struct uvmp_fault *fault = vec_faults(args, scan_fault, FORM, &count);

	(void)state;
	(void)word;
	if (fault == NULL)
		return;
	lists.order = calloc(count + 1u, sizeof(*lists.order));
	lists.scratch = calloc(UVMP_FAULT_ORDER_WORDS(count), sizeof(*lists.scratch));
	lists.adjacent = calloc(count + 1u, sizeof(*lists.adjacent));
	lists.duplicate = calloc(count + 1u, sizeof(*lists.duplicate));
	lists.bin = calloc(count + 1u, sizeof(*lists.bin));
	if (lists.order == NULL || lists.scratch == NULL || lists.adjacent == NULL || lists.duplicate == NULL || lists.bin == NULL)
		vec_fail(args, "out of memory");
	else
		make_lists(args, fault, count, &lists);
	if (!args->failed)
		print_lists(fault, count, &lists, out);
	free(lists.bin);
	free(lists.duplicate);
	free(lists.adjacent);
	free(lists.scratch);
	free(lists.order);
	free(fault);
}

const struct vec_kind vec_order = {.name = "order", .line = order_line};
