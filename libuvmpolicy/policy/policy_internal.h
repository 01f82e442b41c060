/* Declarations that the files of the policy string share.
 *
 *   policy_keys.c     the table of keys: every key once, with the field that holds it and the keys that it depends on
 *   policy_presets.c  the table of presets
 *   policy.c          defaults, validity
 *   policy_parse.c    text to policy
 *   policy_print.c    policy to text
 *   policy_needs.c    what a policy needs of its host
 *   policy_plugins.c  policies that are not of the library: lists of them, and those that a policy names
 *
 * Values are read from and written to struct uvmp_policy in place, through the key's field. */
#ifndef UVMPOLICY_POLICY_INTERNAL_H
#define UVMPOLICY_POLICY_INTERNAL_H

#include "../adapt/adapt_internal.h"
#include "../base/parameter_internal.h"
#include "../base/plugin_internal.h"
#include "../base/sized_internal.h"
#include "../base/text_internal.h"
#include "uvmpolicy/policy.h"

/* When is a key used? Always, or while another key, which precedes it, has one of some values. */
enum use {
	USE_ALWAYS,
	USE_PREFETCHER, /* prefetch: the prefetcher that defines the parameter, and those that start from it */
	USE_THRESHOLD,	/* prefetch: a prefetcher whose threshold controllers may change */
	USE_CONTROLLER,	 /* `adapt` or a switch: the controller that defines the parameter */
	USE_GRANULARITY, /* evict: orders whose units have a size of choice */
	USE_RESERVE,	 /* evict: orders that know which unit goes first */
	USE_UNITS,	 /* evict: orders with units of their own */
	USE_CHUNKS,	 /* evict: the driver's root chunks */
	USE_TREE,	 /* evict: orders that take further basic blocks along */
	USE_GROUPS,	 /* evict: orders that take further units of a block along */
	USE_CYCLIC,	 /* cyclic=on */
	USE_REMOTE,	 /* remote: any mode but off */
	USE_PENALTY,	 /* remote=adaptive */
	USE_FLUSH,	 /* replay=batch_flush */
	USE_THRASH,	 /* thrash=on */
	USE_COUNTERS,	 /* counters: any mode but off */
	USE_COUNT,
	/* rows of the table that stand for the parameters of descriptors: of prefetchers, of controllers that
	 * `adapt` chooses, and of controllers with a switch */
	USE_PREFETCHERS = USE_COUNT,
	USE_TUNERS,
	USE_SWITCHED
};

/* The keys that may name a plugin. */
enum plugin_key { PLUGIN_NONE, PLUGIN_PREFETCH, PLUGIN_FULL, PLUGIN_EVICT };

struct key {
	const struct parameter *parameter; /* name, range, default, help, choices */
	const char *field;		   /* that holds it in struct uvmp_policy, as in C; NULL: parameter->field
					    * of `prefetch` or `controls` */
	uint16_t offset;		   /* of the field in struct uvmp_policy, bytes */
	uint8_t bytes;			   /* of the field */
	uint8_t use;			   /* enum use */
	uint8_t owner;			   /* USE_PREFETCHER, USE_CONTROLLER: that defines the parameter */
	uint8_t plugin;			   /* enum plugin_key */
};

#define KEYS_MAX 96u

/* A walk over all keys in the order in which they are printed. Zeros: before the first. */
struct key_walk {
	uint32_t keys;	     /* returned so far */
	uint32_t row;	     /* next one of the table */
	uint32_t descriptor; /* next one of a row that stands for several */
	uint32_t left;	     /* parameters left of the last descriptor, from here on: */
	const struct parameter *parameter;
	uint16_t structure;	  /* offset in struct uvmp_policy of the structure with their fields */
	uint8_t use, next_use;	  /* enum use: of the next parameter, and of those behind it */
	struct key of_descriptor; /* the key that the last call made of a parameter */
};
/* The next key; NULL: there are no more. It is valid until the next call. */
const struct key *uvmpi_key_next(struct key_walk *walk);
uint32_t uvmpi_key_get(const struct key *key, const struct uvmp_policy *policy);
void uvmpi_key_set(const struct key *key, struct uvmp_policy *policy, uint32_t value);
/* Does the policy use the key? The keys before it are in range. */
bool uvmpi_key_is_used(const struct key *key, const struct uvmp_policy *policy);
/* Writes "prefetch=density|next" for a key that is not always used, nothing for others. */
void uvmpi_key_put_use(const struct key *key, struct text *text);

