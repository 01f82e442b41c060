#include "model/tbn_case.h"

void tbn_case_open(struct tbn_case *c, enum uvmp_prefetcher prefetcher, bool quirks, uint32_t pages,
                   uint32_t blocks)
{
	uvmp_prefetch_params_init(&c->params, prefetcher);
	c->params.quirks = quirks;
	(void)uvmp_block_from_shape(pages, 0, 16, &c->block);
	(void)uvmp_tree_init(&c->tree, blocks);
	uvmp_mask_zero(&c->resident);
	uvmp_mask_zero(&c->pending);
	naive_tbn_init(&c->model, pages, blocks, prefetcher == UVMP_PREFETCH_TBN, quirks);
}

/* A value that has wrapped below zero has done so in both, at different widths. */
static bool is_same_value(uint32_t pages, uint64_t bytes)
{
	return (int64_t)(int32_t)pages * 4096 == (int64_t)bytes;
}

static bool agrees(const struct tbn_case *c)
{
	for (uint32_t i = 0; i < 2 * c->tree.blocks - 1; i++)
		if (!is_same_value(c->tree.node[i], c->model.valid[i]))
			return false;
	for (uint32_t p = 0; p < NAIVE_TBN_PAGES; p++)
		if (uvmp_mask_test(&c->resident, p) != c->model.resident[p] ||
		    uvmp_mask_test(&c->pending, p) != c->model.pending[p])
			return false;
	return true;
}

static bool decide(struct tbn_case *c)
{
	struct uvmp_prefetch_facts facts = {
	        .block = c->block,
	        .faulted = &c->batch,
	        .faulted_region = uvmp_mask_bounds(&c->batch),
	        .resident = &c->resident,
	        .pending = &c->pending,
	        .to = 3,
	};
	struct uvmp_prefetch_state state;
	enum uvmp_status status;

	uvmp_prefetch_state_init(&state);
	state.tree = &c->tree;
	status = uvmp_prefetch_decide(&c->params, &facts, &state, &c->hint);
	if (!uvmp_mask_is_empty(&c->batch))
		return status == UVMP_OK;
	/* No batch, no decision. */
	c->hint = (struct uvmp_prefetch_hint){.to = UVMP_PROC_NONE, .follow = UVMP_PAGE_NONE};
	return status == UVMP_ERR_RANGE;
}

bool tbn_case_fault(struct tbn_case *c, const uvmp_mask *pages)
{
	bool faulted[NAIVE_TBN_PAGES], fetched[NAIVE_TBN_PAGES], chosen[NAIVE_TBN_BLOCKS];

	uvmp_mask_zero(&c->batch);
	for (uint32_t p = 0; p < NAIVE_TBN_PAGES; p++) {
		faulted[p] = p < c->block.pages && uvmp_mask_test(pages, p);
		if (faulted[p] && !uvmp_mask_test(&c->resident, p) && !uvmp_mask_test(&c->pending, p))
			uvmp_mask_set(&c->batch, p);
	}
	if (!decide(c))
		return false;
	naive_tbn_fault(&c->model, faulted, fetched, chosen);
	for (uint32_t p = 0; p < NAIVE_TBN_PAGES; p++)
		if (uvmp_mask_test(&c->hint.pages, p) != fetched[p])
			return false;
	for (uint32_t b = 0; b < NAIVE_TBN_BLOCKS; b++)
		if ((c->hint.basic_blocks >> b & 1u) != chosen[b])
			return false;
	if (c->hint.to != (uvmp_mask_is_empty(&c->hint.pages) ? UVMP_PROC_NONE : 3u) ||
	    c->hint.follow != UVMP_PAGE_NONE)
		return false;
	uvmp_mask_or(&c->pending, &c->pending, &c->batch);
	uvmp_mask_or(&c->pending, &c->pending, &c->hint.pages);
	return agrees(c);
}

