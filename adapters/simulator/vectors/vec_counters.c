/* Kind "counters": the pages that notifications of access counters name.
 *
 *   counters psize=64K gran=2M gpu=1 procs=2 can=0/0-1 fast=-/- res=0-31/- phys=2M/2M notes=p0s0000000d
 *   => pages=0,2-3 sub_size=65536 translation=2097152 regions=32
 */
#include "vec_kind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vec_processor.h"
#include "uvmpolicy/counter.h"

/* The shortest note takes 12 bytes with its comma. */
#define NOTES_MAX (VEC_LINE_MAX / 12u + 1u)

struct line {
	struct uvmp_processors processors;
	struct uvmp_counter_facts facts;
	uvmp_mask resident[UVMP_PROCS_MAX];
	struct uvmp_counter_note notes[NOTES_MAX];
	uint32_t count;
};

/* Sizes of the chunks on each processor; only whole blocks matter. */
static uint64_t take_contiguous(struct vec_args *args, uint32_t count)
{
	const char *value = vec_text(args, "phys");
	const char *at = value;
	uint64_t set = 0;

	for (uint32_t i = 0; i < count && !args->failed; i++) {
		size_t length = strcspn(at, "/");
		bool is_block = length == 2 && memcmp(at, "2M", 2) == 0;
		bool is_known = is_block || (length == 3 && memcmp(at, "64K", 3) == 0) ||
		                (length == 2 && memcmp(at, "4K", 2) == 0);

		if (is_block)
			set |= (uint64_t)1 << i;
		at += length;
		if (!is_known || (*at == '/') != (i + 1 < count))
			vec_fail(args,
			         "phys=%.80s is not accepted; 2M, 64K or 4K per processor, %u separated by /",
			         value, count);
		else if (*at == '/')
			at++;
	}
	return set;
}

static bool scan_pieces(const char **text, uint32_t *pieces)
{
	static const char digits[] = "0123456789abcdef";

	*pieces = 0;
	for (int i = 0; i < 8; i++) {
		const char *digit = **text != '\0' ? strchr(digits, **text) : NULL;

		if (digit == NULL)
			return false;
		*pieces = *pieces << 4 | (uint32_t)(digit - digits);
		(*text)++;
	}
	return true;
}

static bool scan_note(const char **text, uint32_t pages, struct uvmp_counter_note *note)
{
	uint64_t page;

	if (**text != 'p')
		return false;
	(*text)++;
	if (!vec_scan_number(text, pages - 1u, &page) || **text != 's')
		return false;
	(*text)++;
	note->page = (uint32_t)page;
	return scan_pieces(text, &note->sub_granularity);
}

static void take_notes(struct vec_args *args, uint32_t pages, struct line *line)
{
	const char *at = vec_text(args, "notes");

	if (at == NULL || strcmp(at, "-") == 0)
		return;
	while (scan_note(&at, pages, &line->notes[line->count])) {
		line->count++;
		if (*at == '\0')
			return;
		if (*at++ != ',')
			break;
	}
	vec_fail(args, "notes= is p<page 0..%u>s<8 hexadecimal digits>, separated by commas, - if empty",
	         pages - 1u);
}

/* Native atomics play no part here; each processor has those on its own memory. */
static void take_processors(struct vec_args *args, struct uvmp_processors *processors)
{
	processors->count = (uint32_t)vec_number(args, "procs", 1, UVMP_PROCS_MAX);
	vec_proc_rows(args, "can", processors->count, processors->can_access);
	vec_proc_rows(args, "fast", processors->count, processors->fast_link);
	for (uint32_t i = 0; i < processors->count; i++)
		processors->native_atomics[i] = (uint64_t)1 << i;
}

static void take_line(struct vec_args *args, struct line *line)
{
	static const char *const page_sizes[] = {"4K", "64K", NULL};
	static const char *const granularities[] = {"64K", "2M", "16M", "16G", NULL};
	uint32_t pages;

	line->facts.page_bytes = vec_choice(args, "psize", page_sizes) == 0 ? 4096u : 65536u;
	pages = 0x200000u / line->facts.page_bytes;
	line->facts.granularity = (uint8_t)(UVMP_COUNTER_64K + vec_choice(args, "gran", granularities));
	line->facts.gpu = vec_proc(args, "gpu");
	line->facts.quirks = true;
	line->facts.resident = line->resident;
	take_processors(args, &line->processors);
	vec_mask_rows(args, "res", line->processors.count, pages, line->resident);
	line->facts.contiguous = take_contiguous(args, line->processors.count);
	take_notes(args, pages, line);
}

static void decide(struct vec_args *args, const struct line *line, struct vec_out *out)
{
	struct uvmp_counter_sizes sizes = {0, 0, 0};
	enum uvmp_status status;
	uvmp_mask pages;

	status = uvmp_counter_expand(&line->processors, &line->facts, line->notes, line->count, &pages);
	if (status == UVMP_OK)
		status = uvmp_counter_derive_sizes((enum uvmp_counter_granularity)line->facts.granularity,
		                                   &sizes);
	if (status != UVMP_OK) {
		vec_fail(args, "the processors contradict each other, or gpu= names no GPU: %s",
		         uvmp_status_text(status));
		return;
	}
	vec_printf(out, "=> pages=");
	vec_print_mask(out, &pages);
	vec_printf(out, " sub_size=%" PRIu64 " translation=%" PRIu64 " regions=%" PRIu32 "\n",
	           sizes.sub_bytes, sizes.translation_bytes, sizes.regions);
}

static void counters_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct line *line = vec_zeros(1, sizeof(*line));

	(void)state;
	(void)word;
	take_line(args, line);
	if (!args->failed)
		decide(args, line, out);
	free(line);
}

const struct vec_kind vec_counters = {.name = "counters", .line = counters_line};
