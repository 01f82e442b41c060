/* plugin.h: a prefetcher or an eviction order of your own, without a change of the library.
 *
 * A plugin is a constant structure with a name, traits, parameters and functions. uvmp_policy_parse_plugins
 * accepts its name as a value of the keys prefetch, prefetch_full or evict, and its parameters as keys. The
 * policy carries it to the engine. A shared object with plugins is loaded by `uvmsim --plugin FILE.so`
 * (docs/plugins.md).
 *
 * Contract
 *  - The structures and everything that they point to stay as they are while a policy, an eviction order or
 *    an engine uses them.
 *  - State lies in memory that the library hands over, zeros at first: one engine or order, one state. A
 *    function may run in several threads at once, for different engines (uvmsim compare). The library may
 *    move the memory between two calls, when an order gets more units: keep no pointers into it.
 *  - `user` is the first argument of each function, for language bindings. A function must not call the
 *    engine that calls it, and depends on its arguments alone if runs are to be repeatable.
 *  - The library checks every answer. No answer corrupts its state. */
#ifndef UVMPOLICY_PLUGIN_H
#define UVMPOLICY_PLUGIN_H

#include "evict.h"
#include "policy.h"
#include "prefetch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_PLUGIN_VERSION   1u
#define UVMP_PLUGIN_NAME_MAX  24u    /* of a plugin or a parameter, bytes with the NUL */
#define UVMP_PLUGIN_STATE_MAX 65536u /* struct uvmp_evict_plugin: state_bytes */
#define UVMP_PLUGIN_UNIT_MAX  256u   /* the same: unit_bytes */

/* A parameter of a plugin, which is a key of the policy string. */
struct uvmp_plugin_parameter {
	const char *name;    /* as the name of a plugin; no key of the library */
	const char *summary; /* one line of help */
	uint32_t min, max, initial;
};

/* -- a prefetcher ---------------------------------------------------------------------------------- */

/* One decision: what is known, and the answer. */
struct uvmp_prefetch_call {
	uint32_t size; /* bytes, set by the library */
	const struct uvmp_prefetch_facts *facts;
	/* Pages of the block that may be prefetched: those that are neither resident, pending nor faulting,
	 * do not thrash, and lie in a range group with a fault; none if the preferred location is
	 * elsewhere. */
	const uvmp_mask *candidates;
	const uint32_t *value; /* [parameters] */
	/* Private memory, see struct uvmp_prefetch_traits; NULL without bytes of it. `block` is also NULL if
	 * the arena is full. */
	void *block, *range, *processor;
	uint64_t *random; /* state of uvmp_random_next; NULL: the host gave none. The engine gives one */
	/* The answer: pages to fetch, empty at first. Pages that are not candidates are ignored. */
	uvmp_mask *pages;
	/* The answer: hint->follow, UVMP_PAGE_NONE at first. Ignored without the trait walks_ranges, for a
	 * page outside the range, and in a follow-up decision for a page that is not in a later block. */
	uint64_t follow;
};

/* A prefetcher. Required: size, name, decide. */
struct uvmp_prefetch_plugin {
	uint32_t size;				       /* set by the host, see base.h; through `touched` */
	uint32_t parameters;			       /* 0..UVMP_PLUGIN_VALUES_MAX */
	const struct uvmp_plugin_parameter *parameter; /* [parameters] */
	const char *name;    /* in the policy string: a letter a-z, then a-z, 0-9 and _; not of the library */
	const char *summary; /* one line of help; NULL: none */
	/* All may be 0. Must be false: is_off, may_repeat, has_tree, has_threshold, has_random. */
	struct uvmp_prefetch_traits traits;
	void *user;
	void (*decide)(void *user, struct uvmp_prefetch_call *call);
	/* Pages were evicted, with the traits has_touches or has_memory: uvmp_prefetch_left. `block`: private
	 * memory of the block, or NULL. NULL: no effect. */
	void (*left)(void *user, void *block, const struct uvmp_prefetch_departure *departure);
	/* A resident page was accessed, with the trait counts_touches: uvmp_prefetch_touched. `value`:
	 * [parameters]; `range`, `block`: private memory, or NULL. NULL: no effect. */
	void (*touched)(void *user, const uint32_t *value, const struct uvmp_prefetch_touch *touch,
			void *range, void *block);
};

