/* remote=auto: does a program use a tenant's data for more than a round each time? Then they return at once the next time.
 *
 * A program may change between sets of data which fit. With rounds alone (remote_idle.c) each change costs a round of accesses
 * across the link, and then the blocks move. This module learns from earlier changes that they will move.
 *
 * A period of a tenant begins with its first notification after a whole round of any tenant. A watched period is long if it has a
 * complete round, and then more than half of its remote blocks return without a draw: so the program has used the tenant for more
 * than a round, while another tenant was idle.
 *
 * After a long period the next `gap` periods of the tenant are expected to be long. In these, each block returns with its first
 * notification, and the round is complete once more than half of the remote blocks have returned. All tenants make room, except
 * those that were notified beside this one in the last watched period or since. If these hold all of memory, idle tenants make
 * room as in other periods. After `gap` periods one is watched again. If it is long, `gap` doubles, up to GAP_MOST. If not, each
 * period is watched until one is long.
 *
 * A watched period without a complete round, whose last round has cost less than half, says nothing about other tenants. It says
 * something about this one only if it had at least half as many remote blocks as the next period begins with.
 *
 * A tenant without a verdict is expected to be like the others, for GAP_LEAST periods, if the last LONGS verdicts on any tenants
 * were `long`.
 *
 * Cost of a wrong expectation: the blocks move instead of being read across the link, as without remote access, in at most GAP_MOST
 * periods. Cost of watching: a round of accesses, in one of `gap` + 1 periods. */
#include "../base/bits_internal.h"
#include "remote_period_internal.h"

#define GAP_LEAST 2u
#define GAP_MOST  16u
#define LONGS     2u

static void judge(struct idle *idle, struct idle_tenant *tenant, uint32_t gap)
{
	tenant->is_judged = true;
	tenant->gap = tenant->left = (uint8_t)gap;
	idle->longs = (uint8_t)(gap == 0 ? 0 : minimum(idle->longs + 1u, LONGS));
}

/* The period that ends was watched, and not long. */
static void judge_short(struct idle *idle, struct idle_tenant *tenant, uint32_t cost)
{
	if (tenant->period == PERIOD_RETURNING || 2u * tenant->spent >= (uint64_t)tenant->remote * cost)
		judge(idle, tenant, 0);
	else if (2u * tenant->most >= tenant->remote)
		tenant->is_judged = true;
}

static void begin(struct idle *idle, struct idle_tenant *tenant, uint32_t cost)
{
	if (tenant->period == PERIOD_WATCHED || tenant->period == PERIOD_RETURNING)
		judge_short(idle, tenant, cost);
	if (!tenant->is_judged && tenant->period != PERIOD_EXPECTED)
		tenant->gap = tenant->left = idle->longs == LONGS ? GAP_LEAST : 0;
	tenant->period = tenant->left != 0 ? PERIOD_EXPECTED : PERIOD_WATCHED;
	tenant->opened = idle->now;
	tenant->most = tenant->remote;
	tenant->due = tenant->remote / 2u + 1u;
	if (tenant->left != 0)
		tenant->left--;
	else
		tenant->beside = 0;
}

void uvmpi_period_note(struct idle *idle, struct idle_tenant *tenant, uint32_t cost)
{
	if (tenant->period == PERIOD_NONE || tenant->heard <= idle->before)
		begin(idle, tenant, cost);
	tenant->beside |= (uint16_t)(1u << (uint32_t)(tenant - idle->tenant));
	for (uint32_t i = 0; i < UVMP_EVICT_TENANTS; i++)
		if (idle->tenant[i].heard > tenant->opened)
			tenant->beside |= (uint16_t)(1u << i);
}

uint32_t uvmpi_period_round(const struct idle_tenant *tenant)
{
	return tenant->period == PERIOD_EXPECTED ? tenant->most : tenant->remote;
}

void uvmpi_period_complete(struct idle_tenant *tenant)
{
	if (tenant->period != PERIOD_WATCHED)
		return;
	tenant->period = PERIOD_RETURNING;
	tenant->due = tenant->most / 2u + 1u;
}

bool uvmpi_period_return(struct idle *idle, struct idle_tenant *tenant)
{
	bool counts = tenant->period == PERIOD_RETURNING || tenant->period == PERIOD_EXPECTED;

	if (!counts || tenant->due == 0 || --tenant->due != 0)
		return false;
	if (tenant->period == PERIOD_EXPECTED)
		return true;
	tenant->period = PERIOD_LONG;
	judge(idle, tenant, tenant->gap == 0 ? GAP_LEAST : minimum(2u * tenant->gap, GAP_MOST));
	return false;
}

bool uvmpi_period_is_expected(const struct idle_tenant *tenant)
{
	return tenant->period == PERIOD_EXPECTED;
}

uint32_t uvmpi_period_gives(const struct idle_tenant *tenant, uint32_t set)
{
	return set & ~(uint32_t)tenant->beside;
}
