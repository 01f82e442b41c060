/* remote=auto: which data of a GPU are idle, so that other data take their place at once.
 *
 * Once memory has been full, a block that returns pushes out another one. No driver sees whether that one is used: its accesses
 * stay on the GPU. But accesses to other blocks of the same allocation, which were evicted before, cross the link, and are
 * notified. So the remote blocks of an allocation stand for its resident ones. A block is remote from when pages of it are evicted,
 * begin on the CPU, or are notified, until pages of it arrive. Allocations are counted in UVMP_EVICT_TENANTS classes, as by
 * evict=auto.
 *
 * A tenant completes a round when its notified accesses have cost as much as moving all of its remote blocks, each counted as a
 * whole block: it uses its pages again and again. Another tenant is idle for it if that tenant has remote blocks, and none of them
 * was notified since the last complete round began. Then the blocks of the first tenant return with their next notification,
 * without a draw, as long as an idle tenant has resident blocks. If such returns have followed each change of the program, the
 * blocks return at once after the next change, too (remote_period.c).
 *
 * A round begins when the last one is complete, and with the first notification after a whole round of the tenant that was
 * notified last. Tenants that are used once each, in turn, complete no round within one use, so that none is idle. If the first
 * block of a tenant becomes remote, the round of the tenant that was notified last starts again: that tenant has pushed the block
 * out, or the block has just been used. A round later it is known whether the block is used.
 *
 * A block that returns must not push out data that are in use. The search for a victim spares tenants that were notified in the
 * present round. If a round has just ended, the last one counts. If this spares all resident tenants, the tenant with the oldest
 * notification makes room. Tenants without remote blocks also make room: only then do notifications show their use. In an expected
 * period, the tenants make room that remote_period.c names.
 *
 * A remote block may move elsewhere without a visit to the GPU. It still counts as remote, and its tenant may seem idle. This ends
 * when the GPU evicts another block of the tenant, and uses that block. */
#include "../base/bits_internal.h"
#include "../evict/evict_internal.h"
#include "remote_idle_internal.h"
#include "remote_internal.h"
#include "remote_period_internal.h"
#include "space_internal.h"

#define SMALL_PAGE   4096u
#define ACCESS_PARTS 32u /* accesses that take as long as a copy of a small page */

static uint32_t set_of(uint32_t tenant)
{
	return (uint32_t)1 << tenant;
}

static void begin_round(struct idle_tenant *tenant, uint64_t now)
{
	tenant->begun = now;
	tenant->spent = 0;
}

/* Was the tenant not notified since the last round began of the tenant that was notified last? */
static bool is_silent(const struct idle *idle, const struct idle_tenant *tenant)
{
	return tenant->noted <= idle->tenant[idle->latest].before;
}

static void complete_round(struct idle *idle, struct idle_tenant *tenant)
{
	tenant->before = idle->before = tenant->begun;
	begin_round(tenant, idle->now);
	uvmpi_period_complete(tenant);
}

static struct idle_tenant *count(struct idle *idle, const struct block *b, struct residency *residency)
{
	uint32_t tenant = b->range % UVMP_EVICT_TENANTS;

	residency->remote = (tenant + 1u) & 31u;
	idle->tenant[tenant].remote++;
	idle->tenant[tenant].most += idle->tenant[tenant].remote > idle->tenant[tenant].most;
	return &idle->tenant[tenant];
}

void uvmpi_idle_leave(struct uvmp_service *s, const struct block *b, struct residency *residency)
{
	struct idle *idle = &s->gpu[residency->proc].idle;
	struct idle_tenant *tenant;

	if (!s->order->has_groups || residency->remote != 0)
		return;
	tenant = count(idle, b, residency);
	if (tenant->remote != 1)
		return;
	tenant->noted = ++idle->now;
	begin_round(tenant, idle->now);
	begin_round(&idle->tenant[idle->latest], idle->now);
}

