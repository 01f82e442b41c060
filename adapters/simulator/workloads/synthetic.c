/* Synthetic access patterns: a sequence of kernels over one or more arrays, each a pattern or two at once.
 *
 * `phases` lists the kernels, joined by `+`: PATTERN@ARRAY, where `*N` behind it repeats the kernel. Patterns:
 *
 * - scan: every page once, in ascending order;
 * - back: every page once, in descending order;
 * - random: pages drawn uniformly, with replacement;
 * - zipf: pages drawn by Zipf's law, whose ranks a seeded permutation spreads over the array.
 *
 * Two patterns joined by `/` share a kernel: of each 100 warps `dense` do the first, evenly interleaved with
 * those of the second. The kernel ends with the first pattern: the second one draws, or scans round and round
 * its array, as long as that takes.
 *
 * A scan uses `used` bytes of each page, a draw a sector of 32 bytes: an access across the link moves as many.
 *
 * A warp executes 64 instructions; each asks for `pages` pages. What a warp draws depends on the seed, the
 * kernel and the number of the warp, not on the order in which warps run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "permute.h"
#include "uvmpolicy/base.h"
#include "workload.h"
#include "zipf.h"

enum { BYTES, ARRAYS, PHASES, ACCESSES, PAGES, SKEW, DENSE, WRITE, INSIDE, USED };

#define ARRAYS_MAX   8u
#define PHASES_MAX   64u
#define REPEATS_MAX  1000000u
#define INSTRUCTIONS 64u /* of a warp */
#define BLOCK_WARPS  4u

enum pattern { SCAN, BACK, RANDOM, ZIPF, PATTERNS };
static const char *const patterns[PATTERNS] = {"scan", "back", "random", "zipf"};

struct part {
	enum pattern pattern;
	unsigned array;
};

struct phase {
	struct part part[2];
	unsigned parts;
	uint64_t repeats;
};

struct state {
	struct phase phase[PHASES_MAX];
	unsigned phases;
	unsigned at;	   /* the phase whose kernel is launched next */
	uint64_t repeated; /* kernels of that phase so far */
	const struct phase *now;
	uint64_t warps; /* of the kernel */
	struct permutation spread[ARRAYS_MAX];
	struct zipf zipf;
	unsigned group_bits; /* each number of the law is 2^group_bits pages */
};

/* -- the text of `phases` -- */

static bool refuse(struct workload *workload, const char *at, size_t length, const char *why)
{
	snprintf(workload->source.error, sizeof(workload->source.error),
		 "workload synthetic: phases: `%.*s`: %s", (int)(length < 40 ? length : 40), at, why);
	return false;
}

/* Parses a number of at most seven digits at *at, and moves *at behind it. False: no digit stands there. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *first = *at;

	*number = 0;
	while (*at < end && *at - first < 7 && **at >= '0' && **at <= '9')
		*number = *number * 10 + (uint64_t)(*(*at)++ - '0');
	return *at > first;
}

/* PATTERN@ARRAY at *at, which goes behind it; `item` is what messages quote. */
static bool take_part(struct workload *workload, const char **at, const char *end, struct part *part,
		      const char *item)
{
	size_t length = strcspn(*at, "@*+/");
	unsigned found = 0;
	uint64_t array;

	while (found < PATTERNS &&
	       (strlen(patterns[found]) != length || memcmp(*at, patterns[found], length) != 0))
		found++;
	if (found == PATTERNS)
		return refuse(workload, item, (size_t)(end - item),
			      "a pattern is scan, back, random or zipf, as in scan@0");
	*at += length;
	if (**at != '@')
		return refuse(workload, item, (size_t)(end - item), "the array is missing, as in scan@0");
	++*at;
	if (!take_number(at, end, &array) || array >= workload->value[ARRAYS])
		return refuse(workload, item, (size_t)(end - item),
			      "an array is a number from 0, below arrays=");
	*part = (struct part){(enum pattern)found, (unsigned)array};
	return true;
}