bool tbn_case_arrive(struct tbn_case *c, const uvmp_mask *pages)
{
	for (uint32_t p = 0; p < c->block.pages; p++) {
		if (!uvmp_mask_test(pages, p))
			continue;
		/* [uvmsmart: user-prefetch-bypasses-tree] mended: the tree counts a page that no decision
		 * requested. */
		if (!c->params.quirks && !uvmp_mask_test(&c->resident, p) && !uvmp_mask_test(&c->pending, p))
			uvmp_tree_add(&c->tree, p, 1, false);
		uvmp_mask_set(&c->resident, p);
		uvmp_mask_clear(&c->pending, p);
		naive_tbn_arrive(&c->model, p);
	}
	return agrees(c);
}

bool tbn_case_drop(struct tbn_case *c, const uvmp_mask *pages)
{
	for (uint32_t p = 0; p < c->block.pages; p++) {
		if (!uvmp_mask_test(pages, p))
			continue;
		if (uvmp_mask_test(&c->resident, p))
			uvmp_tree_sub(&c->tree, p, 1, c->params.quirks);
		uvmp_mask_clear(&c->resident, p);
		naive_tbn_drop(&c->model, p);
	}
	return agrees(c);
}

bool tbn_case_drop_block(struct tbn_case *c, uint32_t block)
{
	struct uvmp_region own = {block * UVMP_BASIC_BLOCK_PAGES, (block + 1u) * UVMP_BASIC_BLOCK_PAGES};

	if (uvmp_mask_region_all(&c->resident, own)) {
		uvmp_tree_sub(&c->tree, own.first, UVMP_BASIC_BLOCK_PAGES, c->params.quirks);
		uvmp_mask_region_clear(&c->resident, own);
	}
	naive_tbn_drop_block(&c->model, block);
	return agrees(c);
}

/* -- scripts of bytes -- */

struct bytes {
	const uint8_t *data;
	size_t size;
};

static uint32_t take(struct bytes *bytes)
{
	if (bytes->size == 0)
		return 0;
	bytes->size--;
	return *bytes->data++;
}

static uint32_t take_page(struct bytes *bytes, const struct tbn_case *c)
{
	uint32_t high = take(bytes);

	return (high << 8 | take(bytes)) % c->block.pages;
}

/* Some single pages, or a run. */
static uvmp_mask take_pages(struct bytes *bytes, const struct tbn_case *c, bool is_run, uint32_t count)
{
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	if (is_run) {
		uint32_t first = take_page(bytes, c);
		struct uvmp_region run = {first, first + 1u + take(bytes)};

		run.end = run.end < c->block.pages ? run.end : c->block.pages;
		uvmp_mask_region_set(&pages, run);
		return pages;
	}
	for (uint32_t i = 0; i <= count; i++)
		uvmp_mask_set(&pages, take_page(bytes, c));
	return pages;
}

/* One step: the low 3 bits of its first byte say what happens, bit 3 to a run or to single pages, the rest to
 * how many. */
static bool step(struct tbn_case *c, struct bytes *bytes)
{
	uint32_t code = take(bytes);
	uvmp_mask pages;

	if ((code & 7u) == 7u)
		return tbn_case_drop_block(c, take(bytes) % c->tree.blocks);
	if ((code & 7u) == 3u)
		return tbn_case_arrive(c, &c->pending);
	pages = take_pages(bytes, c, (code & 8u) != 0, code >> 4);
	switch (code & 7u) {
	case 4: /* of those in flight */
		uvmp_mask_and(&pages, &pages, &c->pending);
		return tbn_case_arrive(c, &pages);
	case 5: /* whether in flight or not */
		return tbn_case_arrive(c, &pages);
	case 6:
		return tbn_case_drop(c, &pages);
	default:
		return tbn_case_fault(c, &pages);
	}
}

bool tbn_case_run(const uint8_t *data, size_t size)
{
	struct bytes bytes = {data, size};
	uint32_t flags = take(&bytes);
	uint32_t blocks = (uint32_t)1 << (flags >> 2) % 6u;
	uint32_t missing = take(&bytes) % (blocks * UVMP_BASIC_BLOCK_PAGES);
	struct tbn_case c;

	tbn_case_open(&c, (flags & 1u) != 0 ? UVMP_PREFETCH_SL : UVMP_PREFETCH_TBN, (flags & 2u) == 0,
	              blocks * UVMP_BASIC_BLOCK_PAGES - missing, blocks);
	while (bytes.size != 0)
		if (!step(&c, &bytes))
			return false;
	return true;
}
