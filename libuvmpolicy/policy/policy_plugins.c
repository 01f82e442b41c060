/* Policies that are not of the library (plugin.h): lists of them, and those that a policy names. */
#include "../evict/evict_plugin_internal.h"
#include "../prefetch/prefetch_plugin_internal.h"
#include "policy_internal.h"

#define PLUGINS_MAX 256u /* of one kind */

static bool is_same(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* -- the fields of a policy -- */

bool uvmpi_is_plugin(enum plugin_key key, uint32_t value)
{
	switch (key) {
	case PLUGIN_PREFETCH:
		return value == UVMP_PREFETCH_PLUGIN;
	case PLUGIN_FULL:
		return value == UVMP_PREFETCH_PLUGIN + 1u;
	default:
		return key == PLUGIN_EVICT && value == UVMP_EVICT_PLUGIN;
	}
}

static struct plugin_head prefetcher_head(const struct uvmp_prefetch_plugin *plugin)
{
	return (struct plugin_head){plugin->name, plugin->parameter, plugin->parameters};
}

static struct plugin_head order_head(const struct uvmp_evict_plugin *plugin)
{
	return (struct plugin_head){plugin->name, plugin->parameter, plugin->parameters};
}

static const struct uvmp_prefetch_plugin *prefetcher_of(const struct uvmp_policy *policy, enum plugin_key key)
{
	return key == PLUGIN_FULL ? policy->full_plugin : policy->prefetch.plugin;
}

struct plugin_head uvmpi_policy_plugin(const struct uvmp_policy *policy, enum plugin_key key)
{
	return key == PLUGIN_EVICT ? order_head(policy->evict_plugin) : prefetcher_head(prefetcher_of(policy, key));
}

const uint32_t *uvmpi_policy_plugin_values(const struct uvmp_policy *policy, enum plugin_key key)
{
	if (key == PLUGIN_FULL)
		return NULL;
	return key == PLUGIN_EVICT ? policy->evict_value : policy->prefetch.value;
}

/* Values in range, and 0 behind them. */
static bool are_values_valid(const struct plugin_head *plugin, const uint32_t *value)
{
	for (uint32_t i = plugin->parameters; i < UVMP_PLUGIN_VALUES_MAX; i++)
		if (value[i] != 0)
			return false;
	return uvmpi_plugin_values_are_valid(plugin->parameter, plugin->parameters, value);
}

static bool has_plugin(const struct uvmp_policy *policy, enum plugin_key key)
{
	return key == PLUGIN_EVICT ? policy->evict_plugin != NULL : prefetcher_of(policy, key) != NULL;
}

static bool has_valid_plugin(const struct uvmp_policy *policy, enum plugin_key key)
{
	struct plugin_defect defect = key == PLUGIN_EVICT ? uvmpi_evict_plugin_defect(policy->evict_plugin)
							  : uvmpi_prefetch_plugin_defect(prefetcher_of(policy, key));

	return defect.status == UVMP_OK;
}

bool uvmpi_policy_plugin_is_valid(const struct uvmp_policy *policy, enum plugin_key key, uint32_t value)
{
	const uint32_t *values = uvmpi_policy_plugin_values(policy, key);
	bool is_plugin = uvmpi_is_plugin(key, value);
	struct plugin_head plugin = {NULL, NULL, 0};

	if (has_plugin(policy, key) != is_plugin || (is_plugin && !has_valid_plugin(policy, key)))
		return false;
	if (is_plugin)
		plugin = uvmpi_policy_plugin(policy, key);
	return values == NULL || are_values_valid(&plugin, values);
}

void uvmpi_policy_set_plugin(struct uvmp_policy *policy, enum plugin_key key, const struct uvmp_plugins *plugins,
			     uint32_t index)
{
	struct plugin_head plugin = uvmpi_plugin_at(plugins, key, index);

	if (key == PLUGIN_PREFETCH) {
		policy->prefetch.prefetcher = UVMP_PREFETCH_PLUGIN;
		policy->prefetch.plugin = plugins->prefetcher[index];
		uvmpi_plugin_values_init(plugin.parameter, plugin.parameters, policy->prefetch.value);
	} else if (key == PLUGIN_FULL) {
		policy->prefetch_full = UVMP_PREFETCH_PLUGIN + 1u;
		policy->full_plugin = plugins->prefetcher[index];
	} else {
		policy->evict = UVMP_EVICT_PLUGIN;
		policy->evict_plugin = plugins->order[index];
		uvmpi_plugin_values_init(plugin.parameter, plugin.parameters, policy->evict_value);
	}
}

/* -- lists -- */

struct plugin_head uvmpi_plugin_at(const struct uvmp_plugins *plugins, enum plugin_key key, uint32_t index)
{
	if (plugins != NULL && key == PLUGIN_EVICT && index < plugins->orders)
		return order_head(plugins->order[index]);
	if (plugins != NULL && key != PLUGIN_EVICT && index < plugins->prefetchers)
		return prefetcher_head(plugins->prefetcher[index]);
	return (struct plugin_head){NULL, NULL, 0};
}

const struct uvmp_plugin_parameter *uvmpi_plugin_parameter(const struct plugin_head *plugin, const char *name,
							   uint32_t length)
{
	for (uint32_t i = 0; i < plugin->parameters; i++) {
		const char *own = plugin->parameter[i].name;
		uint32_t same = 0;

		while (same < length && own[same] == name[same]) /* also where `own` ends: a name holds no NUL */
			same++;
		if (same == length && own[same] == '\0')
			return &plugin->parameter[i];
	}
	return NULL;
}

/* -- check of a list -- */

/* Where a defect is: in the list, if there is no kind. */
struct place {
	const char *kind;
	uint32_t index;
	const char *name; /* of the plugin; NULL: not known */
};

static enum uvmp_status refuse(struct text *text, struct place place, struct plugin_defect defect)
{
	put_text(text, place.kind != NULL ? place.kind : "plugins");
	if (place.name != NULL) {
		put_char(text, ' ');
		put_text(text, place.name);
	} else if (place.kind != NULL) {
		put_char(text, '[');
		put_number(text, place.index);
		put_char(text, ']');
	}
	put_text(text, ": ");
	if (defect.parameter != NULL) {
		put_text(text, "parameter ");
		put_text(text, defect.parameter->name);
		put_text(text, ": ");
	}
	if (defect.what != NULL) {
		put_text(text, defect.what);
		return defect.status;
	}
	put_text(text, "the initial value ");
	put_number(text, defect.parameter->initial);
	put_text(text, " is not accepted; ");
	put_number(text, defect.parameter->min);
	put_text(text, "..");
	put_number(text, defect.parameter->max);
	return defect.status;
}

static struct plugin_defect defect_of_list(const struct uvmp_plugins *plugins)
{
	if (!uvmpi_sized_fits(plugins->size, SIZE_THROUGH(struct uvmp_plugins, order)))
		return PLUGIN_SIZE_DEFECT;
	if (plugins->version != UVMP_PLUGIN_VERSION)
		return plugin_defect(UVMP_ERR_UNSUPPORTED, "the version is not 1");
	if (plugins->prefetchers > PLUGINS_MAX || plugins->orders > PLUGINS_MAX)
		return plugin_defect(UVMP_ERR_RANGE, "more than 256 of a kind");
	if ((plugins->prefetchers != 0 && plugins->prefetcher == NULL) || (plugins->orders != 0 && plugins->order == NULL))
		return plugin_defect(UVMP_ERR_ARGUMENT, "prefetcher or order is missing");
	return plugin_defect(UVMP_OK, NULL);
}

/* The plugin by itself. */
static struct plugin_defect defect_of_plugin(const struct uvmp_plugins *plugins, enum plugin_key key, uint32_t index)
{
	if (key == PLUGIN_EVICT ? plugins->order[index] == NULL : plugins->prefetcher[index] == NULL)
		return plugin_defect(UVMP_ERR_ARGUMENT, "missing (NULL)");
	return key == PLUGIN_EVICT ? uvmpi_evict_plugin_defect(plugins->order[index])
				   : uvmpi_prefetch_plugin_defect(plugins->prefetcher[index]);
}

/* Does the library have a policy of this name, or `prefetch_full` a value? */
static bool is_of_library(enum plugin_key key, const char *name)
{
	const char *own;

	for (uint32_t i = 0;; i++) {
		own = key == PLUGIN_EVICT ? uvmp_evict_name((enum uvmp_evictor)i) : uvmp_prefetch_name((enum uvmp_prefetcher)i);
		if (own == NULL)
			return key != PLUGIN_EVICT && is_same(name, "same");
		if (is_same(name, own))
			return true;
	}
}

static bool is_key(const char *name)
{
	struct key_walk walk = {0};
	const struct key *key;

	while ((key = uvmpi_key_next(&walk)) != NULL)
		if (is_same(name, key->parameter->name))
			return true;
	return is_same(name, "preset");
}

/* Parameters of this name of all plugins of a kind. */
static uint32_t count_parameters(const struct uvmp_plugins *plugins, enum plugin_key key, const char *name)
{
	struct plugin_head plugin = uvmpi_plugin_at(plugins, key, 0);
	uint32_t count = 0;

	for (uint32_t i = 1; plugin.name != NULL; i++) {
		for (uint32_t k = 0; k < plugin.parameters; k++)
			count += is_same(name, plugin.parameter[k].name);
		plugin = uvmpi_plugin_at(plugins, key, i);
	}
	return count;
}

static uint32_t count_of(const struct uvmp_plugins *plugins, enum plugin_key key)
{
	return key == PLUGIN_EVICT ? plugins->orders : plugins->prefetchers;
}

/* The names of a plugin beside those of the others; every plugin by itself is valid. The name comes first: a plugin that is given
 * twice has both names twice. */
static struct plugin_defect defect_of_names(const struct uvmp_plugins *plugins, enum plugin_key key, uint32_t index)
{
	struct plugin_head plugin = uvmpi_plugin_at(plugins, key, index);

	if (is_of_library(key, plugin.name))
		return plugin_defect(UVMP_ERR_CONFLICT, "the library has a policy of this name");
	for (uint32_t i = 0; i < count_of(plugins, key); i++)
		if (i != index && is_same(uvmpi_plugin_at(plugins, key, i).name, plugin.name))
			return plugin_defect(UVMP_ERR_CONFLICT, "another plugin has this name");
	for (uint32_t i = 0; i < plugin.parameters; i++) {
		const char *name = plugin.parameter[i].name;

		if (is_key(name))
			return plugin_defect(UVMP_ERR_CONFLICT, "a parameter has the name of a key of the library");
		if (count_parameters(plugins, PLUGIN_PREFETCH, name) + count_parameters(plugins, PLUGIN_EVICT, name) != 1u)
			return plugin_defect(UVMP_ERR_CONFLICT, "another parameter has the same name as one of its own");
	}
	return plugin_defect(UVMP_OK, NULL);
}

static enum uvmp_status check_kind(const struct uvmp_plugins *plugins, enum plugin_key key, bool has_names,
				   struct text *text)
{
	for (uint32_t i = 0; i < count_of(plugins, key); i++) {
		struct plugin_defect defect =
			has_names ? defect_of_names(plugins, key, i) : defect_of_plugin(plugins, key, i);
		struct place place = {key == PLUGIN_EVICT ? "order" : "prefetcher", i, NULL};

		if (has_names || defect.parameter != NULL)
			place.name = uvmpi_plugin_at(plugins, key, i).name;
		if (defect.status != UVMP_OK)
			return refuse(text, place, defect);
	}
	return UVMP_OK;
}

enum uvmp_status uvmp_plugins_check(const struct uvmp_plugins *plugins, char *text, size_t capacity)
{
	struct text out = {text, text != NULL ? capacity : 0, 0};
	struct plugin_defect defect = plugin_defect(UVMP_ERR_ARGUMENT, "missing (NULL)");
	enum uvmp_status status;

	if (plugins != NULL)
		defect = defect_of_list(plugins);
	if (defect.status != UVMP_OK)
		return refuse(&out, (struct place){NULL, 0, NULL}, defect);
	status = check_kind(plugins, PLUGIN_PREFETCH, false, &out);
	if (status == UVMP_OK)
		status = check_kind(plugins, PLUGIN_EVICT, false, &out);
	if (status == UVMP_OK)
		status = check_kind(plugins, PLUGIN_PREFETCH, true, &out);
	return status == UVMP_OK ? check_kind(plugins, PLUGIN_EVICT, true, &out) : status;
}
