/* See oracle.h: draws, hash and the table of kinds. */
#include "oracle.h"

#include <string.h>

const struct oracle_kind oracle_kinds[] = {
        {"density", 1, oracle_density},
        {"hmm", 2, oracle_hmm},
        {"ats", 3, oracle_ats},
        {"thrash", 4, oracle_thrash},
        {"residency", 5, oracle_residency},
        {"order", 6, oracle_order},
        {NULL, 0, NULL},
};

const struct oracle_subject oracle_library = {uvmp_prefetch_decide, oracle_library_order,
                                              &oracle_library_detector};
const struct oracle_subject *oracle_subject = &oracle_library;

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

void oracle_begin(struct oracle *oracle, uint64_t seed, uint64_t kind, uint64_t number)
{
	oracle->state = mix(mix(8u * seed + kind) + number);
}

uint64_t oracle_next(struct oracle *oracle)
{
	oracle->state += 0x9E3779B97F4A7C15u;
	return mix(oracle->state);
}

uint32_t oracle_below(struct oracle *oracle, uint32_t bound)
{
	return (uint32_t)(((oracle_next(oracle) >> 32) * bound) >> 32);
}

bool oracle_one_in(struct oracle *oracle, uint32_t bound)
{
	return oracle_below(oracle, bound) == 0;
}

void oracle_put(struct oracle *oracle, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		oracle->sum = (oracle->sum ^ ((value >> (8u * i)) & 0xffu)) * 0x100000001B3u;
}

void oracle_put_mask(struct oracle *oracle, const uvmp_mask *mask)
{
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
		oracle_put(oracle, mask->word[i], 8);
}

/* Sets pages [first, first + pages), but only below `end`. */
static void set_run(uvmp_mask *mask, uint32_t first, uint32_t pages, uint32_t end)
{
	for (uint32_t page = first; page < first + pages && page < end; page++)
		uvmp_mask_set(mask, page);
}

static void fill_pages(struct oracle *oracle, uint32_t first, uint32_t end, uint32_t most, uvmp_mask *mask)
{
	uint32_t pages = 1u + oracle_below(oracle, most);

	for (uint32_t i = 0; i < pages; i++)
		uvmp_mask_set(mask, first + oracle_below(oracle, end - first));
}

/* Runs of up to `longest` pages; 0: up to the end. */
static void fill_runs(struct oracle *oracle, uint32_t first, uint32_t end, uint32_t most, uint32_t longest,
                      uvmp_mask *mask)
{
	uint32_t runs = 1u + oracle_below(oracle, most);

	for (uint32_t i = 0; i < runs; i++) {
		uint32_t at = oracle_below(oracle, end - first);
		uint32_t pages = 1u + oracle_below(oracle, longest != 0 ? longest : end - first - at);

		set_run(mask, first + at, pages, end);
	}
}

static void fill_big_pages(struct oracle *oracle, uint32_t first, uint32_t end, uvmp_mask *mask)
{
	for (uint32_t group = first / 16u; group <= (end - 1u) / 16u; group++)
		if (oracle_below(oracle, 2) == 1u)
			for (uint32_t page = 16u * group; page < 16u * group + 16u; page++)
				if (page >= first && page < end)
					uvmp_mask_set(mask, page);
}

static void fill_by_share(struct oracle *oracle, uint32_t first, uint32_t end, uvmp_mask *mask)
{
	uint32_t percent = oracle_one_in(oracle, 4) ? 100u : oracle_below(oracle, 100);

	for (uint32_t page = first; page < end; page++)
		if (percent == 100u || oracle_below(oracle, 100) < percent)
			uvmp_mask_set(mask, page);
}

void oracle_fill(struct oracle *oracle, uint32_t first, uint32_t end, uvmp_mask *mask)
{
	memset(mask, 0, sizeof(*mask));
	switch (oracle_below(oracle, 7)) {
	case 1:
		fill_pages(oracle, first, end, 4, mask);
		break;
	case 2:
		fill_pages(oracle, first, end, end - first, mask);
		break;
	case 3:
		fill_runs(oracle, first, end, 6, 0, mask);
		break;
	case 4:
		fill_runs(oracle, first, end, 8, 24, mask);
		break;
	case 5:
		fill_big_pages(oracle, first, end, mask);
		break;
	case 6:
		fill_by_share(oracle, first, end, mask);
		break;
	default: /* empty */
		break;
	}
}

void oracle_fill_not_empty(struct oracle *oracle, uint32_t first, uint32_t end, uvmp_mask *mask)
{
	do
		oracle_fill(oracle, first, end, mask);
	while (uvmp_mask_is_empty(mask));
}

static uint64_t bit(uint32_t processor)
{
	return (uint64_t)1 << processor;
}

/* Parts of one GPU: a processor joins the one before it, and all that this one has joined. */
static void draw_parts(struct oracle *oracle, struct uvmp_processors *p)
{
	uint64_t group = bit(1);

	for (uint32_t i = 2; i < p->count; i++) {
		group = oracle_one_in(oracle, 4) ? group | bit(i) : bit(i);
		for (uint32_t k = 1; k <= i; k++)
			if (group & bit(k))
				p->smc[k] = group & ~bit(k);
	}
}

static void draw_access(struct oracle *oracle, uint32_t can, struct uvmp_processors *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		p->can_access[i] = p->native_atomics[i] = bit(i);
		if (i > 0 && oracle_below(oracle, 8) != 0)
			p->can_access[i] |= bit(UVMP_CPU);
		for (uint32_t k = 0; k < p->count; k++)
			if (k != i && oracle_below(oracle, 4) < can)
				p->can_access[i] |= bit(k);
	}
}

static void draw_fast_links(struct oracle *oracle, uint32_t fast, struct uvmp_processors *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (oracle_below(oracle, 4) < fast) {
				p->fast_link[i] |= bit(k);
				p->fast_link[k] |= bit(i);
				p->can_access[i] |= bit(k);
				p->can_access[k] |= bit(i);
			}
}

static void draw_atomics(struct oracle *oracle, uint32_t atomics, struct uvmp_processors *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		for (uint32_t k = 0; k < p->count; k++)
			if (k != i && (p->can_access[k] & bit(i)) && oracle_below(oracle, 4) < atomics)
				p->native_atomics[i] |= bit(k);
}

void oracle_processors(struct oracle *oracle, struct uvmp_processors *p)
{
	uint32_t can, fast, atomics;

	memset(p, 0, sizeof(*p));
	p->count = 2u + oracle_below(oracle, 7);
	draw_parts(oracle, p);
	can = oracle_below(oracle, 4);
	fast = oracle_below(oracle, 4);
	atomics = oracle_below(oracle, 5);
	draw_access(oracle, can, p);
	draw_fast_links(oracle, fast, p);
	draw_atomics(oracle, atomics, p);
	if (oracle_one_in(oracle, 3))
		p->no_memory = oracle_below(oracle, (uint32_t)bit(p->count)) & ~bit(UVMP_CPU);
}

uint64_t oracle_hash(const struct oracle_kind *kind, uint64_t seed, uint64_t first, uint64_t count)
{
	struct oracle oracle = {0, ORACLE_EMPTY_SUM};

	for (uint64_t number = first; number < first + count; number++) {
		oracle_begin(&oracle, seed, kind->number, number);
		kind->answer(&oracle);
	}
	return oracle.sum;
}