/* PART, PART/PART, either with *N, up to `end`. */
static bool take_phase(struct workload *workload, const char *item, const char *end, struct phase *phase)
{
	const char *at = item;

	*phase = (struct phase){.parts = 1, .repeats = 1};
	if (!take_part(workload, &at, end, &phase->part[0], item))
		return false;
	if (at < end && *at == '/') {
		at++;
		phase->parts = 2;
		if (!take_part(workload, &at, end, &phase->part[1], item))
			return false;
	}
	if (at < end && *at == '*') {
		at++;
		if (!take_number(&at, end, &phase->repeats) || phase->repeats < 1 ||
		    phase->repeats > REPEATS_MAX)
			return refuse(workload, item, (size_t)(end - item), "repetitions are 1..1000000");
	}
	return at == end ||
	       refuse(workload, item, (size_t)(end - item), "only *N may follow, or + and the next kernel");
}

static bool take_phases(struct workload *workload, struct state *state)
{
	const char *at = workload->text[PHASES] != NULL ? workload->text[PHASES] : "random@0";

	for (;;) {
		const char *end = at + strcspn(at, "+");

		if (state->phases == PHASES_MAX)
			return refuse(workload, at, strlen(at), "there are more than 64 kernels joined by +");
		if (!take_phase(workload, at, end, &state->phase[state->phases++]))
			return false;
		if (*end == '\0')
			return true;
		at = end + 1;
	}
}

/* -- opening -- */

static uint64_t pages_of(const struct workload *workload)
{
	return workload_ceil_div(workload->value[BYTES], WORKLOAD_PAGE);
}

static bool has_zipf(const struct state *state)
{
	for (unsigned i = 0; i < state->phases; i++)
		for (unsigned p = 0; p < state->phase[i].parts; p++)
			if (state->phase[i].part[p].pattern == ZIPF)
				return true;
	return false;
}

static bool synthetic_open(struct workload *workload)
{
	struct state *state = workload->state = calloc(1, sizeof(*state));
	uint64_t pages = pages_of(workload);
	char name[] = "data0";

	if (state == NULL || !take_phases(workload, state))
		return false;
	for (unsigned i = 0; i < workload->value[ARRAYS]; i++) {
		name[4] = (char)('0' + i);
		workload_add_range(workload, name, workload->value[BYTES]);
		permutation_init(&state->spread[i], pages, &workload->random);
	}
	while (workload_ceil_div(pages, (uint64_t)1 << state->group_bits) > ZIPF_COUNT_MAX)
		state->group_bits++;
	return !has_zipf(state) ||
	       zipf_init(&state->zipf, (uint32_t)workload_ceil_div(pages, (uint64_t)1 << state->group_bits),
			 (uint32_t)workload->value[SKEW]);
}

static void synthetic_close(struct workload *workload)
{
	struct state *state = workload->state;

	if (state != NULL)
		zipf_close(&state->zipf);
	free(state);
}

/* -- kernels -- */

static bool is_scan(const struct part *part)
{
	return part->pattern == SCAN || part->pattern == BACK;
}

/* Page accesses of one pass of the part. */
static uint64_t accesses_of(const struct workload *workload, const struct part *part)
{
	return is_scan(part) ? pages_of(workload) * workload->value[INSIDE] : workload->value[ACCESSES];
}

static bool synthetic_launch(struct workload *workload)
{
	struct state *state = workload->state;
	const struct phase *phase = &state->phase[state->at];
	uint64_t warps;

	if (state->at < state->phases && state->repeated == phase->repeats) {
		state->repeated = 0;
		phase = &state->phase[++state->at];
	}
	if (state->at == state->phases)
		return false;
	state->repeated++;
	state->now = phase;
	warps = workload_ceil_div(accesses_of(workload, &phase->part[0]),
				  workload->value[PAGES] * INSTRUCTIONS);
	state->warps = phase->parts == 1 ? warps : workload_ceil_div(warps * 100, workload->value[DENSE]);
	workload->kernel = phase->parts == 1 ? patterns[phase->part[0].pattern] : "mixed";
	workload->blocks = workload_ceil_div(state->warps, BLOCK_WARPS);
	workload->warps = BLOCK_WARPS;
	return true;
}

/* Which part the warp does; *warp becomes its number among those that do it. */
static const struct part *part_of(const struct workload *workload, const struct phase *phase, uint64_t *warp)
{
	uint64_t dense = workload->value[DENSE], before = *warp * dense / 100;

	if (phase->parts == 1)
		return &phase->part[0];
	if ((*warp + 1) * dense / 100 > before) {
		*warp = before;
		return &phase->part[0];
	}
	*warp -= before;
	return &phase->part[1];
}

