/* auto: recency of what faulted, or the newest of the old units where programs go through their data in a cycle.
 *
 * No access to a resident page is known, as in the driver: only faults and arrivals make a unit the newest. Units of 64 KiB
 * form one list by their last fault. Every UVMP_EVICT_GROUP_UNITS units are the parts of one block. A block of which half or
 * more arrived in one batch is whole: it moves in the list as one, and leaves as one (uvmp_evict_together), since its next
 * fault would bring all of it again. Of other blocks, the units that are neighbours in the list leave together.
 *
 * Two rules choose victims.
 *  - Oldest: the unit whose last fault is the longest ago.
 *  - Keep: the newest unit that is old. Units are fresh while they are among the last eighth of the arrivals, and at least for
 *    the last two batches, so that data reaches the threads that wait for it. A program that goes through more data than fits,
 *    in a cycle, faults on everything under the first rule; under this one, what stays is used again.
 *
 * The order begins with the oldest. It changes to keep when blocks return in the order in which they left, which only a
 * cycle does for three quarters of a turn of memory. Under keep each fourth victim is still the oldest. In a cycle that
 * costs nothing, as all data are equal; and it shows the regret of both rules: pages that return, weighted by how soon (1 at
 * once, 0 after as many evictions as units fit). As soon as the regret of keep for each evicted unit exceeds that of the oldest,
 * the order returns to the oldest: for one turn of memory, the next time for two, and so on up to 64.
 *
 * A retained set that is no longer used is thus found by two signs: its sample does not return, and what left instead does.
 *
 * Tenants. Each block has an owner, such as an allocation. While at least two tenants have units, a tenant is protected if it
 * has at most a quarter of an equal share of memory and half or more of the units that it lost lately have returned within a
 * turn of memory. A victim of a protected tenant becomes the newest instead of leaving, so that a tenant that goes through much
 * data does not push out the little that another tenant uses again and again. Two limits: the tenant that was touched last, for
 * which room is probably needed, is not protected; and each eighth protected victim leaves as a sample, so that data that are
 * no longer used lose the protection, and a search moves at most seven victims. Also protected is a tenant of which the caller
 * knows that it is in use (uvmp_evict.used, or the argument of the search), however large it is, and even if it was touched last,
 * as long as other tenants have units.
 *
 * The idea of insertion at the other end of the list: Qureshi et al., Adaptive Insertion Policies, ISCA 2007 (BIP and DIP; there
 * sets of a cache are the samples). Evicting the newest of the old: HPE and CPPE, see evict_mhpe.c. */
#include "evict_auto_internal.h"

#define OLD 0u /* the stamp of units that are not fresh: stamps wrap, and such a unit may stay for longer */

enum {
	FRESH_SHARE = 8,   /* of the listed units are fresh, */
	FRESH_LEAST = 64,  /* and at least so many */
	FULL = 1 << 16,	   /* score of returns that are all in order */
	STEP = 16,	   /* each return moves the score by this part */
	ENTER = 13,	   /* sixteenths of FULL at which keep begins */
	SAMPLE = 4,	   /* of so many blocks that leave under keep, one is the oldest */
	WEIGHT = 16,	   /* of a return at once */
	EVIDENCE = UVMP_EVICT_GROUP_UNITS, /* units, of each rule, before the regrets are compared */
	GAP_MOST = 64,	   /* turns of memory before keep is tried again */
	TENANT_SHARE = 4,  /* a protected tenant has at most this part of an equal share */
	TENANT_SAMPLE = 8, /* of so many protected victims, one leaves */
	BURST = UVMP_EVICT_GROUP_UNITS / 2 /* units of one batch that make a block whole */
};

static struct auto_order *state_of(const struct uvmp_evict *evict)
{
	return (struct auto_order *)evict->state;
}

static struct auto_group *group_of(const struct auto_order *order, uint32_t unit)
{
	return &order->group[unit / UVMP_EVICT_GROUP_UNITS];
}

static void init(struct uvmp_evict *evict)
{
	struct auto_order *order = state_of(evict);

	*order = (struct auto_order){.gap = 1};
	order->stamp = (uint32_t *)(void *)(order->link + evict->units + 1u);
	order->group = (struct auto_group *)(void *)(order->stamp + evict->units);
	uvmpi_recency_init(&order->list, order->link, evict->units);
}

