/* The table of keys: policy_internal.h. A key is defined once: here, or as a parameter of the decision that it belongs
 * to. The parameters of prefetchers and controllers are collected from their descriptors. */
#include "../adapt/adapt_internal.h"
#include "../decisions/parameters_internal.h"
#include "../evict/evict_internal.h"
#include "../prefetch/prefetch_internal.h"
#include "policy_internal.h"

/* -- names of values -- */

static const char *counters_name(uint32_t choice)
{
	static const char name[][8] = {"driver", "off", "on"};

	return choice <= UVMP_COUNTERS_ON ? name[choice] : NULL;
}

static const char *adapt_name(uint32_t choice)
{
	if (choice == UVMP_ADAPT_OFF)
		return uvmpi_switch_name(0);
	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		if (uvmpi_controller_at(i)->adapt == choice)
			return uvmpi_controller_at(i)->name;
	return NULL;
}

static const char *size_name(uint32_t choice)
{
	static const char name[][8] = {"64k", "128k", "256k", "512k", "1m", "2m"};

	return choice <= UVMP_GRANULARITY_2M ? name[choice] : NULL;
}

static const char *prefetcher_name(uint32_t choice)
{
	return uvmp_prefetch_name((enum uvmp_prefetcher)choice);
}

static const char *full_name(uint32_t choice)
{
	return choice == UVMP_PREFETCH_FULL_SAME ? "same" : prefetcher_name(choice - 1u);
}

static const char *evictor_name(uint32_t choice)
{
	return uvmp_evict_name((enum uvmp_evictor)choice);
}

static const char *replay_name(uint32_t choice)
{
	return uvmp_replay_name((enum uvmp_replay_policy)choice);
}

static const char *plan_name(uint32_t choice)
{
	return uvmp_plan_name((enum uvmp_plan_order)choice);
}

/* -- the table -- */

#define FIELD(field)                                                                                         \
	.offset = (uint16_t)offsetof(struct uvmp_policy, field),                                             \
	.bytes = (uint8_t)sizeof(((struct uvmp_policy *)0)->field)
#define HELD_BY(member) .field = #member, FIELD(member)
/* A row of the table: a key, or descriptors whose parameters are keys. The walk completes a key that is defined here. */
struct row {
	struct key key;	      /* parameter NULL: it is `own` */
	struct parameter own; /* "": none */
};
#define NO_PARAMETER                                                                                         \
	{                                                                                                    \
		.name = ""                                                                                   \
	}