/* The page with a number of the part's sequence, below `pages`; what is drawn has no numbers. */
static uint64_t page_of(const struct state *state, const struct part *part, uint64_t number, uint64_t pages,
			uint64_t *random)
{
	uint64_t rank;

	switch (part->pattern) {
	case SCAN:
		return number % pages;
	case BACK:
		return pages - 1 - number % pages;
	case RANDOM:
		return uvmp_random_below(random, pages);
	default:
		rank = (uint64_t)zipf_draw(&state->zipf, random) << state->group_bits;
		rank += uvmp_random_below(random, (uint64_t)1 << state->group_bits);
		return permutation_at(&state->spread[part->array], rank % pages);
	}
}

/* How many of the `pages` of the instruction with the first number belong to the part's pass: the second part
 * has no end. */
static uint64_t pages_left(const struct workload *workload, const struct part *part, uint64_t number)
{
	const struct state *state = workload->state;
	uint64_t pages = workload->value[PAGES], accesses = accesses_of(workload, part);

	if (part != &state->now->part[0] || number + pages <= accesses)
		return pages;
	return number < accesses ? accesses - number : 0;
}

/* slot->own[0]: the warp's random numbers. */
static bool synthetic_span(struct workload *workload, struct workload_slot *slot)
{
	const struct state *state = workload->state;
	uint64_t warp = slot->block * BLOCK_WARPS + slot->warp, number, count;
	const struct part *part;
	uint64_t base;

	if (warp >= state->warps || slot->step == INSTRUCTIONS)
		return false;
	if (slot->step == 0)
		slot->own[0] = workload->random ^
			       ((workload->kernels_done << 40) + warp + 1) * UINT64_C(0x9e3779b97f4a7c15);
	part = part_of(workload, state->now, &warp);
	number = (warp * INSTRUCTIONS + slot->step++) * workload->value[PAGES];
	count = pages_left(workload, part, number);
	if (count == 0)
		return false;
	base = workload->range[part->array].base;
	for (uint64_t i = 0; i < count; i++)
		slot->lane[i] = base + page_of(state, part, number + i, pages_of(workload), &slot->own[0]) *
					       WORKLOAD_PAGE;
	workload_set_lanes(slot, (uint32_t)count, is_scan(part) ? (uint32_t)workload->value[USED] : 1,
			   uvmp_random_below(&slot->own[0], 100) < workload->value[WRITE] ? UVMP_ACCESS_WRITE
											  : UVMP_ACCESS_READ);
	return true;
}

const struct workload_type workload_synthetic = {
	.name = "synthetic",
	.summary = "scans, uniform and Zipf draws over arrays, one behind the other or mixed in a kernel",
	.param = {{"bytes", "size of each array", 1, (uint64_t)1 << 37, 256 << 20, true},
		  {"arrays", "that phases may name, from 0", 1, ARRAYS_MAX, 1, false},
		  {"phases",
		   "kernels as scan@0+random@0*4+scan@0/zipf@0: scan, back, random, zipf @ARRAY, `*` "
		   "repeats, `/` "
		   "mixes two; without it random@0",
		   0, WORKLOAD_TEXT, 0, false},
		  {"accesses", "page accesses of a kernel that draws", 1, (uint64_t)1 << 40, 262144, false},
		  {"pages", "that an instruction asks for", 1, WORKLOAD_LANES, 1, false},
		  {"skew", "exponent of Zipf's law, in hundredths", 0, ZIPF_SKEW_MAX, 110, false},
		  {"dense", "percent of a mixed kernel's warps that do its first pattern", 1, 99, 50, false},
		  {"write", "percent of instructions that store", 0, 100, 0, false},
		  {"inside", "passes of a scan within one kernel", 1, 1000000, 1, false},
		  {"used", "bytes of a page that a scan uses", 1, WORKLOAD_PAGE, 1, false},
		  WORKLOAD_AGENTS},
	.open = synthetic_open,
	.close = synthetic_close,
	.launch = synthetic_launch,
	.span = synthetic_span,
};
