#include "naive_auto.h"

#include <string.h>

#define BLOCK NAIVE_AUTO_BLOCK
#define UNITS NAIVE_AUTO_UNITS

enum {
	FRESH_SHARE = 8,
	FRESH_LEAST = 64,
	FRESH_BATCHES = 3, /* the present one and two before */
	SCORE_FULL = 65536,
	SCORE_ENTER = 53248,
	SCORE_STEP = 16,
	SAMPLE = 4,
	WEIGHT = 16,
	EVIDENCE = 32,
	GAP_MOST = 64,
	WHOLE = 16,
	UNIT_PAGES = 16,
	SHARE = 4, /* of an equal share of a tenant */
	LEAVES = 8
};

void naive_auto_init(struct naive_auto *n)
{
	memset(n, 0, sizeof(*n));
	n->gap = 1;
	n->batches = 1;
}

uint32_t naive_auto_count(const struct naive_auto *n)
{
	uint32_t count = 0;

	for (uint32_t unit = 0; unit < UNITS; unit++)
		count += n->is_listed[unit];
	return count;
}

static uint32_t listed_of_block(const struct naive_auto *n, uint32_t block)
{
	uint32_t listed = 0;

	for (uint32_t unit = block * BLOCK; unit < block * BLOCK + BLOCK; unit++)
		listed += n->is_listed[unit];
	return listed;
}

/* The moves before the batch that is so many before the present one. */
static uint64_t begin_of(const struct naive_auto *n, int64_t before)
{
	return n->batches > before ? n->begin[n->batches - 1 - before] : 0;
}

static uint32_t oldest_fresh(const struct naive_auto *n, uint32_t *fresh)
{
	uint32_t oldest = UNITS;

	*fresh = 0;
	for (uint32_t unit = 0; unit < UNITS; unit++) {
		if (!n->is_listed[unit] || !n->is_fresh[unit])
			continue;
		++*fresh;
		if (oldest == UNITS || n->moved[unit] < n->moved[oldest])
			oldest = unit;
	}
	return oldest;
}

static void age(struct naive_auto *n)
{
	uint32_t most = naive_auto_count(n) / FRESH_SHARE, fresh, unit;

	if (most < FRESH_LEAST)
		most = FRESH_LEAST;
	for (;;) {
		unit = oldest_fresh(n, &fresh);
		if (fresh <= most || n->moved[unit] > begin_of(n, FRESH_BATCHES - 1))
			return;
		n->is_fresh[unit] = false;
	}
}

static void move(struct naive_auto *n, uint32_t unit)
{
	n->is_listed[unit] = n->is_fresh[unit] = true;
	n->moved[unit] = ++n->moves;
}

static uint32_t tenant_of(const struct naive_auto *n, uint32_t unit)
{
	return n->block[unit / BLOCK].owner % NAIVE_AUTO_TENANTS;
}

void naive_auto_own(struct naive_auto *n, uint32_t unit, uint32_t owner)
{
	if (n->begun <= unit)
		n->begun = unit + 1;
	n->block[unit / BLOCK].owner = owner;
}

/* Little data of a tenant that does not ask, of which at least half has always come back; or data in use, beside others. */
static bool is_protected(const struct naive_auto *n, uint32_t unit)
{
	uint32_t listed[NAIVE_AUTO_TENANTS] = {0}, tenants = 0, unused = 0, tenant = tenant_of(n, unit);

	for (uint32_t i = 0; i < UNITS; i++)
		listed[tenant_of(n, i)] += n->is_listed[i];
	for (uint32_t i = 0; i < NAIVE_AUTO_TENANTS; i++) {
		tenants += listed[i] != 0;
		unused += listed[i] != 0 && (n->used >> i & 1) == 0;
	}
	if ((n->used >> tenant & 1) != 0 && unused != 0)
		return true;
	return tenants > 1 && tenant != n->asker && n->lost[tenant] >= EVIDENCE &&
	       n->regained[tenant] >= n->lost[tenant] / 2 && listed[tenant] * SHARE * tenants <= naive_auto_count(n);
}

static void enter(struct naive_auto *n, enum naive_auto_rule rule, uint32_t count)
{
	n->rule = rule;
	n->turn = 0;
	n->evicted[0] = n->evicted[1] = n->regret[0] = n->regret[1] = 0;
	if (rule == NAIVE_KEEP)
		return;
	n->score = 0;
	n->wait = n->clock + n->gap * count;
	n->gap = n->gap * 2 > GAP_MOST ? GAP_MOST : n->gap * 2;
}

static void judge(struct naive_auto *n, struct naive_auto_block *b, bool is_first, uint32_t count)
{
	uint64_t distance = n->clock - b->left;
	int64_t ahead = (int64_t)b->left - n->judged;

	b->gone--;
	if (distance <= count)
		n->regained[b->owner % NAIVE_AUTO_TENANTS]++;
	if (is_first) {
		n->score -= n->score / SCORE_STEP;
		if (ahead >= -(int64_t)(count / 32 + 32) && ahead <= (int64_t)(count / 2))
			n->score += SCORE_FULL / SCORE_STEP;
		n->judged = (int64_t)b->left;
	}
	if (distance <= count)
		n->regret[b->rule] += (count - distance) * WEIGHT / (count + 1);
}