/* A key that is defined elsewhere, kept in this field of the policy. */
#define OF(when, definition, field)                                                                          \
	{                                                                                                    \
		{.parameter = &(definition), HELD_BY(field), .use = USE_##when}, NO_PARAMETER                \
	}
/* A key that is defined here. */
#define NUMBER(when, field, name, min, max, initial, summary)                                                \
	{                                                                                                    \
		{HELD_BY(field), .use = USE_##when},                                                         \
			PARAMETER_NUMBER(struct uvmp_policy, field, name, min, max, initial, summary)        \
	}
#define CHOICE(when, field, name, count, initial, choice, summary)                                           \
	{                                                                                                    \
		{HELD_BY(field), .use = USE_##when},                                                         \
			PARAMETER_CHOICE(struct uvmp_policy, field, name, count, initial, choice, summary)   \
	}

/* A choice that plugins add to. */
#define NAME(which, member, name, count, initial, choice_, summary)                                          \
	{                                                                                                    \
		{HELD_BY(member), .use = USE_ALWAYS, .plugin = PLUGIN_##which},                              \
			PARAMETER_CHOICE(struct uvmp_policy, member, name, count, initial, choice_, summary) \
	}

/* The parameters of these descriptors follow here. */
#define EXPAND(descriptors)                                                                                  \
	{                                                                                                    \
		{.use = USE_##descriptors}, NO_PARAMETER                                                     \
	}

static const struct row table[] = {
	NAME(PREFETCH, prefetch.prefetcher, "prefetch", UVMP_PREFETCH_COUNT, UVMP_PREFETCH_DENSITY,
	     prefetcher_name, "pages fetched together with faulted pages"),
	EXPAND(PREFETCHERS),
	NAME(FULL, prefetch_full, "prefetch_full", UVMP_PREFETCH_COUNT + 1, UVMP_PREFETCH_FULL_SAME,
	     full_name, "prefetcher from the time at which memory is first full, to the end"),
	CHOICE(THRESHOLD, adapt, "adapt", UVMP_ADAPT_COUNT, UVMP_ADAPT_OFF, adapt_name,
	       "input that changes the threshold: pressure: evictions and refaults; early: fault rates"),
	EXPAND(TUNERS),
	NAME(EVICT, evict, "evict", UVMP_EVICT_COUNT, UVMP_EVICT_LRU, evictor_name,
	     "unit that is evicted when memory is full"),
	CHOICE(GRANULARITY, granularity, "granularity", UVMP_GRANULARITY_2M + 1, UVMP_GRANULARITY_2M,
	       size_name, "size of an eviction unit"),
	NUMBER(RESERVE, reserve, "reserve", 0, UVMP_EVICT_RESERVE_MAX, 0,
	       "percent of the units next in the eviction order that are protected"),
	NUMBER(UNITS, free_buffer, "free_buffer", 0, 100, 0,
	       "percent of memory that is freed before each batch"),
	NUMBER(CHUNKS, pma_order, "pma_order", 0, 20, 6,
	       "2 MiB chunks per request to the memory pool, as a power of two"),
	CHOICE(TREE, runtime, "runtime", 2, 0, uvmpi_switch_name,
	       "classify allocations as in DATE'21; until then units of 2 MiB are evicted"),
	CHOICE(GRANULARITY, cyclic, "cyclic", 2, 0, uvmpi_switch_name,
	       "pin blocks that are evicted and fetched in cycles"),
	OF(CYCLIC, uvmpi_cyclic_parameters[0], cyclic_share),
	CHOICE(GROUPS, auto_keep, "auto_keep", 2, 1, uvmpi_switch_name,
	       "evict the newest of the old units where data return in a cycle"),
	OF(UNITS, uvmpi_remote_parameters[0], remote.remote),
	OF(REMOTE, uvmpi_remote_parameters[1], remote.threshold),
	OF(PENALTY, uvmpi_remote_parameters[2], remote.penalty),
	CHOICE(ALWAYS, replay.policy, "replay", UVMP_REPLAY_BATCH_WAIT + 1, UVMP_REPLAY_BATCH_FLUSH,
	       replay_name, "point at which stalled accesses are replayed"),
	NUMBER(FLUSH, replay.update_put_ratio, "put_ratio", 0, 100, 50,
	       "percent of duplicates beyond which a flush re-reads PUT"),
	/* A fault buffer has at most 65536 entries (service.h), and one of them stays free. */
	NUMBER(ALWAYS, replay.max_batch, "batch", 1, 65535, 256, "raw faults per batch"),
	NUMBER(ALWAYS, coalesce, "coalesce", 0, 1, 1, "1: merge repeated faults while fetching"),
	NUMBER(ALWAYS, replay.max_batches, "max_batches", 0, 1048576, 20, "batches per bottom half"),
	NUMBER(ALWAYS, replay.max_throttled, "max_throttled", 0, 1048576, 5,
	       "batches with throttled faults per bottom half"),
	NUMBER(ALWAYS, replay.prefetch_lapse_ms, "prefetch_lapse_ms", 0, UINT32_MAX, 1000,
	       "time for which prefetch faults stay disabled; 0: they are never disabled"),
	OF(ALWAYS, uvmpi_thrash_parameters[0], thrash.is_enabled),
	OF(THRASH, uvmpi_thrash_parameters[1], thrash.threshold),
	OF(THRASH, uvmpi_thrash_parameters[2], thrash.pin_threshold),
	OF(THRASH, uvmpi_thrash_parameters[3], thrash.lapse_us),
	OF(THRASH, uvmpi_thrash_parameters[4], thrash.vote_threshold),
	OF(THRASH, uvmpi_thrash_parameters[5], thrash.nap),
	OF(THRASH, uvmpi_thrash_parameters[6], thrash.epoch),
	OF(THRASH, uvmpi_thrash_parameters[7], thrash.pin),
	OF(THRASH, uvmpi_thrash_parameters[8], thrash.max_resets),
	CHOICE(ALWAYS, counters, "counters", UVMP_COUNTERS_ON + 1, UVMP_COUNTERS_DRIVER, counters_name,
	       "access counters migrate pages; driver: only if the system has ATS"),
	NUMBER(COUNTERS, counter_batch, "counter_batch", 1, 65536, 256, "notifications per batch"),
	NUMBER(COUNTERS, counter_threshold, "counter_threshold", 1, 65535, 256,
	       "remote accesses before a counter notifies"),
	NUMBER(COUNTERS, map_on_eviction, "map_on_eviction", 0, 1, 1,
	       "1: evicted pages stay mapped to their GPU, which counts accesses; 0: accesses fault"),
	NUMBER(ALWAYS, map_on_atomics, "map_on_atomics", 0, 1, 0,
	       "1: atomics of a GPU on memory of a GPU with native atomics are mapped, not migrated"),
	CHOICE(ALWAYS, plan, "plan", UVMP_PLAN_UNOBTRUSIVE + 1, UVMP_PLAN_SERIAL, plan_name,
	       "evictions: serial: before copies; overlapped: with them; unobtrusive: from the batch's "
	       "start"),
	EXPAND(SWITCHED),
	NUMBER(ALWAYS, memory_ratio, "memory_ratio", 100, 1000, 100,
	       "GPU memory with compression, in percent of its size; offsets may exceed the size"),
	NUMBER(ALWAYS, link_ratio, "link_ratio", 100, 1000, 100,
	       "bytes that a compressing link transfers in the time of 100 bytes; hosts apply it"),
	NUMBER(ALWAYS, quirks, "quirks", 0, 1, 1, "1: quirks of the original; 0: corrected rules"),
};

#define ROWS ((uint32_t)(sizeof(table) / sizeof(table[0])))

/* The walk goes on with the parameters of a descriptor. */
static bool enter(struct key_walk *walk, const struct parameter *parameter, uint32_t parameters,
		  size_t structure)
{
	walk->parameter = parameter;
	walk->left = parameters;
	walk->structure = (uint16_t)structure;
	walk->of_descriptor.owner = (uint8_t)(walk->descriptor - 1u);
	return parameters != 0;
}

/* The next descriptor of a row that stands for several; false: there are no more. */
static bool enter_prefetcher(struct key_walk *walk)
{
	bool has_parameters = false;

	walk->use = walk->next_use = USE_PREFETCHER;
	while (!has_parameters && walk->descriptor < UVMP_PREFETCH_COUNT) {
		const struct prefetcher *prefetcher =
			uvmpi_prefetcher_at((enum uvmp_prefetcher)walk->descriptor++);

		has_parameters = enter(walk, prefetcher->parameter, prefetcher->parameters,
				       offsetof(struct uvmp_policy, prefetch));
	}
	return has_parameters;
}

/* The first parameter of a controller with a switch is the switch, which is always used. */
static bool enter_controller(struct key_walk *walk, bool is_switched)
{
	bool has_parameters = false;

	walk->use = is_switched ? USE_ALWAYS : USE_CONTROLLER;
	walk->next_use = USE_CONTROLLER;
	while (!has_parameters && walk->descriptor < UVMP_CONTROLLER_COUNT) {
		const struct controller *controller = uvmpi_controller_at(walk->descriptor++);

		if ((controller->adapt == UVMP_ADAPT_OFF) == is_switched)
			has_parameters = enter(walk, controller->parameter, controller->parameters,
					       offsetof(struct uvmp_policy, controls));
	}
	return has_parameters;
}

/* The next parameter of the descriptor that the walk has entered. */
static const struct key *next_parameter(struct key_walk *walk)
{
	struct key *key = &walk->of_descriptor;

	key->parameter = walk->parameter++;
	key->field = NULL;
	key->plugin = PLUGIN_NONE;
	walk->left--;
	key->offset = (uint16_t)(walk->structure + key->parameter->offset);
	key->bytes = key->parameter->bytes;
	key->use = walk->use;
	walk->use = walk->next_use;
	walk->keys++;
	return key;
}

/* The next row of the table, which is a key. */
static const struct key *next_row(struct key_walk *walk)
{
	const struct row *row = &table[walk->row++];
	struct key *key = &walk->of_descriptor;

	walk->keys++;
	if (row->key.parameter != NULL)
		return &row->key;
	*key = row->key;
	key->parameter = &row->own;
	return key;
}

/* Does the row stand for descriptors? */
static bool is_expanded(const struct row *row)
{
	return row->key.parameter == NULL && row->own.name[0] == '\0';
}

/* The walk has come to a descriptor, to a row that stands for several, or to the end. */
static const struct key *next_of_descriptors(struct key_walk *walk)
{
	while (walk->left == 0) {
		const struct row *row = &table[walk->row];

		if (walk->row == ROWS)
			return NULL;
		if (!is_expanded(row))
			return next_row(walk);
		if (row->key.use == USE_PREFETCHERS ? enter_prefetcher(walk)
						    : enter_controller(walk, row->key.use == USE_SWITCHED))
			break;
		walk->row++;
		walk->descriptor = 0;
	}
	return next_parameter(walk);
}

const struct key *uvmpi_key_next(struct key_walk *walk)
{
	if (walk->left != 0 || walk->row == ROWS || is_expanded(&table[walk->row]))
		return next_of_descriptors(walk);
	return next_row(walk);
}

/* -- values -- */

uint32_t uvmpi_key_get(const struct key *key, const struct uvmp_policy *policy)
{
	return (uint32_t)uvmpi_field_get(policy, key->offset, key->bytes);
}

void uvmpi_key_set(const struct key *key, struct uvmp_policy *policy, uint32_t value)
{
	uvmpi_field_set(policy, key->offset, key->bytes, value);
}

void uvmpi_key_put_field(const struct key *key, struct text *text)
{
	if (key->field != NULL) {
		put_text(text, key->field);
		return;
	}
	put_text(text, key->offset >= offsetof(struct uvmp_policy, controls) ? "controls." : "prefetch.");
	put_text(text, key->parameter->field);
}

/* -- which keys a policy uses -- */

/* The field of the policy whose value decides. */
#define DECIDES(field)                                                                                       \
	{                                                                                                    \
		FIELD(field)                                                                                 \
	}
static struct field decides(uint32_t use)
{
	static const struct field prefetcher = DECIDES(prefetch.prefetcher), order = DECIDES(evict),
				  cyclic = DECIDES(cyclic), remote = DECIDES(remote.remote),
				  replay = DECIDES(replay.policy), thrash = DECIDES(thrash.is_enabled),
				  counters = DECIDES(counters);

	switch (use) {
	case USE_PREFETCHER:
	case USE_THRESHOLD:
		return prefetcher;
	case USE_CYCLIC:
		return cyclic;
	case USE_REMOTE:
	case USE_PENALTY:
		return remote;
	case USE_FLUSH:
		return replay;
	case USE_THRASH:
		return thrash;
	case USE_COUNTERS:
		return counters;
	default:
		return order; /* the traits of an order */
	}
}

struct field uvmpi_controller_field(const struct controller *controller)
{
	struct field field = DECIDES(adapt);

	if (controller->adapt == UVMP_ADAPT_OFF)
		field = (struct field){(uint16_t)(offsetof(struct uvmp_policy, controls) +
						  controller->parameter->offset),
				       controller->parameter->bytes};
	return field;
}

bool uvmpi_controller_is_on(const struct controller *controller, uint32_t value)
{
	return controller->adapt != UVMP_ADAPT_OFF ? value == controller->adapt : value != 0;
}

static struct field decides_of(const struct key *key)
{
	return key->use == USE_CONTROLLER ? uvmpi_controller_field(uvmpi_controller_at(key->owner))
					  : decides(key->use);
}

/* The parameter of that field: of a row of the table, or the switch of a controller. */
static const struct parameter *user_of(const struct key *key)
{
	const struct row *user = table;
	struct field field = decides_of(key);

	if (key->use == USE_CONTROLLER && uvmpi_controller_at(key->owner)->adapt == UVMP_ADAPT_OFF)
		return uvmpi_controller_at(key->owner)->parameter;
	while (user->key.offset != field.offset)
		user++;
	return user->key.parameter != NULL ? user->key.parameter : &user->own;
}

static bool takes_parameter(enum uvmp_prefetcher chosen, enum uvmp_prefetcher owner)
{
	const struct prefetcher *prefetcher = uvmpi_prefetcher_at(chosen);

	while (prefetcher != NULL && prefetcher != uvmpi_prefetcher_at(owner))
		prefetcher = prefetcher->base;
	return prefetcher != NULL;
}

static bool is_used_by_order(uint32_t use, const struct uvmp_evict_traits *order)
{
	switch (use) {
	case USE_GRANULARITY:
		return order->has_granularity;
	case USE_RESERVE:
		return order->has_reserve;
	case USE_UNITS:
		return !order->is_chunked;
	case USE_CHUNKS:
		return order->is_chunked;
	case USE_TREE:
		return order->has_tree;
	default: /* USE_GROUPS */
		return order->has_groups;
	}
}

/* The order of this value; of a plugin: the policy's. */
static const struct uvmp_evict_traits *order_of(const struct uvmp_policy *policy, uint32_t value)
{
	return value == UVMP_EVICT_PLUGIN ? &policy->evict_plugin->traits : uvmp_evict_traits_of((enum uvmp_evictor)value);
}

/* Is the key used while the key that it depends on has this value? `policy`: that has it; may be NULL for policies of the
 * library. */
static bool is_used_with(const struct key *key, uint32_t value, const struct uvmp_policy *policy)
{
	switch (key->use) {
	case USE_PREFETCHER:
		return takes_parameter((enum uvmp_prefetcher)value, (enum uvmp_prefetcher)key->owner);
	case USE_THRESHOLD:
		return uvmpi_prefetcher_at((enum uvmp_prefetcher)value)->traits.has_threshold;
	case USE_CONTROLLER:
		return uvmpi_controller_is_on(uvmpi_controller_at(key->owner), value);
	case USE_PENALTY:
		return value == UVMP_REMOTE_ADAPTIVE;
	case USE_REMOTE:
		return value != UVMP_REMOTE_OFF && value != UVMP_REMOTE_AUTO;
	case USE_FLUSH:
		return value == UVMP_REPLAY_BATCH_FLUSH;
	case USE_COUNTERS:
		return value != UVMP_COUNTERS_OFF;
	case USE_CYCLIC:
	case USE_THRASH:
		return value != 0;
	default:
		return is_used_by_order(key->use, order_of(policy, value));
	}
}

bool uvmpi_key_is_used(const struct key *key, const struct uvmp_policy *policy)
{
	struct field field = decides_of(key);

	return key->use == USE_ALWAYS ||
	       is_used_with(key, (uint32_t)uvmpi_field_get(policy, field.offset, field.bytes), policy);
}

void uvmpi_key_put_use(const struct key *key, struct text *text)
{
	const struct parameter *user;
	char separator = '=';

	if (key->use == USE_ALWAYS)
		return;
	user = user_of(key);
	put_text(text, user->name);
	for (uint32_t value = user->min; value <= user->max; value++) {
		if (!is_used_with(key, value, NULL))
			continue;
		put_char(text, separator);
		put_text(text, user->choice(value));
		separator = '|';
	}
}

/* The driver accepts a 0 by accident that the corrected rules refuse: a threshold that every subtree exceeds [driver:
 * threshold-zero], a number of votes that becomes another [driver: vote-threshold-zero]. The thresholds of a controller lie to
 * either side of the policy's threshold, of which 0 counts as 1. */
struct limit uvmpi_key_limit(const struct key *key, const struct uvmp_policy *policy)
{
	struct limit limit = {NULL, 0, key->parameter->min, key->parameter->max};
	uint32_t threshold = policy->prefetch.threshold;
	uint32_t base = threshold != 0 ? threshold : 1u, quirks;

	switch (key->parameter->limit) {
	case LIMIT_QUIRKS:
		/* its own key is checked later */
		quirks = (uint32_t)uvmpi_field_get(policy, offsetof(struct uvmp_policy, quirks), 1);
		if (quirks == 0)
			limit = (struct limit){"quirks", quirks, 1, limit.max};
		break;
	case LIMIT_TO_THRESHOLD:
		limit = (struct limit){"threshold", threshold, limit.min, base};
		break;
	case LIMIT_FROM_THRESHOLD:
		limit = (struct limit){"threshold", threshold, base, limit.max};
		break;
	default:
		break;
	}
	return limit;
}

/* -- for help texts and front ends -- */

/* NULL beyond the last. */
static const struct key *key_at(struct key_walk *walk, uint32_t index)
{
	const struct key *key = uvmpi_key_next(walk);

	while (key != NULL && walk->keys <= index)
		key = uvmpi_key_next(walk);
	return key;
}

const struct uvmp_policy_key *uvmp_policy_key_at(uint32_t index, struct uvmp_policy_key *key)
{
	struct key_walk walk = {0};
	const struct parameter *parameter;
	const struct key *found = key_at(&walk, index);
	enum uvmp_status status;
	struct uvmp_policy_key own;
	struct text text;

	if (key == NULL || found == NULL)
		return NULL;
	parameter = found->parameter;
	own = (struct uvmp_policy_key){.name = parameter->name,
					.summary = parameter->summary,
					.min = parameter->min,
					.max = parameter->max,
					.initial = parameter->initial,
					.is_choice = parameter->choice != NULL};
	text = (struct text){own.used_by, sizeof(own.used_by), 0};
	uvmpi_key_put_use(found, &text);
	status = uvmpi_sized_write(key, key->size, &own, sizeof(own), sizeof(own.size));
	return status == UVMP_OK ? key : NULL;
}

const char *uvmp_policy_choice(uint32_t index, uint32_t choice)
{
	struct key_walk walk = {0};
	const struct key *key = key_at(&walk, index);

	return key != NULL && key->parameter->choice != NULL ? key->parameter->choice(choice) : NULL;
}

/* The choice is one of the key. */
static const char *choice_summary(const struct parameter *parameter, uint32_t choice)
{
	if (parameter->choice == evictor_name)
		return uvmpi_orders[choice]->summary;
	if (parameter->choice == full_name)
		return choice == UVMP_PREFETCH_FULL_SAME
			       ? "the prefetcher of the key prefetch"
			       : uvmpi_prefetcher_at((enum uvmp_prefetcher)(choice - 1u))->summary;
	return parameter->choice == prefetcher_name ? uvmpi_prefetcher_at((enum uvmp_prefetcher)choice)->summary : "";
}

const char *uvmp_policy_choice_summary(uint32_t index, uint32_t choice)
{
	struct key_walk walk = {0};
	const struct key *key = key_at(&walk, index);

	if (key == NULL || key->parameter->choice == NULL || key->parameter->choice(choice) == NULL)
		return NULL;
	return choice_summary(key->parameter, choice);
}