static void move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct auto_order *old = state_of(from);
	struct auto_order *order = state_of(to);
	uint32_t *stamp = order->stamp, begun = old->list.begun;
	struct auto_group *group = order->group;
	struct recency list = order->list;

	*order = *old;
	order->list = list;
	order->stamp = stamp;
	order->group = group;
	uvmpi_recency_move(&old->list, &order->list);
	__builtin_memcpy(stamp, old->stamp, begun * sizeof(*stamp));
	__builtin_memcpy(group, old->group,
			 ((size_t)begun + UVMP_EVICT_GROUP_UNITS - 1u) / UVMP_EVICT_GROUP_UNITS * sizeof(*group));
}

/* Writes the state up to the unit's that was never used. */
static void begin(struct auto_order *order, uint32_t unit)
{
	for (uint32_t i = order->list.begun; i <= unit; i++) {
		order->stamp[i] = OLD;
		if (i % UVMP_EVICT_GROUP_UNITS == 0)
			*group_of(order, i) = (struct auto_group){.departed = 0};
	}
	if (unit >= order->list.begun)
		uvmpi_recency_begin(&order->list, unit);
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct auto_order *order = state_of(evict);

	return order->list.units == evict->units && order->fresh <= evict->count && order->score <= FULL &&
	       order->rule < AUTO_RULES && uvmpi_recency_is_valid(&order->list, evict->count);
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	return uvmpi_recency_contains(&state_of(evict)->list, unit);
}

/* -- tenants -- */

static struct auto_tenant *tenant_of(struct auto_order *order, const struct auto_group *group)
{
	return &order->tenant[group->tenant];
}

/* Units of the group are listed. */
static void join_tenant(struct auto_order *order, const struct auto_group *group, uint32_t units)
{
	struct auto_tenant *tenant = tenant_of(order, group);

	order->tenants += units != 0 && tenant->listed == 0;
	tenant->listed += units;
}

/* Units of the group are no longer listed. */
static void leave_tenant(struct auto_order *order, const struct auto_group *group, uint32_t units)
{
	struct auto_tenant *tenant = tenant_of(order, group);

	tenant->listed -= units;
	order->tenants -= units != 0 && tenant->listed == 0;
}

static void own(struct uvmp_evict *evict, uint32_t unit, uint32_t owner)
{
	struct auto_order *order = state_of(evict);
	struct auto_group *group;

	begin(order, unit);
	group = group_of(order, unit);
	leave_tenant(order, group, group->listed);
	group->tenant = (uint8_t)(owner % UVMP_EVICT_TENANTS);
	join_tenant(order, group, group->listed);
}

static void lose(struct auto_tenant *tenant, uint32_t units, uint32_t count)
{
	tenant->evicted += units;
	if (tenant->evicted <= count)
		return;
	tenant->evicted /= 2u;
	tenant->returned /= 2u;
}

static uint32_t tenants(const struct uvmp_evict *evict)
{
	const struct auto_order *order = state_of(evict);
	uint32_t set = 0;

	for (uint32_t i = 0; i < UVMP_EVICT_TENANTS; i++)
		set |= (uint32_t)(order->tenant[i].listed != 0) << i;
	return set;
}

/* Would the victim stay if it were no sample? A tenant alone has all units, which is more than a quarter. */
static bool is_protected(struct auto_order *order, uint32_t unit, uint32_t count, uint32_t used)
{
	const struct auto_group *group = group_of(order, unit);
	const struct auto_tenant *tenant = tenant_of(order, group);

	if ((used >> group->tenant & 1u) != 0)
		return true;
	return group->tenant != order->asker &&
	       (uint64_t)tenant->listed * TENANT_SHARE * order->tenants <= count && tenant->evicted >= EVIDENCE &&
	       tenant->returned >= tenant->evicted / 2u;
}

/* -- the list -- */

/* Is `stamp` that of a later arrival than `other`? Stamps wrap. */
static bool is_later(uint32_t stamp, uint32_t other)
{
	return (int32_t)(stamp - other) > 0;
}

