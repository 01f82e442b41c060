/* uvmsim list: workloads, policies, presets, GPUs and formats. */
#include "cli.h"

#include <string.h>

#include "import.h"
#include "model.h"
#include "nearest.h"
#include "plugins.h"
#include "source.h"

const char help_list[] = "usage: uvmsim list workloads|policies|presets|gpus|formats [NAME]\n"
			 "\n"
			 "  workloads  built-in programs with their parameters\n"
			 "  policies   keys of the policy string: values, default, which policies use them\n"
			 "  presets    named policies, each with its canonical string\n"
			 "  gpus       models of GPUs and their links (docs/models.md)\n"
			 "  formats    formats of files that are read\n"
			 "\n"
			 "With NAME: only that workload, key, preset, GPU or format; of policies also a\n"
			 "value, such as lru4k, or a plugin.\n"
			 "\n"
			 "  --plugin FILE  policies: with the plugins of a shared object (docs/plugins.md)\n";

static int list_workloads(void)
{
	workload_list(stdout);
	return CLI_DONE;
}

static int list_workload(const char *name)
{
	char error[SOURCE_ERROR_MAX];

	return workload_list_one(name, stdout, error) ? CLI_DONE : say_error("%s", error);
}

/* The plugins that a key may name, each after a blank. */
static void list_plugin_names(const char *key)
{
	const struct uvmp_plugins *plugins = plugins_all();

	if (strcmp(key, "evict") == 0)
		for (uint32_t i = 0; i < plugins->orders; i++)
			printf(" %s", plugins->order[i]->name);
	if (strcmp(key, "prefetch") == 0 || strcmp(key, "prefetch_full") == 0)
		for (uint32_t i = 0; i < plugins->prefetchers; i++)
			printf(" %s", plugins->prefetcher[i]->name);
}

/* Prints the parameters, or the one called `only`. Returns false if none has this name. */
static bool list_parameters(const struct uvmp_plugin_parameter *parameter, uint32_t parameters, const char *key,
			    const char *name, const char *only)
{
	bool is_found = false;

	for (uint32_t i = 0; i < parameters; i++) {
		if (only && strcmp(only, parameter[i].name) != 0)
			continue;
		is_found = true;
		printf("%s\n    %s\n    values: %lu..%lu\n    default: %lu\n    used by: %s=%s\n", parameter[i].name,
		       parameter[i].summary, (unsigned long)parameter[i].min, (unsigned long)parameter[i].max,
		       (unsigned long)parameter[i].initial, key, name);
	}
	return is_found;
}

/* Prints all plugins, or those of the given name, or the parameter of this name. Returns false if none has the name. */
static bool list_plugins(const char *name)
{
	const struct uvmp_plugins *plugins = plugins_all();
	bool is_found = false;

	for (uint32_t i = 0; i < plugins->prefetchers; i++) {
		const struct uvmp_prefetch_plugin *p = plugins->prefetcher[i];
		bool is_named = !name || strcmp(name, p->name) == 0;

		if (is_named)
			printf("plugin prefetch=%s\n    %s\n", p->name, p->summary ? p->summary : "");
		is_found |= is_named;
		is_found |= list_parameters(p->parameter, p->parameters, "prefetch", p->name, is_named ? NULL : name);
	}
	for (uint32_t i = 0; i < plugins->orders; i++) {
		const struct uvmp_evict_plugin *o = plugins->order[i];
		bool is_named = !name || strcmp(name, o->name) == 0;

		if (is_named)
			printf("plugin evict=%s (units of %luK)\n    %s\n", o->name,
			       (unsigned long)o->traits.unit_pages * 4, o->summary ? o->summary : "");
		is_found |= is_named;
		is_found |= list_parameters(o->parameter, o->parameters, "evict", o->name, is_named ? NULL : name);
	}
	return is_found;
}

static void list_key(uint32_t index, const struct uvmp_policy_key *key)
{
	printf("%s\n    %s\n    values: ", key->name, key->summary);
	if (!key->is_choice)
		printf("%lu..%lu\n    default: %lu\n", (unsigned long)key->min, (unsigned long)key->max,
		       (unsigned long)key->initial);
	for (uint32_t i = key->min; key->is_choice && i <= key->max; i++)
		printf("%s%s", i > key->min ? " " : "", uvmp_policy_choice(index, i));
	if (key->is_choice)
		list_plugin_names(key->name);
	if (key->is_choice)
		printf("\n    default: %s\n", uvmp_policy_choice(index, key->initial));
	printf("    used by: %s\n", key->used_by[0] != '\0' ? key->used_by : "every policy");
}

/* Words in lines of at most 110 columns, each after four blanks. */
static void list_wrapped(const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t length = strcspn(text, " ");

		if (column > 0 && column + 1 + length > 110) {
			putchar('\n');
			column = 0;
		}
		printf("%s%.*s", column > 0 ? " " : "    ", (int)length, text);
		column += (column > 0 ? 1 : 4) + length;
		text += length + strspn(text + length, " ");
	}
	putchar('\n');
}

