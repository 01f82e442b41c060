#include "model/naive_tbn.h"

#include <string.h>

#define PG 4096u
#define BB 65536u

void naive_tbn_init(struct naive_tbn *m, unsigned pages, unsigned blocks, bool is_tbn, bool quirks)
{
	memset(m, 0, sizeof(*m));
	m->pages = pages;
	m->blocks = blocks;
	m->is_tbn = is_tbn;
	m->quirks = quirks;
}

static unsigned leaf_node(const struct naive_tbn *m, unsigned block)
{
	return m->blocks - 1 + block;
}

/* Bytes of the block that a leaf really has: 64 KB, less at the end of an odd block. */
static uint64_t room(const struct naive_tbn *m, unsigned block)
{
	uint64_t bytes = 0;

	for (unsigned p = block * 16; p < block * 16 + 16; p++)
		if (p < m->pages)
			bytes += PG;
	return bytes;
}

/* [uvmsmart: tree-updates], from the root down; `change` is added or subtracted. */
static void walk(struct naive_tbn *m, unsigned node, unsigned first, unsigned leaves, unsigned block,
                 int sign, uint64_t change)
{
	uint64_t size = (uint64_t)leaves * BB;

	if (block < first || block >= first + leaves)
		return;
	if (sign > 0 && m->valid[node] != size)
		m->valid[node] += change;
	if (sign < 0 && m->valid[node] != 0)
		m->valid[node] -= change;
	if (leaves == 1)
		return;
	walk(m, 2 * node + 1, first, leaves / 2, block, sign, change);
	walk(m, 2 * node + 2, first + leaves / 2, leaves / 2, block, sign, change);
}

static void sum(struct naive_tbn *m, unsigned node, unsigned leaves)
{
	if (leaves == 1)
		return;
	sum(m, 2 * node + 1, leaves / 2);
	sum(m, 2 * node + 2, leaves / 2);
	m->valid[node] = m->valid[2 * node + 1] + m->valid[2 * node + 2];
}

/* quirks = 0: a leaf holds what is resident or in flight, an inner node the sum. */
static void recount(struct naive_tbn *m)
{
	for (unsigned b = 0; b < m->blocks; b++) {
		m->valid[leaf_node(m, b)] = 0;
		for (unsigned p = b * 16; p < b * 16 + 16; p++)
			if (m->resident[p] || m->pending[p])
				m->valid[leaf_node(m, b)] += PG;
	}
	sum(m, 0, m->blocks);
}

/* Was an empty leaf below the node? */
static bool fill(struct naive_tbn *m, unsigned node, unsigned first, unsigned leaves, bool *chosen)
{
	bool is_left, is_right;

	if (leaves == 1) {
		if (m->valid[node] != 0 || room(m, first) == 0)
			return false;
		m->valid[node] = m->quirks ? BB : room(m, first);
		chosen[first] = true;
		return true;
	}
	is_left = fill(m, 2 * node + 1, first, leaves / 2, chosen);
	is_right = fill(m, 2 * node + 2, first + leaves / 2, leaves / 2, chosen);
	m->valid[node] = m->valid[2 * node + 1] + m->valid[2 * node + 2];
	return is_left || is_right;
}

/* The blocks of a node belong together from now on. */
static void join(struct naive_tbn *m, unsigned first, unsigned leaves)
{
	for (unsigned b = first; b < first + leaves; b++) {
		m->node_first[b] = first;
		m->node_end[b] = first + leaves;
	}
}

static void visit(struct naive_tbn *m, unsigned node, unsigned first, unsigned leaves, bool *chosen)
{
	uint64_t size = (uint64_t)leaves * BB;

	if (leaves == 1)
		return;
	visit(m, 2 * node + 1, first, leaves / 2, chosen);
	visit(m, 2 * node + 2, first + leaves / 2, leaves / 2, chosen);
	m->valid[node] = m->valid[2 * node + 1] + m->valid[2 * node + 2];
	if (m->valid[node] != size && m->valid[node] > size / 2 && fill(m, node, first, leaves, chosen))
		join(m, first, leaves);
}

void naive_tbn_fault(struct naive_tbn *m, const bool *faulted, bool *fetched, bool *chosen)
{
	bool batch[NAIVE_TBN_PAGES] = {false};
	bool is_empty = true;

	memset(chosen, 0, NAIVE_TBN_BLOCKS * sizeof(*chosen));
	memset(fetched, 0, NAIVE_TBN_PAGES * sizeof(*fetched));
	for (unsigned b = 0; b < m->blocks; b++)
		join(m, b, 1);
	for (unsigned p = 0; p < m->pages; p++) {
		if (!faulted[p] || m->resident[p] || m->pending[p])
			continue;
		is_empty = false;
		batch[p] = true;
		chosen[p / 16] = true;
		if (m->quirks)
			walk(m, 0, 0, m->blocks, p / 16, 1, BB);
		else
			m->valid[leaf_node(m, p / 16)] = room(m, p / 16);
	}
	if (is_empty)
		return;
	if (!m->quirks)
		sum(m, 0, m->blocks);
	if (m->is_tbn)
		visit(m, 0, 0, m->blocks, chosen);
	for (unsigned p = 0; p < m->pages; p++) {
		if (!chosen[p / 16] || m->resident[p] || (!m->quirks && m->pending[p]))
			continue;
		m->pending[p] = true;
		fetched[p] = !batch[p];
	}
}

void naive_tbn_see(struct naive_tbn *m, const bool *resident)
{
	memcpy(m->resident, resident, sizeof(m->resident));
	memset(m->pending, 0, sizeof(m->pending));
	if (!m->quirks)
		recount(m);
}

void naive_tbn_count(struct naive_tbn *m, unsigned page, bool is_more)
{
	walk(m, 0, 0, m->blocks, page / 16, is_more ? 1 : -1, PG);
}

void naive_tbn_sum(struct naive_tbn *m)
{
	sum(m, 0, m->blocks);
}

unsigned naive_tbn_leaf(const struct naive_tbn *m, unsigned block)
{
	return (unsigned)(m->valid[leaf_node(m, block)] / PG);
}

void naive_tbn_arrive(struct naive_tbn *m, unsigned page)
{
	m->resident[page] = true;
	m->pending[page] = false;
	if (!m->quirks)
		recount(m);
}

void naive_tbn_drop(struct naive_tbn *m, unsigned page)
{
	if (!m->resident[page])
		return;
	m->resident[page] = false;
	if (m->quirks)
		walk(m, 0, 0, m->blocks, page / 16, -1, PG);
	else
		recount(m);
}

void naive_tbn_drop_block(struct naive_tbn *m, unsigned block)
{
	for (unsigned p = block * 16; p < block * 16 + 16; p++)
		if (!m->resident[p])
			return;
	memset(&m->resident[block * 16], 0, 16 * sizeof(bool));
	if (m->quirks)
		walk(m, 0, 0, m->blocks, block, -1, BB);
	else
		recount(m);
}