/* Is the listed unit fresh? */
static bool is_fresh(const struct auto_order *order, uint32_t unit)
{
	return order->stamp[unit] != OLD;
}

/* Has the listed unit become the newest in this batch? */
static bool has_moved(const struct auto_order *order, uint32_t unit)
{
	return is_fresh(order, unit) && is_later(order->stamp[unit], order->batch[0]);
}

static void leave_place(struct auto_order *order, uint32_t unit)
{
	if (is_fresh(order, unit)) {
		order->fresh--;
		if (order->window == unit + 1u)
			order->window = order->link[unit + 1u].next;
	}
	uvmpi_recency_take_off(&order->list, unit);
}

/* Makes a unit that is not listed the newest. */
static void take_place(struct auto_order *order, uint32_t unit)
{
	if (++order->arrivals == OLD)
		order->arrivals++;
	order->stamp[unit] = order->arrivals;
	link_append(order->link, unit + 1u, 0);
	if (order->window == 0)
		order->window = unit + 1u;
	order->fresh++;
}

/* Units beyond the share, of earlier batches than the last two, are no longer fresh. */
static void age(struct auto_order *order, uint32_t count)
{
	uint32_t most = count / FRESH_SHARE > FRESH_LEAST ? count / FRESH_SHARE : (uint32_t)FRESH_LEAST;

	while (order->fresh > most && !is_later(order->stamp[order->window - 1u], order->batch[AUTO_BATCHES - 1])) {
		order->stamp[order->window - 1u] = OLD;
		order->window = order->link[order->window].next;
		order->fresh--;
	}
}

/* -- the rule -- */

static void enter(struct auto_order *order, enum auto_rule rule, uint32_t count)
{
	uint64_t wait;

	order->rule = (uint8_t)rule;
	order->turn = 0;
	for (uint32_t i = 0; i < AUTO_RULES; i++)
		order->evicted[i] = order->regret[i] = 0;
	if (rule == AUTO_KEEP)
		return;
	order->score = 0;
	wait = (uint64_t)order->gap * count;
	order->wait = wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX;
	if (order->gap < GAP_MOST)
		order->gap *= 2u;
}

/* A block returns in order if it left after the block that returned last, or hardly before, and less than half a turn later. */
static void judge_order(struct auto_order *order, uint32_t left, uint32_t count)
{
	uint32_t slack = count / 32u + 32u, ahead = left - order->judged + slack;

	order->score -= order->score / STEP;
	if (ahead <= count / 2u + slack)
		order->score += FULL / STEP;
	order->judged = left;
}

/* 0..WEIGHT-1: `left` of `all`, which is larger and below 2^31, by long division. */
static uint32_t weight_of(uint32_t left, uint32_t all)
{
	uint32_t weight = 0;

	for (uint32_t i = 1; i < WEIGHT; i *= 2u) {
		left *= 2u;
		weight *= 2u;
		if (left >= all) {
			left -= all;
			weight++;
		}
	}
	return weight;
}

/* A unit arrives in a group of which units have left. */
static void judge(struct auto_order *order, struct auto_group *group, bool is_first, uint32_t count)
{
	uint32_t distance = order->clock - group->left;

	group->departed--;
	tenant_of(order, group)->returned += distance <= count;
	if (is_first)
		judge_order(order, group->left, count);
	if (distance <= count)
		order->regret[group->rule] += weight_of(count - distance, count + 1u);
}

/* Is the regret of keep for each unit that it evicted above that of the oldest? */
static bool regrets_keep(const struct auto_order *order)
{
	return order->regret[AUTO_KEEP] >= EVIDENCE * WEIGHT && order->evicted[AUTO_OLDEST] >= EVIDENCE &&
	       (uint64_t)order->regret[AUTO_OLDEST] * order->evicted[AUTO_KEEP] <
		       (uint64_t)order->regret[AUTO_KEEP] * order->evicted[AUTO_OLDEST];
}