/* Writes the field that holds the key, as in C: "replay.max_batch". */
void uvmpi_key_put_field(const struct key *key, struct text *text);

/* Values that a key accepts with the other values of the policy; `by`: the key that narrows them, NULL: none. */
struct limit {
	const char *by;
	uint32_t by_value;
	uint32_t min, max;
};
struct limit uvmpi_key_limit(const struct key *key, const struct uvmp_policy *policy);

/* The field of the policy whose value turns the controller on; does this value? */
struct field {
	uint16_t offset;
	uint8_t bytes;
};
struct field uvmpi_controller_field(const struct controller *controller);
bool uvmpi_controller_is_on(const struct controller *controller, uint32_t value);
/* Does the policy turn the controller on? */
static inline bool policy_has_controller(const struct uvmp_policy *policy, const struct controller *controller)
{
	struct field field = uvmpi_controller_field(controller);

	return uvmpi_controller_is_on(controller, (uint32_t)uvmpi_field_get(policy, field.offset, field.bytes));
}

/* The host's policy as this library's version of the structure. Errors of uvmpi_sized_read; UVMP_ERR_ARGUMENT: NULL. */
#define POLICY_SIZE_LEAST SIZE_THROUGH(struct uvmp_policy, quirks)
enum uvmp_status uvmpi_policy_read(struct uvmp_policy *to, const struct uvmp_policy *from);
/* The defaults, with the library's size. */
void uvmpi_policy_reset(struct uvmp_policy *policy);
/* The first value of a policy that is not accepted. */
struct policy_fault {
	char field[48]; /* of struct uvmp_policy, as in C */
	uint64_t value, min, max;
	const char *by; /* the key that narrows the range, "": the policy does not use the field, NULL: neither */
	uint32_t by_value; /* of that key */
	const char *why; /* what is accepted, in words; NULL: the range says it */
};
/* Is a policy of the library's version valid? False: *fault says what is wrong. */
bool uvmpi_policy_check(const struct uvmp_policy *policy, struct policy_fault *fault);
bool uvmpi_policy_is_valid(const struct uvmp_policy *policy);

/* Copies what two structures of the policy share: quirks. */
void uvmpi_policy_share(struct uvmp_policy *policy);

/* The traits of the prefetcher of a policy with `prefetch_full`. */
static inline const struct uvmp_prefetch_traits *uvmpi_policy_full_traits(const struct uvmp_policy *policy)
{
	return policy->full_plugin != NULL ? &policy->full_plugin->traits
					   : uvmp_prefetch_traits_of((enum uvmp_prefetcher)(policy->prefetch_full - 1u));
}

/* -- plugins -- */

/* Does the value of a key that may name a plugin name one? */
bool uvmpi_is_plugin(enum plugin_key key, uint32_t value);
/* Are the fields of the plugin valid for this value of the key? */
bool uvmpi_policy_plugin_is_valid(const struct uvmp_policy *policy, enum plugin_key key, uint32_t value);
/* The plugin that a key names; the fields are valid. */
struct plugin_head uvmpi_policy_plugin(const struct uvmp_policy *policy, enum plugin_key key);
/* The values of its parameters; NULL: the policy keeps no values of this plugin. */
const uint32_t *uvmpi_policy_plugin_values(const struct uvmp_policy *policy, enum plugin_key key);
/* The policy gets the plugin with this index in the list of its kind. */
void uvmpi_policy_set_plugin(struct uvmp_policy *policy, enum plugin_key key, const struct uvmp_plugins *plugins,
			     uint32_t index);

/* The plugin of a valid list with this index, of the kind of a key; name NULL: beyond the last, or no list. */
struct plugin_head uvmpi_plugin_at(const struct uvmp_plugins *plugins, enum plugin_key key, uint32_t index);
/* The parameter of this name; NULL: the plugin has no such parameter. */
const struct uvmp_plugin_parameter *uvmpi_plugin_parameter(const struct plugin_head *plugin, const char *name,
							   uint32_t length);

#endif
