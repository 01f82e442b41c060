/* list: what there is to choose from. */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

#include "import.h"
#include "model.h"
#include "source.h"

const char help_list[] = "usage: uvmsim list workloads [NAME]|policies|presets|gpus|formats\n"
                         "\n"
                         "  workloads  built-in programs with their parameters; NAME: only this one\n"
                         "  policies   keys of the policy string: accepted values, default, who uses them\n"
                         "  presets    named policies, each with its canonical string, wrapped\n"
                         "  gpus       models of GPUs and their links (docs/models.md)\n"
                         "  formats    formats of files that are read\n";

static int list_workloads(void)
{
	workload_list(stdout);
	return CLI_DONE;
}

static int list_workload(const char *name)
{
	char error[SOURCE_ERROR_MAX];

	return workload_list_one(name, stdout, error) ? CLI_DONE : cli_error("%s", error);
}

static void list_key(uint32_t index, const struct uvmp_policy_key *key)
{
	printf("%s\n    %s\n    values: ", key->name, key->summary);
	if (!key->is_choice)
		printf("%lu..%lu\n    default: %lu\n", (unsigned long)key->min, (unsigned long)key->max,
		       (unsigned long)key->initial);
	for (uint32_t i = key->min; key->is_choice && i <= key->max; i++)
		printf("%s%c", uvmp_policy_choice(index, i), i < key->max ? ' ' : '\n');
	if (key->is_choice)
		printf("    default: %s\n", uvmp_policy_choice(index, key->initial));
	printf("    used by: %s\n", key->used_by[0] != '\0' ? key->used_by : "every policy");
}

/* Words in lines of at most 110 columns, each behind four blanks. */
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

/* A word more, behind a blank. */
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
	char text[1024] = "";

	puts("A policy is `key=value` words; a preset=NAME comes first (uvmsim list presets).\n");
	for (uint32_t i = 0; (key = uvmp_policy_key_at(i)) != NULL; i++)
		list_key(i, key);
	puts("\nprefetchers:");
	for (int i = 0; i < UVMP_PREFETCH_COUNT; i++)
		add_word(text, sizeof(text), "%s", uvmp_prefetch_name((enum uvmp_prefetcher)i));
	list_wrapped(text);
	text[0] = '\0';
	puts("eviction orders, with what leaves as one:");
	for (int i = 0; i < UVMP_EVICT_COUNT; i++)
		add_word(text, sizeof(text), "%s:%luK", uvmp_evict_name((enum uvmp_evictor)i),
		         (unsigned long)uvmp_evict_unit_pages((enum uvmp_evictor)i) * 4);
	list_wrapped(text);
	return CLI_DONE;
}

static int list_presets(void)
{
	const struct uvmp_policy_preset *preset;

	for (uint32_t i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++) {
		struct uvmp_policy policy;
		char text[UVMP_POLICY_TEXT_MAX];

		snprintf(text, sizeof(text), "preset=%s", preset->name);
		if (!cli_policy("preset", text, &policy))
			return CLI_BAD_INPUT;
		if (uvmp_policy_print(&policy, text, sizeof(text)) != UVMP_OK)
			return cli_error("preset %s cannot be printed", preset->name);
		printf("%s\n    %s\n", preset->name, preset->summary);
		list_wrapped(text);
	}
	return CLI_DONE;
}

static int list_gpus(void)
{
	char error[MODEL_ERROR_MAX];

	return model_list(stdout, error) ? CLI_DONE : cli_error("%s", error);
}

static int list_formats(void)
{
	const struct import_format *format;

	puts("trace     first line `uvmp-trace 1`          page accesses and calls, CSV, also "
	     "zstd-compressed (run, "
	     "compare, bound, trace)\n"
	     "vectors   first line `uvmpolicy-vectors 1 K` inputs and expected decisions of kind K (decide, "
	     "check)\n"
	     "measured  first line `uvmp-measured 1`       faults and copies of a real GPU (measured)\n"
	     "log       one action a line                  what the engine decided and why (run --log, "
	     "explain)");
	puts("\nof other tools (import):");
	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++)
		printf("%-18s%s\n", import_format_name(format), import_format_summary(format));
	return CLI_DONE;
}

int cmd_list(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*list)(void);
	} topics[] = {
	        {"workloads", list_workloads}, {"policies", list_policies}, {"presets", list_presets},
	        {"gpus", list_gpus},           {"formats", list_formats},
	};
	static const char *const no_options[] = {NULL};
	struct cli_args args = {argc, argv, 1, false};
	const char *topic, *more, *name = NULL;
	int what = cli_next(&args, no_options, &topic);

	if (what == CLI_BAD)
		return CLI_BAD_INPUT;
	if (what == CLI_END)
		return cli_error("list what? workloads, policies, presets, gpus or formats");
	what = cli_next(&args, no_options, &more);
	if (what == CLI_OPERAND && strcmp(topic, "workloads") == 0) {
		name = more;
		what = cli_next(&args, no_options, &more);
	}
	if (what != CLI_END)
		return what == CLI_BAD
		               ? CLI_BAD_INPUT
		               : cli_error("unexpected argument %.100s; see `uvmsim list --help`", more);
	if (name)
		return list_workload(name);
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		if (strcmp(topic, topics[i].name) == 0)
			return topics[i].list();
	return cli_error("there is no list of %.100s; workloads, policies, presets, gpus, formats", topic);
}