/* The defaults, for decisions of this prefetcher by uvmp_prefetch_decide. UVMP_ERR_ARGUMENT: NULL, or the
 * plugin is not valid. */
UVMP_API enum uvmp_status uvmp_prefetch_params_init_plugin(struct uvmp_prefetch_params *params,
							   const struct uvmp_prefetch_plugin *plugin);

/* -- an eviction order ----------------------------------------------------------------------------- */

/* A unit and what the order knows of it. */
struct uvmp_evict_call {
	uint32_t size; /* bytes, set by the library */
	uint32_t unit;
	uint64_t key;	/* of the unit, as last returned; 0: no touch yet, or none since it was forgotten */
	uint64_t clock; /* touches of all units so far; in `touch` this one included */
	bool is_listed; /* the unit may be evicted; in `touch`: could be before */
	void *state;	/* private memory of the order, zeros at first; NULL without state_bytes */
	void *memory;	/* private memory of the unit, likewise; NULL without unit_bytes */
	const uint32_t *value; /* [parameters] */
};

/* An eviction order: it gives each unit a key. The unit with the smallest key is evicted first; of equal keys
 * that which got its key first. The library keeps the sorted list of units, and spares units. Required: size,
 * name, traits.unit_pages, touch. */
struct uvmp_evict_plugin {
	uint32_t size;				       /* set by the host, see base.h; through `batch` */
	uint32_t parameters;			       /* 0..UVMP_PLUGIN_VALUES_MAX */
	const struct uvmp_plugin_parameter *parameter; /* [parameters] */
	const char *name;			       /* as of a prefetcher */
	const char *summary;			       /* one line of help; NULL: none */
	/* unit_pages: 1, 16 or 512; with has_granularity 512. Must be false: is_chunked, has_tree,
	 * counts_uses, is_random, has_groups. */
	struct uvmp_evict_traits traits;
	uint32_t state_bytes; /* of private memory per order, 0..UVMP_PLUGIN_STATE_MAX */
	uint32_t unit_bytes;  /* of private memory per unit, 0..UVMP_PLUGIN_UNIT_MAX */
	void *user;
	/* An order of `units` units begins. `state`: zeros. NULL: no effect. */
	void (*init)(void *user, void *state, const uint32_t *value, uint32_t units);
	/* The unit arrived or was touched: returns its key. */
	uint64_t (*touch)(void *user, const struct uvmp_evict_call *call);
	/* The unit is the first of the order, and about to be evicted: returns call->key to let it go, or
	 * another key, which gives it another place; then the first unit of the order is asked. Asked at most
	 * as often as there are units; then the first goes. NULL: the first goes. */
	uint64_t (*victim)(void *user, const struct uvmp_evict_call *call);
	/* The unit was evicted, freed or pinned. NULL: no effect. */
	void (*removed)(void *user, const struct uvmp_evict_call *call);
	/* uvmp_evict_left: the unit was evicted with `pages` pages of 4 KiB, of which `untouched` had no
	 * touch since their arrival; the engine counts those with the trait has_touches. NULL: no effect. */
	void (*left)(void *user, const struct uvmp_evict_call *call, uint32_t pages, uint32_t untouched);
	/* A batch of faults begins. NULL: no effect. */
	void (*batch)(void *user, void *state, const uint32_t *value);
};

/* Bytes of memory for `units` units; 0 if the plugin or the number is not valid, or the size does not fit
 * size_t. */
UVMP_API size_t uvmp_evict_plugin_size(const struct uvmp_evict_plugin *plugin, uint32_t units);
/* As uvmp_evict_init; evict->evictor becomes no value of the list. `value`: [parameters]; NULL: the defaults.
 * The memory keeps a pointer to the plugin. UVMP_ERR_ARGUMENT also: the plugin is not valid. UVMP_ERR_RANGE
 * also: a value. Touch, remove and forget are O(log units), and writing the state of lower units that were
 * never touched; a victim is O(log units) for each unit that is asked. */
UVMP_API enum uvmp_status uvmp_evict_init_plugin(struct uvmp_evict *evict,
						 const struct uvmp_evict_plugin *plugin,
						 const uint32_t *value, uint32_t units, void *memory,
						 size_t bytes);