static void choose_rule(struct auto_order *order, uint32_t count)
{
	if (order->rule == AUTO_OLDEST) {
		if (order->score <= FULL / 16u * ENTER)
			order->unordered = order->clock;
		else if (order->clock - order->unordered >= count / 4u * 3u && order->wait == 0)
			enter(order, AUTO_KEEP, count);
	} else if (regrets_keep(order)) {
		enter(order, AUTO_OLDEST, count);
	} else if (order->evicted[AUTO_KEEP] > count) {
		for (uint32_t i = 0; i < AUTO_RULES; i++) {
			order->evicted[i] /= 2u;
			order->regret[i] /= 2u;
		}
	}
}

/* -- units come and leave -- */

static void arrive(struct uvmp_evict *evict, uint32_t unit)
{
	struct auto_order *order = state_of(evict);
	struct auto_group *group = group_of(order, unit);
	bool is_first = group->batch != order->batch[0] || group->listed == 0;

	if (group->departed != 0)
		judge(order, group, is_first, evict->count);
	if (evict->keeps_old)
		choose_rule(order, evict->count);
	if (is_first)
		group->burst = 0;
	group->batch = order->batch[0];
	group->burst++;
	group->listed++;
	join_tenant(order, group, 1);
	group->is_whole |= group->burst >= BURST;
	evict->count++;
}

/* The units of a whole block that have not moved in this batch become the newest, in the order of their addresses. */
static void move_whole(struct auto_order *order, uint32_t unit)
{
	uint32_t first = unit - unit % UVMP_EVICT_GROUP_UNITS, end = first + UVMP_EVICT_GROUP_UNITS;

	for (uint32_t i = first; i < end && i < order->list.begun; i++) {
		if (uvmpi_recency_contains(&order->list, i) && !has_moved(order, i)) {
			leave_place(order, i);
			take_place(order, i);
		}
	}
}

/* A listed unit becomes the newest, or all of its block. */
static void renew(struct auto_order *order, uint32_t unit)
{
	if (group_of(order, unit)->is_whole && !has_moved(order, unit)) {
		move_whole(order, unit);
	} else {
		leave_place(order, unit);
		take_place(order, unit);
	}
}

static enum uvmp_status touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct auto_order *order = state_of(evict);

	begin(order, unit);
	order->asker = group_of(order, unit)->tenant;
	if (uvmpi_recency_contains(&order->list, unit)) {
		renew(order, unit);
	} else {
		arrive(evict, unit);
		take_place(order, unit);
	}
	age(order, evict->count);
	return UVMP_OK;
}

static enum uvmp_status take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct auto_order *order = state_of(evict);
	struct auto_group *group = group_of(order, unit);

	if (!uvmpi_recency_contains(&order->list, unit))
		return UVMP_OK;
	leave_place(order, unit);
	evict->count--;
	leave_tenant(order, group, 1);
	if (--group->listed == 0)
		group->is_whole = false;
	return UVMP_OK;
}

static enum uvmp_status forget(struct uvmp_evict *evict, uint32_t unit)
{
	take_off(evict, unit);
	if (unit < state_of(evict)->list.begun)
		group_of(state_of(evict), unit)->departed = 0;
	return UVMP_OK;
}

/* Units of the group, of so many pages, were evicted. */
static void left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched)
{
	struct auto_order *order = state_of(evict);
	struct auto_group *group = group_of(order, unit);
	uint32_t units = (pages + AUTO_UNIT_PAGES - 1u) / AUTO_UNIT_PAGES;

	(void)untouched;
	if (unit >= order->list.begun)
		return;
	order->clock += units;
	order->wait -= order->wait < units ? order->wait : units;
	order->evicted[order->chosen] += units;
	order->turn += units;
	lose(tenant_of(order, group), units, evict->count);
	units += group->departed;
	group->departed = (uint8_t)(units < UVMP_EVICT_GROUP_UNITS ? units : UVMP_EVICT_GROUP_UNITS);
	group->left = order->clock;
	group->rule = order->chosen;
}

static void batch(struct uvmp_evict *evict)
{
	struct auto_order *order = state_of(evict);

	if (order->batch[0] == order->arrivals)
		return;
	for (uint32_t i = AUTO_BATCHES - 1u; i > 0; i--)
		order->batch[i] = order->batch[i - 1u];
	order->batch[0] = order->arrivals;
}

/* -- victims -- */

/* The newest unit that is not fresh; UVMP_UNIT_NONE: all are. */
static uint32_t newest_old(const struct auto_order *order)
{
	return order->link[order->window].prev - 1u;
}