/* NULL: there is no key of this name. */
static const struct uvmp_policy_key *find_key(const char *name, struct uvmp_policy_key *space, uint32_t *index)
{
	const struct uvmp_policy_key *key;

	for (*index = 0; (key = uvmp_policy_key_at(*index, space)) != NULL; (*index)++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

/* A line for each value of the key that has a summary. */
static void list_values(const char *name)
{
	struct uvmp_policy_key space = {.size = sizeof(space)};
	uint32_t index;
	const struct uvmp_policy_key *key = find_key(name, &space, &index);
	bool is_order = strcmp(name, "evict") == 0;

	for (uint32_t i = key->min; key->is_choice && i <= key->max; i++) {
		const char *summary = uvmp_policy_choice_summary(index, i);
		unsigned long pages = is_order ? uvmp_evict_unit_pages((enum uvmp_evictor)i) : 0;

		if (summary[0] == '\0')
			continue;
		printf("    %-12s", uvmp_policy_choice(index, i));
		if (is_order)
			printf("%5luK  ", pages * 4);
		puts(summary);
	}
}

/* Is the value one of those in `used_by`, such as "prefetch=density|next"? */
static bool is_used_by(const char *used_by, const char *key, const char *value)
{
	size_t length = strlen(key), bytes = strlen(value);

	if (strncmp(used_by, key, length) != 0 || used_by[length] != '=')
		return false;
	for (used_by += length; *used_by == '=' || *used_by == '|';) {
		used_by++;
		length = strcspn(used_by, "|");
		if (length == bytes && memcmp(used_by, value, bytes) == 0)
			return true;
		used_by += length;
	}
	return false;
}

static void list_value(const char *key, const char *value, const char *summary)
{
	struct uvmp_policy_key space = {.size = sizeof(space)};
	const struct uvmp_policy_key *of;
	bool is_first = true;

	printf("%s=%s\n", key, value);
	if (summary[0] != '\0')
		printf("    %s\n", summary);
	for (uint32_t i = 0; (of = uvmp_policy_key_at(i, &space)) != NULL; i++) {
		if (!is_used_by(of->used_by, key, value))
			continue;
		printf("%s%s", is_first ? "    keys: " : " ", of->name);
		is_first = false;
	}
	if (!is_first)
		putchar('\n');
}

/* Prints each key value and each plugin of this name. Returns false if none has the name. */
static bool list_values_named(const char *name, struct nearest *nearest)
{
	struct uvmp_policy_key space = {.size = sizeof(space)};
	const struct uvmp_policy_key *key;
	bool is_found = list_plugins(name);

	for (uint32_t i = 0; (key = uvmp_policy_key_at(i, &space)) != NULL; i++) {
		for (uint32_t v = key->min; key->is_choice && v <= key->max; v++) {
			const char *value = uvmp_policy_choice(i, v);

			nearest_try(nearest, value);
			if (strcmp(value, name) != 0)
				continue;
			list_value(key->name, value, uvmp_policy_choice_summary(i, v));
			is_found = true;
		}
	}
	return is_found;
}

static int list_policies(void)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};

	puts("A policy is a preset's name (uvmsim list presets), key=value words, or both.\n");
	for (uint32_t i = 0; (key = uvmp_policy_key_at(i, &space)) != NULL; i++)
		list_key(i, key);
	puts("\nprefetchers: what they fetch beside faulted pages");
	list_values("prefetch");
	puts("eviction orders, with the size of their units: what is evicted first");
	list_values("evict");
	(void)list_plugins(NULL);
	return CLI_DONE;
}

static int list_policy(const char *name)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, name, strlen(name));
	for (uint32_t i = 0; (key = uvmp_policy_key_at(i, &space)) != NULL; i++) {
		if (strcmp(name, key->name) == 0) {
			list_key(i, key);
			list_values(name);
			return CLI_DONE;
		}
		nearest_try(&nearest, key->name);
	}
	if (list_values_named(name, &nearest))
		return CLI_DONE;
	return say_error("there is no key, value or plugin %.100s%s; see `uvmsim list policies`", name,
			 nearest_hint(&nearest, hint));
}

static int print_preset(const struct uvmp_policy_preset *preset)
{
	struct uvmp_policy policy;
	char text[UVMP_POLICY_TEXT_MAX];

	if (!options_policy("preset", preset->name, &policy))
		return CLI_BAD_INPUT;
	if (uvmp_policy_print(&policy, text, sizeof(text)) != UVMP_OK)
		return say_error("preset %s cannot be printed", preset->name);
	printf("%s\n    %s\n", preset->name, preset->summary);
	list_wrapped(text);
	return CLI_DONE;
}