void uvmpi_idle_return(struct uvmp_service *s, struct residency *residency)
{
	if (residency->remote == 0)
		return;
	s->gpu[residency->proc].idle.tenant[residency->remote - 1u].remote--;
	residency->remote = 0;
}

void uvmpi_idle_note(struct uvmp_service *s, const struct block *b, struct residency *residency, uint64_t accesses)
{
	struct idle *idle = &s->gpu[residency->proc].idle;
	uint32_t cost = s->block_pages * (s->page_bytes / SMALL_PAGE) + UVMP_REMOTE_FAULT_PAGES;
	uint64_t copies = (accesses + ACCESS_PARTS - 1u) / ACCESS_PARTS;
	struct idle_tenant *tenant;

	if (!s->order->has_groups)
		return;
	if (residency->remote == 0)
		count(idle, b, residency);
	tenant = &idle->tenant[residency->remote - 1u];
	uvmpi_period_note(idle, tenant, cost);
	if (is_silent(idle, tenant))
		begin_round(tenant, idle->now);
	idle->latest = (uint8_t)(residency->remote - 1u);
	idle->now += copies;
	tenant->noted = tenant->heard = idle->now;
	tenant->spent += copies;
	if (tenant->spent >= (uint64_t)uvmpi_period_round(tenant) * cost)
		complete_round(idle, tenant);
}

static uint32_t resident_tenants(const struct uvmp_service *s, uint32_t gpu)
{
	return s->order->has_groups ? uvmpi_evict_tenants(&s->gpu[gpu].order) : 0;
}

static bool has_idle(const struct idle *idle, uint32_t set)
{
	for (uint32_t left = set; left != 0; left &= left - 1u) {
		const struct idle_tenant *tenant = &idle->tenant[lowest_bit(left)];

		if (tenant->remote != 0 && is_silent(idle, tenant))
			return true;
	}
	return false;
}

enum uvmp_rule uvmpi_idle_rule(struct uvmp_service *s, uint32_t gpu)
{
	struct idle *idle = &s->gpu[gpu].idle;
	struct idle_tenant *latest = &idle->tenant[idle->latest];
	uint32_t resident = resident_tenants(s, gpu);
	bool is_expected = uvmpi_period_is_expected(latest) && uvmpi_period_gives(latest, resident) != 0;

	if (!is_expected && !has_idle(idle, resident))
		return UVMP_RULE_NONE;
	if (uvmpi_period_return(idle, latest))
		complete_round(idle, latest);
	return is_expected ? UVMP_RULE_EXPECTED : UVMP_RULE_IDLE;
}

/* Of the set, the tenant that was notified the longest ago, apart from the latest one, as a set; empty if there is no other. */
static uint32_t longest_ago(const struct idle *idle, uint32_t set)
{
	uint32_t oldest = 0;
	uint64_t noted = UINT64_MAX;

	for (uint32_t left = set & ~set_of(idle->latest); left != 0; left &= left - 1u) {
		if (idle->tenant[lowest_bit(left)].noted >= noted)
			continue;
		noted = idle->tenant[lowest_bit(left)].noted;
		oldest = set_of(lowest_bit(left));
	}
	return oldest;
}

uint32_t uvmpi_idle_used(const struct uvmp_service *s, uint32_t gpu)
{
	const struct idle *idle = &s->gpu[gpu].idle;
	const struct idle_tenant *latest = &idle->tenant[idle->latest];
	uint64_t since = latest->begun < idle->now ? latest->begun : latest->before;
	uint32_t resident = resident_tenants(s, gpu), used = set_of(idle->latest);

	if (idle->now == 0)
		return 0;
	if (uvmpi_period_is_expected(latest) && uvmpi_period_gives(latest, resident) != 0)
		return resident & ~uvmpi_period_gives(latest, resident);
	for (uint32_t i = 0; i < UVMP_EVICT_TENANTS; i++)
		if (idle->tenant[i].noted > since)
			used |= set_of(i);
	return (resident & ~used) != 0 ? used : used & ~longest_ago(idle, resident);
}
