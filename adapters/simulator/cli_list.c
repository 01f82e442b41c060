/* uvmsim list: workloads, policies, presets, GPUs and formats. */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

#include "import.h"
#include "model.h"
#include "nearest.h"
#include "plugins.h"
#include "source.h"

const char help_list[] = "usage: uvmsim list workloads|policies|presets [NAME] | gpus | formats\n"
			 "\n"
			 "  workloads  built-in programs with their parameters\n"
			 "  policies   keys of the policy string: values, default, which policies use them\n"
			 "  presets    named policies, each with its canonical string\n"
			 "  gpus       models of GPUs and their links (docs/models.md)\n"
			 "  formats    formats of files that are read\n"
			 "\n"
			 "With NAME: only that workload, key or preset.\n"
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

static void list_parameters(const struct uvmp_plugin_parameter *parameter, uint32_t parameters, const char *key,
			    const char *name)
{
	for (uint32_t i = 0; i < parameters; i++)
		printf("%s\n    %s\n    values: %lu..%lu\n    default: %lu\n    used by: %s=%s\n", parameter[i].name,
		       parameter[i].summary, (unsigned long)parameter[i].min, (unsigned long)parameter[i].max,
		       (unsigned long)parameter[i].initial, key, name);
}

static void list_plugins(void)
{
	const struct uvmp_plugins *plugins = plugins_all();

	for (uint32_t i = 0; i < plugins->prefetchers; i++) {
		const struct uvmp_prefetch_plugin *p = plugins->prefetcher[i];

		printf("plugin prefetch=%s\n    %s\n", p->name, p->summary ? p->summary : "");
		list_parameters(p->parameter, p->parameters, "prefetch", p->name);
	}
	for (uint32_t i = 0; i < plugins->orders; i++) {
		const struct uvmp_evict_plugin *o = plugins->order[i];

		printf("plugin evict=%s (units of %luK)\n    %s\n", o->name, (unsigned long)o->traits.unit_pages * 4,
		       o->summary ? o->summary : "");
		list_parameters(o->parameter, o->parameters, "evict", o->name);
	}
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

/* One more word, after a blank. */
__attribute__((format(printf, 3, 4))) static void add_word(char *text, size_t room, const char *format, ...)
{
	size_t used = strlen(text);
	va_list list;

	if (used > 0 && used + 1 < room) {
		text[used++] = ' ';
		text[used] = '\0';
	}
	va_start(list, format);
	vsnprintf(text + used, room - used, format, list);
	va_end(list);
}

static int list_policies(void)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};
	char text[1024] = "";

	puts("A policy is a preset's name (uvmsim list presets), key=value words, or both.\n");
	for (uint32_t i = 0; (key = uvmp_policy_key_at(i, &space)) != NULL; i++)
		list_key(i, key);
	puts("\nprefetchers:");
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++)
		add_word(text, sizeof(text), "%s", uvmp_prefetch_name((enum uvmp_prefetcher)i));
	list_wrapped(text);
	text[0] = '\0';
	puts("eviction orders, with the size of their units:");
	for (int i = 0; i < UVMP_EVICT_COUNT; i++)
		add_word(text, sizeof(text), "%s:%luK", uvmp_evict_name((enum uvmp_evictor)i),
			 (unsigned long)uvmp_evict_unit_pages((enum uvmp_evictor)i) * 4);
	list_wrapped(text);
	list_plugins();
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
			return CLI_DONE;
		}
		nearest_try(&nearest, key->name);
	}
	return say_error("there is no key %.100s%s; see `uvmsim list policies`", name,
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

static int list_formats(void)
{
	const struct import_format *format;

	puts("trace     first line `uvmp-trace 1` or `2`   page accesses and calls, CSV, also "
	     "zstd-compressed (run, "
	     "compare, bound, trace)\n"
	     "vectors   first line `uvmpolicy-vectors 1 K` inputs and expected decisions of kind K (decide, "
	     "check)\n"
	     "measured  first line `uvmp-measured 1`       faults and copies of a real GPU (measured)\n"
	     "log       one action a line                  decisions of the engine and their causes (run --log, "
	     "explain)");
	puts("\nof other tools (import):");
	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++)
		printf("%-18s%s\n", import_format_name(format), import_format_summary(format));
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
		int (*list_one)(const char *name); /* NULL: there is no list of one */
	} topics[] = {
		{"workloads", list_workloads, list_workload},
		{"policies", list_policies, list_policy},
		{"presets", list_presets, list_preset},
		{"gpus", list_gpus, NULL},
		{"formats", list_formats, NULL},
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
	if (what == OPTIONS_OPERAND && topics[found].list_one) {
		name = more;
		what = next_operand(&args, &more);
	}
	if (what != OPTIONS_END)
		return what == OPTIONS_BAD
			       ? CLI_BAD_INPUT
			       : say_error("unexpected argument %.100s; see `uvmsim list --help`", more);
	return name ? topics[found].list_one(name) : topics[found].list();
}