/* -- plugins of a policy ----------------------------------------------------------------------------- */

/* A list of plugins, which a shared object returns and the parser takes. */
struct uvmp_plugins {
	uint32_t size;	  /* set by the host, see base.h; through `order` */
	uint32_t version; /* UVMP_PLUGIN_VERSION */
	uint32_t prefetchers, orders;
	const struct uvmp_prefetch_plugin *const *prefetcher; /* [prefetchers] */
	const struct uvmp_evict_plugin *const *order;	      /* [orders] */
};

#define UVMP_PLUGINS_ERROR_MAX 160u

/* Is the list valid? `text` (may be NULL) becomes one line that says what is wrong, cut at `capacity`
 * (UVMP_PLUGINS_ERROR_MAX suffices); it is unchanged on success. UVMP_ERR_ARGUMENT: a size, a pointer that is
 * missing. UVMP_ERR_UNSUPPORTED: the version, a trait that a plugin cannot have. UVMP_ERR_RANGE: another
 * field, a name. UVMP_ERR_CONFLICT: a name that is given twice, or of the library. O(names squared). */
UVMP_API enum uvmp_status uvmp_plugins_check(const struct uvmp_plugins *plugins, char *text, size_t capacity);

/* As uvmp_policy_parse_size, with the names and parameters of plugins, which may be NULL. The policy points
 * to the plugins that it names. Errors also: those of uvmp_plugins_check, at offset 0. */
UVMP_API enum uvmp_status uvmp_policy_parse_plugins_size(const char *text, size_t length,
							 const struct uvmp_plugins *plugins,
							 struct uvmp_policy *policy, size_t size,
							 struct uvmp_policy_error *error);
static inline enum uvmp_status uvmp_policy_parse_plugins(const char *text, size_t length,
							 const struct uvmp_plugins *plugins,
							 struct uvmp_policy *policy,
							 struct uvmp_policy_error *error)
{
	return uvmp_policy_parse_plugins_size(text, length, plugins, policy, sizeof(*policy), error);
}

/* -- shared objects ---------------------------------------------------------------------------------- */

/* A shared object exports one function of this name, which returns its plugins, or NULL if it does not know
 * the host's version:
 *
 *   const struct uvmp_plugins *uvmp_plugin(uint32_t version);
 *
 * These macros define it for one plugin, at file scope, without a semicolon behind. An object that
 * calls functions of the library, for masks and random numbers, links libuvmpolicy.a: neither uvmsim nor
 * uvmp-run exports them. The library has no global state, so that a second copy does no harm. */
#define UVMP_PLUGIN_SYMBOL "uvmp_plugin"

#ifdef __cplusplus
#define UVMP_PLUGIN_EXPORT extern "C" UVMP_API
#else
#define UVMP_PLUGIN_EXPORT UVMP_API
#endif
#define UVMP_PLUGIN_DEFINE(plugins_)                                                                         \
	UVMP_PLUGIN_EXPORT const struct uvmp_plugins *uvmp_plugin(uint32_t version);                         \
	const struct uvmp_plugins *uvmp_plugin(uint32_t version)                                             \
	{                                                                                                    \
		return version == UVMP_PLUGIN_VERSION ? (plugins_) : NULL;                                   \
	}
#define UVMP_PLUGIN_PREFETCHER(plugin_)                                                                      \
	static const struct uvmp_prefetch_plugin *const uvmp_plugin_list[] = {&(plugin_)};                   \
	static const struct uvmp_plugins uvmp_plugin_all = {                                                 \
		sizeof(struct uvmp_plugins), UVMP_PLUGIN_VERSION, 1, 0, uvmp_plugin_list, NULL};             \
	UVMP_PLUGIN_DEFINE(&uvmp_plugin_all)
#define UVMP_PLUGIN_ORDER(plugin_)                                                                           \
	static const struct uvmp_evict_plugin *const uvmp_plugin_list[] = {&(plugin_)};                      \
	static const struct uvmp_plugins uvmp_plugin_all = {                                                 \
		sizeof(struct uvmp_plugins), UVMP_PLUGIN_VERSION, 0, 1, NULL, uvmp_plugin_list};             \
	UVMP_PLUGIN_DEFINE(&uvmp_plugin_all)

#ifdef __cplusplus
}
#endif
#endif
