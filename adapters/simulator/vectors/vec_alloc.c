/* Kind "alloc": rounding and placement of UVM Smart's allocations.
 *
 *   alloc bytes=65537,0,4202500
 *   => start=0xc0000000 rounded=131072 trees=1x131072
 *   => error=invalid_value
 *   => start=0xc0020000 rounded=4259840 trees=2x2097152,1x65536
 *
 * Requests are rounded and laid back to back from the start of the managed heap; one of size 0 fails and
 * takes no room. The original's heap ends at 4 GiB; the rule itself knows no end, so only what exceeds 64-bit
 * addresses is refused.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "vec_kind.h"
#include "uvmpolicy/geometry.h"

#define HEAP_START 0xc0000000u

static void print_allocation(uvmp_addr start, const struct uvmp_allocation *allocation, struct vec_out *out)
{
	vec_printf(out, "=> start=0x%" PRIx64 " rounded=%" PRIu64 " trees=", start,
	           allocation->rounded_bytes);
	if (allocation->large_trees != 0)
		vec_printf(out, "%" PRIu64 "x%u", allocation->large_trees, UVMP_LARGE_PAGE_BYTES);
	if (allocation->tail_bytes != 0)
		vec_printf(out, "%s1x%" PRIu32, allocation->large_trees != 0 ? "," : "",
		           allocation->tail_bytes);
	vec_printf(out, "\n");
}

static void alloc_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	uint64_t *bytes = NULL;
	size_t count = vec_list(args, "bytes", 0, UINT64_MAX, &bytes);
	uvmp_addr start = HEAP_START;
	struct uvmp_allocation allocation;

	(void)state;
	(void)word;
	if (!args->failed && count == 0)
		vec_fail(args, "bytes=- is not accepted; at least one size");
	for (size_t i = 0; i < count && !args->failed; i++) {
		if (bytes[i] == 0) {
			vec_printf(out, "=> error=invalid_value\n");
		} else if (uvmp_allocation_round(bytes[i], &allocation) != UVMP_OK ||
		           allocation.rounded_bytes > UINT64_MAX - start) {
			vec_fail(args, "bytes: %" PRIu64 " does not fit after 0x%" PRIx64, bytes[i], start);
		} else {
			print_allocation(start, &allocation, out);
			start += allocation.rounded_bytes;
		}
	}
	free(bytes);
}

const struct vec_kind vec_alloc = {.name = "alloc", .line = alloc_line};