/* The unit that the present rule names, and the rule. */
static uint32_t choose(struct auto_order *order, bool may_keep)
{
	bool keeps = may_keep && order->rule == AUTO_KEEP && order->turn / UVMP_EVICT_GROUP_UNITS % SAMPLE != 0;
	uint32_t newest = keeps ? newest_old(order) : UVMP_UNIT_NONE;

	order->chosen = newest != UVMP_UNIT_NONE ? AUTO_KEEP : AUTO_OLDEST;
	return newest != UVMP_UNIT_NONE ? newest : uvmpi_recency_oldest(&order->list);
}

/* A reserve has no effect. */
static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t used, uint32_t *unit)
{
	struct auto_order *order = state_of(evict);

	(void)random, (void)rank, (void)walk;
	if (used != 0 && (tenants(evict) & ~used) == 0)
		used = 0;
	*unit = choose(order, evict->keeps_old);
	while (is_protected(order, *unit, evict->count, used) && ++order->spared % TENANT_SAMPLE != 0) {
		renew(order, *unit);
		age(order, evict->count);
		*unit = choose(order, evict->keeps_old);
	}
	return UVMP_OK;
}

/* Under keep the older units follow, then the fresh ones, oldest first. */
static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	const struct auto_order *order = state_of(evict);
	uint32_t older;

	(void)random, (void)walk;
	if (order->chosen == AUTO_OLDEST || !contains(evict, *unit) || is_fresh(order, *unit))
		return evict_found(uvmpi_recency_next(&order->list, *unit), unit);
	older = uvmpi_recency_older(&order->list, *unit);
	return evict_found(older != UVMP_UNIT_NONE ? older : order->window - 1u, unit);
}

static enum uvmp_evict_choice chosen(const struct uvmp_evict *evict)
{
	const struct auto_order *order = state_of(evict);

	if (order->chosen == AUTO_KEEP)
		return UVMP_CHOICE_NEWEST;
	return order->rule == AUTO_KEEP ? UVMP_CHOICE_SAMPLE : UVMP_CHOICE_OLDEST;
}

/* Does the walk go on with older units? */
static bool goes_back(const struct auto_order *order, uint32_t unit)
{
	return order->chosen == AUTO_KEEP && !is_fresh(order, unit);
}

/* All listed units of a whole block; else the unit, and those of its group that follow it in the walk, so that no fresh unit
 * leaves with an old one under keep. */
static uint32_t together(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct auto_order *order = state_of(evict);
	uint32_t group = unit / UVMP_EVICT_GROUP_UNITS, first = group * UVMP_EVICT_GROUP_UNITS, set = 0;

	if (!uvmpi_recency_contains(&order->list, unit))
		return 0;
	if (!order->group[group].is_whole) {
		bool is_backward = goes_back(order, unit);

		do {
			set |= (uint32_t)1 << unit % UVMP_EVICT_GROUP_UNITS;
			unit = is_backward ? uvmpi_recency_older(&order->list, unit)
					 : uvmpi_recency_newer(&order->list, unit);
		} while (unit / UVMP_EVICT_GROUP_UNITS == group);
		return set;
	}
	for (uint32_t i = 0; i < UVMP_EVICT_GROUP_UNITS && first + i < order->list.begun; i++)
		if (uvmpi_recency_contains(&order->list, first + i))
			set |= (uint32_t)1 << i;
	return set;
}

const struct eviction_order uvmpi_order_auto = {
	.name = "auto",
	.summary = "longest without a fault; the newest of the old ones where data return in a cycle",
	.traits = {.unit_pages = AUTO_UNIT_PAGES, .has_groups = true, .ignores_accesses = true},
	.state_bytes = sizeof(struct auto_order) + sizeof(struct recency_link),
	.unit_bytes = sizeof(struct recency_link) + sizeof(uint32_t),
	.group_bytes = sizeof(struct auto_group),
	EVICT_FUNCTIONS(init, move, is_valid, contains, touch, take_off, victim, next),
	.forget = forget,
	.batch = batch,
	.left = left,
	.own = own,
	.tenants = tenants,
	.together = together,
	.chosen = chosen,
};
