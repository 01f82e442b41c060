/* An eviction order that is not of the library: calls its functions for the keys of units, and keeps the units sorted by
 * them. Spared units are of kind 1 of the sequence. Key and kind of a unit stay while the unit is not listed. */
#include "evict_plugin_internal.h"
#include "../base/sized_internal.h"
#include "sequence_internal.h"

#define ALIGNMENT 8u

/* Memory: this structure, the private memory of the plugin's order, that of the units, the sequence. */
struct plugin_order {
	const struct uvmp_evict_plugin *plugin;
	uint32_t value[UVMP_PLUGIN_VALUES_MAX];
	uint64_t clock;	 /* touches */
	uint64_t stamp;	 /* keys given: equal keys leave in this order */
	uint8_t *memory; /* of the units, [units][rounded unit_bytes] */
	uint32_t begun;	 /* the state of units 0..begun-1 has been written */
	struct sequence order; /* key.high: the plugin's, key.low: stamp */
};

static struct plugin_order *order_of(const struct uvmp_evict *evict)
{
	return (struct plugin_order *)evict->state;
}

/* -- setting up -- */

static bool has_own_traits(const struct uvmp_evict_traits *traits)
{
	return (traits->is_chunked | traits->has_tree | traits->counts_uses | traits->is_random | traits->has_groups) != 0;
}

static bool has_units(const struct uvmp_evict_traits *traits)
{
	if (traits->has_granularity)
		return traits->unit_pages == UVMP_EVICT_PAGES_MAX;
	return traits->unit_pages == 1u || traits->unit_pages == UVMP_BASIC_BLOCK_PAGES ||
	       traits->unit_pages == UVMP_EVICT_PAGES_MAX;
}

struct plugin_defect uvmpi_evict_plugin_defect(const struct uvmp_evict_plugin *plugin)
{
	struct plugin_head head;
	struct plugin_defect defect;

	if (!uvmpi_sized_fits(plugin->size, SIZE_THROUGH(struct uvmp_evict_plugin, batch)))
		return PLUGIN_SIZE_DEFECT;
	head = (struct plugin_head){plugin->name, plugin->parameter, plugin->parameters};
	defect = uvmpi_plugin_defect(&head);
	if (defect.status != UVMP_OK)
		return defect;
	if (plugin->touch == NULL)
		return plugin_defect(UVMP_ERR_ARGUMENT, "touch is missing");
	if (has_own_traits(&plugin->traits))
		return plugin_defect(UVMP_ERR_UNSUPPORTED,
				     "is_chunked, has_tree, counts_uses, is_random and has_groups must be false");
	if (!has_units(&plugin->traits))
		return plugin_defect(UVMP_ERR_RANGE, "unit_pages is 1, 16 or 512, with has_granularity 512");
	if (plugin->state_bytes > UVMP_PLUGIN_STATE_MAX || plugin->unit_bytes > UVMP_PLUGIN_UNIT_MAX)
		return plugin_defect(UVMP_ERR_RANGE, "state_bytes is at most 65536, unit_bytes at most 256");
	return defect;
}