static int list_presets(void)
{
	const struct uvmp_policy_preset *preset;
	int status = CLI_DONE;

	for (uint32_t i = 0; status == CLI_DONE && (preset = uvmp_policy_preset_at(i)) != NULL; i++)
		status = print_preset(preset);
	return status;
}

static int list_preset(const char *name)
{
	const struct uvmp_policy_preset *preset;
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, name, strlen(name));
	for (uint32_t i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++) {
		if (strcmp(name, preset->name) == 0)
			return print_preset(preset);
		nearest_try(&nearest, preset->name);
	}
	return say_error("there is no preset %.100s%s; see `uvmsim list presets`", name,
			 nearest_hint(&nearest, hint));
}

static int list_gpus(void)
{
	char error[MODEL_ERROR_MAX];

	return model_list(stdout, error) ? CLI_DONE : say_error("%s", error);
}

static int list_gpu(const char *name)
{
	char error[MODEL_ERROR_MAX];

	return model_list_one(name, stdout, error) ? CLI_DONE : say_error("%s", error);
}

static const struct {
	const char *name, *line, *summary;
} own_format[] = {
	{"trace", "first line `uvmp-trace 1` or `2`",
	 "page accesses and calls, CSV, also zstd-compressed (run, compare, bound, trace)"},
	{"vectors", "first line `uvmpolicy-vectors 1 K`", "inputs and expected decisions of kind K (decide, check)"},
	{"measured", "first line `uvmp-measured 1`", "faults and copies of a real GPU (measured)"},
	{"log", "one action a line", "decisions of the engine and their causes (run --log, explain)"},
};
#define OWN_FORMATS (sizeof(own_format) / sizeof(own_format[0]))

static void print_own_format(size_t i)
{
	printf("%-10s%-35s%s\n", own_format[i].name, own_format[i].line, own_format[i].summary);
}

static void print_format(const struct import_format *format)
{
	printf("%-18s%s\n", import_format_name(format), import_format_summary(format));
}

static int list_format(const char *name)
{
	const struct import_format *format;
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;
	bool is_found = false;

	nearest_start(&nearest, name, strlen(name));
	for (size_t i = 0; i < OWN_FORMATS; i++) {
		nearest_try(&nearest, own_format[i].name);
		if (strcmp(own_format[i].name, name) != 0)
			continue;
		print_own_format(i);
		is_found = true;
	}
	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++) {
		nearest_try(&nearest, import_format_name(format));
		if (strcmp(import_format_name(format), name) != 0)
			continue;
		print_format(format);
		is_found = true;
	}
	return is_found ? CLI_DONE
			: say_error("there is no format %.100s%s; see `uvmsim list formats`", name,
				    nearest_hint(&nearest, hint));
}

static int list_formats(void)
{
	const struct import_format *format;

	for (size_t i = 0; i < OWN_FORMATS; i++)
		print_own_format(i);
	puts("\nof other tools (import):");
	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++)
		print_format(format);
	return CLI_DONE;
}

/* The next argument that is not --plugin, which has been read. */
static int next_operand(struct options *args, const char **value)
{
	int what;

	do
		what = options_next(args, value);
	while (what >= 0);
	return what;
}

int cmd_list(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*list)(void);
		int (*list_one)(const char *name);
	} topics[] = {
		{"workloads", list_workloads, list_workload},
		{"policies", list_policies, list_policy},
		{"presets", list_presets, list_preset},
		{"gpus", list_gpus, list_gpu},
		{"formats", list_formats, list_format},
	};
	const size_t count = sizeof(topics) / sizeof(topics[0]);
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;
	size_t found = 0;
	static const char *const accepted[] = {"plugin=*", NULL};
	struct options args = CLI_OPTIONS(accepted, "list");
	const char *topic, *more, *name = NULL;
	int what;

	if (!plugins_load_all(argc, argv))
		return CLI_BAD_INPUT;
	what = next_operand(&args, &topic);
	if (what == OPTIONS_BAD)
		return CLI_BAD_INPUT;
	if (what == OPTIONS_END)
		return say_error("list: a topic must follow: workloads, policies, presets, gpus or formats");
	nearest_start(&nearest, topic, strlen(topic));
	while (found < count && strcmp(topic, topics[found].name) != 0)
		nearest_try(&nearest, topics[found++].name);
	if (found == count)
		return say_error("there is no list of %.100s%s; accepted are workloads, policies, presets, gpus, formats",
				 topic, nearest_hint(&nearest, hint));
	what = next_operand(&args, &more);
	if (what == OPTIONS_OPERAND) {
		name = more;
		what = next_operand(&args, &more);
	}
	if (what != OPTIONS_END)
		return what == OPTIONS_BAD
			       ? CLI_BAD_INPUT
			       : say_error("unexpected argument %.100s; see `uvmsim list --help`", more);
	return name ? topics[found].list_one(name) : topics[found].list();
}