static void choose_rule(struct naive_auto *n, uint32_t count)
{
	if (n->rule == NAIVE_OLDEST) {
		if (n->score <= SCORE_ENTER)
			n->unordered = n->clock;
		else if (n->clock - n->unordered >= count / 4 * 3 && n->clock >= n->wait)
			enter(n, NAIVE_KEEP, count);
		return;
	}
	/* regret for each unit: keep's above the oldest's */
	if (n->regret[NAIVE_KEEP] >= EVIDENCE * WEIGHT && n->evicted[NAIVE_OLDEST] >= EVIDENCE &&
	    n->regret[NAIVE_KEEP] * n->evicted[NAIVE_OLDEST] > n->regret[NAIVE_OLDEST] * n->evicted[NAIVE_KEEP]) {
		enter(n, NAIVE_OLDEST, count);
	} else if (n->evicted[NAIVE_KEEP] > count) {
		for (int i = 0; i < 2; i++) {
			n->evicted[i] /= 2;
			n->regret[i] /= 2;
		}
	}
}

static void arrive(struct naive_auto *n, uint32_t unit)
{
	struct naive_auto_block *b = &n->block[unit / BLOCK];
	bool is_first = b->batch != n->batches || listed_of_block(n, unit / BLOCK) == 0;
	uint32_t count = naive_auto_count(n);

	if (b->gone > 0)
		judge(n, b, is_first, count);
	choose_rule(n, count);
	b->came = is_first ? 1 : b->came + 1;
	b->batch = n->batches;
	if (b->came >= WHOLE)
		b->is_whole = true;
	move(n, unit);
}

static void refresh(struct naive_auto *n, uint32_t unit)
{
	uint32_t first = unit / BLOCK * BLOCK;

	if (n->block[unit / BLOCK].is_whole && n->moved[unit] <= begin_of(n, 0)) {
		for (uint32_t i = first; i < first + BLOCK; i++)
			if (n->is_listed[i] && n->moved[i] <= begin_of(n, 0))
				move(n, i);
	} else {
		move(n, unit);
	}
	age(n);
}

void naive_auto_touch(struct naive_auto *n, uint32_t unit)
{
	if (n->begun <= unit)
		n->begun = unit + 1;
	n->asker = tenant_of(n, unit);
	if (n->is_listed[unit]) {
		refresh(n, unit);
		return;
	}
	arrive(n, unit);
	age(n);
}

void naive_auto_remove(struct naive_auto *n, uint32_t unit)
{
	n->is_listed[unit] = n->is_fresh[unit] = false;
	if (listed_of_block(n, unit / BLOCK) == 0)
		n->block[unit / BLOCK].is_whole = false;
}

void naive_auto_forget(struct naive_auto *n, uint32_t unit)
{
	naive_auto_remove(n, unit);
	if (unit < n->begun)
		n->block[unit / BLOCK].gone = 0;
}

void naive_auto_left(struct naive_auto *n, uint32_t unit, uint32_t pages)
{
	struct naive_auto_block *b = &n->block[unit / BLOCK];
	uint32_t units = (pages + UNIT_PAGES - 1) / UNIT_PAGES, tenant = tenant_of(n, unit);

	if (unit >= n->begun)
		return;
	n->clock += units;
	n->turn += units;
	n->evicted[n->chosen] += units;
	b->gone = b->gone + units > BLOCK ? BLOCK : b->gone + units;
	n->lost[tenant] += units;
	if (n->lost[tenant] > naive_auto_count(n)) {
		n->lost[tenant] /= 2;
		n->regained[tenant] /= 2;
	}
	b->left = n->clock;
	b->rule = n->chosen;
}

/* A batch without moves does not count. */
void naive_auto_batch(struct naive_auto *n)
{
	if (n->begin[n->batches - 1] == n->moves || n->batches == NAIVE_AUTO_BATCHES)
		return;
	n->begin[n->batches++] = n->moves;
}

/* The listed units, oldest first. */
static uint32_t sort(const struct naive_auto *n, uint32_t *sorted)
{
	uint32_t count = 0;

	for (uint32_t unit = 0; unit < UNITS; unit++) {
		uint32_t at = count;

		if (!n->is_listed[unit])
			continue;
		for (; at > 0 && n->moved[sorted[at - 1]] > n->moved[unit]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = unit;
		count++;
	}
	return count;
}

static uint32_t walk_once(struct naive_auto *n, uint32_t walk[NAIVE_AUTO_UNITS])
{
	uint32_t sorted[UNITS], count = sort(n, sorted), old = 0;

	while (old < count && !n->is_fresh[sorted[old]])
		old++;
	n->chosen = n->rule == NAIVE_KEEP && n->turn % (SAMPLE * BLOCK) >= BLOCK && old != 0 ? NAIVE_KEEP : NAIVE_OLDEST;
	for (uint32_t i = 0; i < count; i++)
		walk[i] = n->chosen == NAIVE_KEEP && i < old ? sorted[old - 1 - i] : sorted[i];
	return count;
}

uint32_t naive_auto_walk(struct naive_auto *n, uint32_t walk[NAIVE_AUTO_UNITS])
{
	uint32_t count = walk_once(n, walk);

	while (count != 0 && is_protected(n, walk[0])) {
		if (++n->refusals % LEAVES == 0)
			break;
		refresh(n, walk[0]);
		count = walk_once(n, walk);
	}
	return count;
}

uint32_t naive_auto_together(const struct naive_auto *n, uint32_t unit)
{
	uint32_t sorted[UNITS], count = sort(n, sorted), first = unit / BLOCK * BLOCK, set = 0, at = 0;
	bool is_backward = n->chosen == NAIVE_KEEP && !n->is_fresh[unit];

	if (!n->is_listed[unit])
		return 0;
	if (n->block[unit / BLOCK].is_whole) {
		for (uint32_t i = 0; i < BLOCK; i++)
			set |= (uint32_t)n->is_listed[first + i] << i;
		return set;
	}
	while (sorted[at] != unit)
		at++;
	for (; at < count && sorted[at] / BLOCK == unit / BLOCK; at = is_backward ? at - 1 : at + 1)
		set |= (uint32_t)1 << (sorted[at] - first);
	return set;
}