static uint32_t rounded(uint32_t bytes)
{
	return (bytes + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
}

static void *state_of(struct plugin_order *order)
{
	return order->plugin->state_bytes != 0 ? (uint8_t *)order + rounded(sizeof(*order)) : NULL;
}

size_t uvmp_evict_plugin_size(const struct uvmp_evict_plugin *plugin, uint32_t units)
{
	uint64_t bytes;

	if (plugin == NULL || uvmpi_evict_plugin_defect(plugin).status != UVMP_OK || units == 0 || units > UVMP_UNITS_MAX)
		return 0;
	bytes = rounded(sizeof(struct plugin_order)) + rounded(plugin->state_bytes) + SEQUENCE_HEAD_BYTES +
		(uint64_t)units * (rounded(plugin->unit_bytes) + SEQUENCE_ELEMENT_BYTES);
	/* 0 where size_t is narrower than the size; a product, as a branch could never be taken on a 64-bit host. */
	return (size_t)bytes * (size_t)((size_t)bytes == bytes);
}

enum uvmp_status uvmp_evict_init_plugin(struct uvmp_evict *evict, const struct uvmp_evict_plugin *plugin,
					const uint32_t *value, uint32_t units, void *memory, size_t bytes)
{
	size_t least = uvmp_evict_plugin_size(plugin, units);
	struct plugin_order *order = (struct plugin_order *)memory;

	if (evict == NULL || memory == NULL || (uintptr_t)memory % ALIGNMENT != 0 || plugin == NULL ||
	    uvmpi_evict_plugin_defect(plugin).status != UVMP_OK)
		return UVMP_ERR_ARGUMENT;
	if (least == 0 || (value != NULL && !uvmpi_plugin_values_are_valid(plugin->parameter, plugin->parameters, value)))
		return UVMP_ERR_RANGE;
	if (bytes < least)
		return UVMP_ERR_SPACE;
	*evict = (struct uvmp_evict){
		.evictor = UVMP_EVICT_COUNT, .units = units, .keeps_old = true, .state = memory};
	*order = (struct plugin_order){.plugin = plugin};
	uvmpi_plugin_values_init(plugin->parameter, plugin->parameters, order->value);
	for (uint32_t i = 0; value != NULL && i < plugin->parameters; i++)
		order->value[i] = value[i];
	order->memory = (uint8_t *)memory + rounded(sizeof(*order)) + rounded(plugin->state_bytes);
	__builtin_memset((uint8_t *)memory + rounded(sizeof(*order)), 0, plugin->state_bytes);
	uvmpi_sequence_init(&order->order, units, order->memory + (size_t)rounded(plugin->unit_bytes) * units);
	if (plugin->init != NULL)
		plugin->init(plugin->user, state_of(order), order->value, units);
	return UVMP_OK;
}

static size_t size(const struct uvmp_evict *evict, uint32_t units)
{
	return uvmp_evict_plugin_size(order_of(evict)->plugin, units);
}

/* The plugin holds no pointers into its memory (plugin.h). */
static void move(const struct uvmp_evict *from, struct uvmp_evict *to)
{
	const struct plugin_order *old = order_of(from);
	struct plugin_order *order = order_of(to);
	uint8_t *state = (uint8_t *)order + rounded(sizeof(*order));
	size_t unit_bytes = rounded(old->plugin->unit_bytes);

	*order = *old;
	__builtin_memcpy(state, (const uint8_t *)old + rounded(sizeof(*old)), old->plugin->state_bytes);
	order->memory = state + rounded(old->plugin->state_bytes);
	__builtin_memcpy(order->memory, old->memory, unit_bytes * old->begun);
	uvmpi_sequence_init(&order->order, to->units, order->memory + unit_bytes * to->units);
	uvmpi_sequence_move(&old->order, &order->order, old->begun);
}

static bool is_valid(const struct uvmp_evict *evict)
{
	const struct plugin_order *order = order_of(evict);

	return order->plugin != NULL && uvmpi_sequence_is_valid(&order->order) && order->order.elements == evict->units &&
	       order->begun <= evict->units && evict->count <= order->begun;
}

static bool contains(const struct uvmp_evict *evict, uint32_t unit)
{
	const struct plugin_order *order = order_of(evict);

	return unit < order->begun && order->order.weight[unit] != 0;
}

/* -- calls -- */

static uint8_t *memory_of(const struct plugin_order *order, uint32_t unit)
{
	return order->memory + (size_t)rounded(order->plugin->unit_bytes) * unit;
}

/* Writes the state of the units up to this one that were never used. */
static void begin(struct plugin_order *order, uint32_t unit)
{
	for (; order->begun <= unit; order->begun++) {
		sequence_begin(&order->order, order->begun);
		__builtin_memset(memory_of(order, order->begun), 0, order->plugin->unit_bytes);
	}
}

/* What the plugin is told of a unit whose state has been written. */
static struct uvmp_evict_call call_of(struct plugin_order *order, uint32_t unit)
{
	return (struct uvmp_evict_call){.size = sizeof(struct uvmp_evict_call),
					.unit = unit,
					.key = order->order.key[unit].high,
					.clock = order->clock,
					.is_listed = order->order.weight[unit] != 0,
					.state = state_of(order),
					.memory = order->plugin->unit_bytes != 0 ? memory_of(order, unit) : NULL,
					.value = order->value};
}

/* -- change -- */

static void unlink_unit(struct uvmp_evict *evict, uint32_t unit)
{
	struct plugin_order *order = order_of(evict);

	sequence_unlink(&order->order, unit);
	order->order.weight[unit] = 0;
	evict->count--;
}

/* Puts a unit that is not listed at the place of its key. */
static void put(struct uvmp_evict *evict, uint32_t unit)
{
	struct plugin_order *order = order_of(evict);

	order->order.weight[unit] = 1;
	uvmpi_sequence_insert(&order->order, unit, order->order.kind[unit]);
	evict->count++;
}

/* Gives the unit a key. */
static void rank_unit(struct uvmp_evict *evict, uint32_t unit, uint64_t key)
{
	struct plugin_order *order = order_of(evict);

	if (contains(evict, unit))
		unlink_unit(evict, unit);
	order->order.key[unit] = (struct sequence_key){key, ++order->stamp};
	put(evict, unit);
}

static enum uvmp_status touch(struct uvmp_evict *evict, uint32_t unit)
{
	struct plugin_order *order = order_of(evict);
	struct uvmp_evict_call call;

	begin(order, unit);
	order->clock++;
	call = call_of(order, unit);
	rank_unit(evict, unit, order->plugin->touch(order->plugin->user, &call));
	return UVMP_OK;
}

static enum uvmp_status take_off(struct uvmp_evict *evict, uint32_t unit)
{
	struct plugin_order *order = order_of(evict);
	struct uvmp_evict_call call;

	if (!contains(evict, unit))
		return UVMP_OK;
	unlink_unit(evict, unit);
	call = call_of(order, unit);
	if (order->plugin->removed != NULL)
		order->plugin->removed(order->plugin->user, &call);
	return UVMP_OK;
}

static enum uvmp_status forget(struct uvmp_evict *evict, uint32_t unit)
{
	struct plugin_order *order = order_of(evict);

	if (unit >= order->begun)
		return UVMP_OK;
	(void)take_off(evict, unit);
	sequence_begin(&order->order, unit);
	__builtin_memset(memory_of(order, unit), 0, order->plugin->unit_bytes);
	return UVMP_OK;
}

static void spare(struct uvmp_evict *evict, uint32_t unit, bool is_spared)
{
	struct plugin_order *order = order_of(evict);
	bool is_listed = contains(evict, unit);

	begin(order, unit);
	if (is_listed)
		unlink_unit(evict, unit);
	order->order.kind[unit] = is_spared;
	if (is_listed)
		put(evict, unit);
}

static void batch(struct uvmp_evict *evict)
{
	struct plugin_order *order = order_of(evict);

	if (order->plugin->batch != NULL)
		order->plugin->batch(order->plugin->user, state_of(order), order->value);
}

static void left(struct uvmp_evict *evict, uint32_t unit, uint32_t pages, uint32_t untouched)
{
	struct plugin_order *order = order_of(evict);
	struct uvmp_evict_call call;

	begin(order, unit);
	call = call_of(order, unit);
	if (order->plugin->left != NULL)
		order->plugin->left(order->plugin->user, &call, pages, untouched);
}

/* -- search -- */

/* Does the plugin let the unit go? Otherwise the unit has another place. */
static bool goes(struct uvmp_evict *evict, uint32_t unit)
{
	struct plugin_order *order = order_of(evict);
	struct uvmp_evict_call call = call_of(order, unit);
	uint64_t key = order->plugin->victim(order->plugin->user, &call);

	if (key == order->order.key[unit].high)
		return true;
	rank_unit(evict, unit, key);
	return false;
}

static enum uvmp_status victim(struct uvmp_evict *evict, uint64_t *random, uint32_t rank, enum evict_walk walk,
			       uint32_t used, uint32_t *unit)
{
	struct plugin_order *order = order_of(evict);
	uint32_t questions = order->plugin->victim != NULL ? evict->count : 0;
	uint32_t found = sequence_victim(&order->order, rank, walk);

	(void)random, (void)used;
	for (; found != UVMP_UNIT_NONE && questions > 0 && !goes(evict, found); questions--)
		found = sequence_victim(&order->order, rank, walk);
	return evict_found(found, unit);
}

static enum uvmp_status next(const struct uvmp_evict *evict, uint64_t *random, enum evict_walk walk, uint32_t *unit)
{
	(void)random;
	if (!contains(evict, *unit))
		return UVMP_ERR_NO_MEMORY;
	return evict_found(sequence_walk(&order_of(evict)->order, *unit, walk), unit);
}

const struct eviction_order uvmpi_order_plugin = {
	.name = "plugin",
	EVICT_FUNCTIONS(NULL, move, is_valid, contains, touch, take_off, victim, next),
	.size = size,
	.forget = forget,
	.spare = spare,
	.batch = batch,
	.left = left,
};
