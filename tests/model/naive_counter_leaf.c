#include "naive_counter_leaf.h"
#include "vectors/reference/counter_tree.h"

#include <string.h>

void naive_leaf_init(struct naive_leaf *m, unsigned trees, const uint32_t *blocks)
{
	memset(m, 0, sizeof(*m));
	m->trees = trees;
	for (unsigned t = 0; t < trees; t++) {
		m->levels[t] = 1;
		for (uint32_t b = blocks[t]; b > 1; b /= 2)
			m->levels[t]++;
	}
}

static unsigned nodes(const struct naive_leaf *m, unsigned tree, unsigned level)
{
	return 1u << (m->levels[tree] - 1 - level);
}

void naive_leaf_halve(struct naive_leaf *m)
{
	for (unsigned t = 0; t < m->trees; t++)
		for (unsigned level = 0; level < m->levels[t]; level++)
			for (unsigned i = 0; i < nodes(m, t, level); i++) {
				uint32_t *word = &m->node[t][level][i].word;

				if (level == 0)
					*word = (*word & 0xf8000000) | (*word & 0x07ffffff) >> 1;
				else
					*word >>= 1;
			}
}

void naive_leaf_access(struct naive_leaf *m, const struct uvmp_counter_access *access, bool quirks)
{
	struct naive_leaf_node *leaf = &m->node[access->tree][0][access->block];
	bool is_full;

	if (access->is_retry && !quirks)
		return;
	for (unsigned level = 0; level < m->levels[access->tree]; level++) {
		struct naive_leaf_node *node = &m->node[access->tree][level][access->block >> level];

		if (access->is_write)
			node->is_written = true;
		else
			node->is_read = true;
		if (level > 0)
			node->word += 1;
	}
	is_full = quirks ? leaf->word == 134217727 : leaf->word % 134217728 == 134217727;
	if (is_full)
		naive_leaf_halve(m);
	leaf->word += 1;
}

void naive_leaf_round_trip(struct naive_leaf *m, unsigned tree, bool quirks)
{
	for (unsigned i = 0; i < nodes(m, tree, 0); i++) {
		struct naive_leaf_node *leaf = &m->node[tree][0][i];
		uint32_t rounds = leaf->word >> 27, count = leaf->word & 0x07ffffff;

		rounds = quirks ? (rounds + 1) % 32 : rounds < 31 ? rounds + 1 : 31;
		leaf->word = rounds << 27 | count;
	}
}

bool naive_leaf_equals(const struct naive_leaf *m, const struct uvmp_counter_tree *trees)
{
	for (unsigned t = 0; t < m->trees; t++)
		for (unsigned level = 0; level < m->levels[t]; level++)
			for (unsigned i = 0; i < nodes(m, t, level); i++) {
				const struct naive_leaf_node *node = &m->node[t][level][i];
				uint32_t marks = uvmp_counter_tree_marks(&trees[t], i << level, 1u << level);

				if (uvmp_counter_tree_word(&trees[t], i << level, 1u << level) !=
				            node->word ||
				    marks != (node->is_read ? 1u : 0u) + (node->is_written ? 2u : 0u))
					return false;
			}
	return true;
}

/* Mostly small numbers, and those around which something happens. */
static uint32_t draw_word(uint32_t (*draw)(void *, uint32_t), void *source)
{
	switch (draw(source, 4)) {
	case 0:
		return draw(source, 100);
	case 1:
		return 134217727u - draw(source, 3);
	case 2:
		return 4294967295u - draw(source, 3);
	default:
		return draw(source, 32) << 27 | draw(source, 134217728);
	}
}

static void step(struct naive_leaf *m, struct uvmp_counter_tree *trees, uint32_t (*draw)(void *, uint32_t),
                 void *source, bool quirks)
{
	unsigned t = draw(source, m->trees), level = draw(source, m->levels[t]);
	uint32_t blocks = trees[t].blocks, block = draw(source, blocks), word;
	struct uvmp_counter_access access = {.tree = t, .block = block};

	switch (draw(source, 8)) {
	case 0:
		word = draw_word(draw, source);
		m->node[t][level][block >> level].word = word;
		(void)counter_tree_set_word(&trees[t], block >> level << level, 1u << level, word);
		return;
	case 1:
		word = draw_word(draw, source);
		m->node[t][0][block].word = word;
		(void)counter_tree_set(&trees[t], block, word & 0x07ffffff, word >> 27);
		return;
	case 2:
		naive_leaf_round_trip(m, t, quirks);
		uvmp_counter_tree_round_trip(&trees[t], quirks);
		return;
	default:
		access.is_write = draw(source, 4) == 0;
		access.is_retry = draw(source, 4) == 0;
		for (uint32_t times = draw(source, 5); times > 0; times--) {
			naive_leaf_access(m, &access, quirks);
			(void)uvmp_counter_record(trees, m->trees, &access, quirks);
		}
	}
}

bool naive_leaf_compare(uint32_t (*draw)(void *source, uint32_t bound), bool (*is_over)(void *source),
                        void *source, bool quirks)
{
	struct uvmp_counter_tree trees[NAIVE_LEAF_TREES];
	uint32_t blocks[NAIVE_LEAF_TREES];
	unsigned count = 1 + draw(source, NAIVE_LEAF_TREES);
	struct naive_leaf m;

	for (unsigned t = 0; t < count; t++) {
		blocks[t] = 1u << draw(source, NAIVE_LEAF_LEVELS);
		(void)uvmp_counter_tree_init(&trees[t], blocks[t]);
	}
	naive_leaf_init(&m, count, blocks);
	while (!is_over(source)) {
		step(&m, trees, draw, source, quirks);
		if (!naive_leaf_equals(&m, trees))
			return false;
	}
	return true;
}

/* Stored after every step, so that nothing is kept in higher precision. */
static float demand(const struct uvmp_pressure *pressure)
{
	uint64_t used = pressure->total_pages - pressure->free_pages;
	volatile float sum;

	if (!pressure->quirks && pressure->free_pages > pressure->total_pages)
		used = 0;
	sum = (float)pressure->total_pages * (float)pressure->buffer_percent;
	sum = sum / 100.0f;
	sum = sum + (float)used;
	sum = sum + (float)pressure->incoming_pages;
	return sum;
}

static float supply(const struct uvmp_pressure *pressure)
{
	volatile float sum = (float)(pressure->leaving_pages + pressure->total_pages);

	return sum;
}

bool naive_pressure_is_over(const struct uvmp_pressure *pressure)
{
	return supply(pressure) < demand(pressure);
}

double naive_pressure_threshold(const struct uvmp_pressure *pressure, uint32_t ts)
{
	volatile float occupancy = demand(pressure) / supply(pressure);
	volatile float product = (float)ts * occupancy;

	return 1.0 + (double)product;
}
