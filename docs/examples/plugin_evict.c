/* Two eviction orders of a few lines each, over pages of 4 KiB: the least recently touched page, and the page that arrived first.
 *   cc -shared -fPIC -Iinclude docs/examples/plugin_evict.c -o orders.so
 *   uvmsim run --workload random:bytes=8m --memory 4M --plugin orders.so --policy 'evict=fifo_page' */
#include "uvmpolicy/plugin.h"

/* The unit with the smallest key leaves first: the time of its last touch, */
static uint64_t last_touch(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	return call->clock;
}

/* or that of its arrival. */
static uint64_t arrival(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	return call->is_listed ? call->key : call->clock;
}

static const struct uvmp_evict_plugin lru = {.size = sizeof(lru), .name = "lru_page", .touch = last_touch,
					     .traits = {.unit_pages = 1, .has_reserve = true}};
static const struct uvmp_evict_plugin fifo = {.size = sizeof(fifo), .name = "fifo_page", .touch = arrival,
					      .traits = {.unit_pages = 1, .has_reserve = true}};
static const struct uvmp_evict_plugin *const orders[] = {&lru, &fifo};
static const struct uvmp_plugins plugins = {.size = sizeof(plugins), .version = UVMP_PLUGIN_VERSION,
					    .orders = 2, .order = orders};

UVMP_PLUGIN_DEFINE(&plugins)
