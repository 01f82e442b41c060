/* Every eviction order against the number of resident units: mode `order` of the bench, for orders.sh. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "uvmpolicy/advanced.h"

#define PAGE_BYTES 4096u
#define TOUCHES    8u
#define EVICTIONS  2u
#define COLD       10u /* one of so many units is not touched again */

__attribute__((noinline)) void bench_order_touch(struct uvmp_evict *order, uint32_t unit);
void bench_order_touch(struct uvmp_evict *order, uint32_t unit)
{
	uvmp_evict_touch(order, unit);
}

__attribute__((noinline)) enum uvmp_status bench_order_victim(struct uvmp_evict *order, uint64_t *random, uint32_t *unit);
enum uvmp_status bench_order_victim(struct uvmp_evict *order, uint64_t *random, uint32_t *unit)
{
	return uvmp_evict_victim(order, random, unit);
}

__attribute__((noinline)) void bench_order_remove(struct uvmp_evict *order, uint32_t unit);
void bench_order_remove(struct uvmp_evict *order, uint32_t unit)
{
	uvmp_evict_remove(order, unit);
}

/* A unit that is not resident becomes resident. */
__attribute__((noinline)) void bench_order_arrive(struct uvmp_evict *order, uint32_t unit);
void bench_order_arrive(struct uvmp_evict *order, uint32_t unit)
{
	uvmp_evict_touch(order, unit);
}

/* Eight accesses to resident units, then two evictions and two arrivals, of the same numbers. MHPE is told of evictions. */
static __attribute__((noinline)) void rounds(struct uvmp_evict *order, uint64_t *random, unsigned long times)
{
	uint32_t cold = order->units / COLD, touched[TOUCHES], victim[EVICTIONS];

	for (unsigned long i = 0; i < times; i++) {
		for (uint32_t t = 0; t < TOUCHES; t++)
			touched[t] = cold + bench_draw(order->units - cold);
		for (uint32_t t = 0; t < TOUCHES; t++)
			bench_order_touch(order, touched[t]);
		for (uint32_t v = 0; v < EVICTIONS; v++) {
			bench_check(bench_order_victim(order, random, &victim[v]) == UVMP_OK);
			bench_order_remove(order, victim[v]);
			uvmp_evict_left(order, victim[v], 1, 0);
		}
		for (uint32_t v = 0; v < EVICTIONS; v++)
			bench_order_arrive(order, victim[v]);
		uvmp_evict_batch(order);
	}
}

/* All units are resident; one of eight is incomplete. The first tenth is touched once, as many units as a reserve of 10 % spares;
 * the others of the first half are touched again. So units in a different state of the order form a long run behind the
 * reserve, at the boundary that moves by one unit with each eviction and arrival. */
static void fill(struct uvmp_evict *order)
{
	for (uint32_t unit = 0; unit < order->units; unit++)
		uvmp_evict_touch(order, unit);
	for (uint32_t unit = order->units / COLD; unit < order->units / 2u; unit++)
		uvmp_evict_touch(order, unit);
	for (uint32_t unit = 0; unit < order->units; unit++)
		uvmp_evict_spare(order, unit, bench_draw(8) == 0);
}

int bench_orders(const char *name, unsigned long reserve, uint64_t bytes, unsigned long times)
{
	uint64_t random = 1;
	enum uvmp_evictor evictor = UVMP_EVICT_LRU;
	struct uvmp_evict order;
	uint32_t units;
	size_t needed;
	void *memory;

	while (evictor < UVMP_EVICT_COUNT && strcmp(name, uvmp_evict_name(evictor)) != 0)
		evictor++;
	if (evictor == UVMP_EVICT_LRU || evictor == UVMP_EVICT_COUNT || reserve > UVMP_EVICT_RESERVE_MAX)
		return 2;
	units = (uint32_t)(bytes / PAGE_BYTES / uvmp_evict_unit_pages(evictor));
	needed = uvmp_evict_size(evictor, units);
	memory = bench_memory(needed);
	bench_check(uvmp_evict_init(&order, evictor, units, memory, needed) == UVMP_OK);
	order.reserve_percent = (uint32_t)reserve;
	fill(&order);
	rounds(&order, &random, times); /* the boundary of the reserve takes its place */
	bench_begin();
	rounds(&order, &random, times);
	bench_end();
	free(memory);
	return 0;
}
