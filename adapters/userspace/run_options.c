/* The command line of uvmp-run: one row per option. A value is checked by the kind of its row and, if
 * the row has a name in the environment, passed to the program, where run_config.c and preload_pager.c
 * read it. */
#include "run_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "plugins.h"
#include "run.h"
#include "say.h"

#define SIZE_MOST ((uint64_t)1 << 46)

enum kind { SWITCH, OPTIONAL, SIZE, COUNT, TEXT, PLUGIN, POLICY, STORE, OUTPUT };

struct run_option {
	const char *flag, *value; /* value, as help names it; NULL: a switch */
	enum kind kind;
	const char *name;     /* environment variable of the program; NULL: not passed */
	const char *initial;  /* passed if the option is not given; NULL: nothing is passed */
	uint64_t least, most; /* of sizes and counts */
	const char *help;
};

static const struct run_option table[] = {
	{"--budget", "SIZE", SIZE, RUN_BUDGET, NULL, UVMP_PAGER_BUDGET_LEAST, SIZE_MOST,
	 "resident at most, in each process: 8M and more (needed)"},
	{"--threshold", "SIZE", SIZE, RUN_THRESHOLD, "1M", 4096, SIZE_MOST,
	 "allocations from this size on are managed; default 1M"},
	/* before --policy, which may name them */
	{"--plugin", "FILE", PLUGIN, RUN_PLUGINS, NULL, 0, 0,
	 "a shared object with prefetchers or eviction orders of your\n"
	 "own, which --policy may name (docs/plugins.md); repeatable"},
	{"--policy", "STRING", POLICY, RUN_POLICY, NULL, 0, 0,
	 "policy string (uvmsim list policies); default: that of\nUVMP_POLICY, or " UVMP_PAGER_POLICY
	 ", which decides by what the\nprogram does; the driver's own: preset=nvidia-595"},
	{"--store", "WHERE", STORE, RUN_STORE, NULL, 0, 0,
	 "store of pages that are not resident: mem (default), zstd,\n"
	 "file:PATH (a new or empty file, a directory, a block device);\n"
	 "map: in place, without copies, for traces: saves no memory"},
	{"--managed", "SIZE", SIZE, RUN_MANAGED, NULL, UVMP_PAGER_BLOCK_BYTES, SIZE_MOST,
	 "managed memory at most; default 64 times the budget"},
	{"--threads", "NUMBER", COUNT, RUN_THREADS, NULL, 1, 16, "threads that copy, 1..16; default 1"},
	{"--log", "FILE", OUTPUT, RUN_LOG, NULL, 0, 0, "decision log of the first process with managed memory, for\nuvmsim explain"},
	{"--log-completions", NULL, SWITCH, RUN_COMPLETIONS, NULL, 0, 0,
	 "the log also has when each action completed; needs --log"},
	{"--record", "FILE", OUTPUT, RUN_TRACE, NULL, 0, 0,
	 "every fault of that process as a trace, for uvmsim run --trace;\nFILE.zst is compressed"},
	{"--sample", "PAGES", COUNT, RUN_SAMPLE, NULL, 1, 4096,
	 "touches of so many resident pages at a time, others every\n"
	 "10 ms, are recorded too, and given to the policy; such as 64"},
	{"--report", "FILE", OUTPUT, NULL, NULL, 0, 0,
	 "write the report to this file, not to standard error"},
	{"--format", "FORMAT", TEXT, NULL, NULL, 0, 0, "format of the report: table (default), json, csv"},
	{"--live", "FORM", OPTIONAL, NULL, NULL, 0, 0,
	 "figures while it runs: line (default; a terminal has it without\n--live), full: in the lower part "
	 "of the terminal"},
	{"--metrics", "WHERE", TEXT, NULL, NULL, 0, 0,
	 "the same figures as OpenMetrics text, twice a second: FILE,\nwhich is replaced, or unix:PATH, a "
	 "socket"},
	{"--require", NULL, SWITCH, RUN_REQUIRE, NULL, 0, 0,
	 "exit with status 2 if no pager can run, instead of running the\nprogram without one"},
	{"--verbose", NULL, SWITCH, NULL, NULL, 0, 0,
	 "the report has the policy and the features of this kernel"},
	{"--user-mode", NULL, SWITCH, RUN_USER_MODE, NULL, 0, 0,
	 "do not handle faults of the kernel, as for users who may not"},
	{"--quiet", NULL, SWITCH, NULL, NULL, 0, 0, "no report on standard error, no lines while it runs"},
};

#define ROWS (sizeof(table) / sizeof(table[0]))
_Static_assert(ROWS <= RUN_OPTIONS_MOST, "struct run_options has a place for each");

/* -- parsing -- */

/* The table's flags as options_next takes them, and two that main() answers, for the nearest word. */
static void list_options(const char *list[ROWS + 3], char names[ROWS][32])
{
	for (size_t row = 0; row < ROWS; row++) {
		snprintf(names[row], sizeof(names[row]), "%s%s", table[row].flag + 2,
			 table[row].kind == SWITCH     ? ""
			 : table[row].kind == OPTIONAL ? "?="
			 : table[row].kind == PLUGIN   ? "=*"
						       : "=");
		list[row] = names[row];
	}
	list[ROWS] = "help";
	list[ROWS + 1] = "version";
	list[ROWS + 2] = NULL;
}

static int add_plugin(struct run_options *options, const char *path)
{
	const char **all = reallocarray(options->plugin, options->plugins + 1u, sizeof(*all));

	if (!all)
		return say_error("out of memory");
	options->plugin = all;
	options->plugin[options->plugins++] = path;
	return 0;
}

int run_options_parse(struct run_options *options, int argc, char **argv)
{
	const char *list[ROWS + 3], *value;
	char names[ROWS][32];
	struct options arguments = {
		.argc = argc, .argv = argv, .list = list, .help = "uvmp-run --help", .stops = true};
	int option;

	list_options(list, names);
	while ((option = options_next(&arguments, &value)) >= 0) {
		if ((size_t)option >= ROWS)
			return say_error("--%s is accepted only alone", list[option]);
		options->value[option] = value ? value : "";
		if (table[option].kind == PLUGIN && add_plugin(options, value) != 0)
			return RUN_USAGE;
	}
	if (option == OPTIONS_BAD)
		return RUN_USAGE;
	options->program = argv + arguments.next;
	if (!run_option(options, "--budget"))
		return say_error("--budget is missing; see `uvmp-run --help`");
	if (run_option(options, "--log-completions") && !run_option(options, "--log"))
		return say_error("--log-completions belongs to --log FILE, which is missing");
	return *options->program ? 0 : say_error("no program is given; see `uvmp-run --help`");
}

const char *run_option(const struct run_options *options, const char *flag)
{
	for (size_t row = 0; row < ROWS; row++) {
		if (strcmp(table[row].flag, flag) == 0)
			return options->value[row];
	}
	return NULL;
}

/* -- checking and passing on -- */

static int pass_number(const struct run_option *option, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	setenv(option->name, text, 1);
	return 0;
}

static int pass_size(const struct run_option *option, const char *text)
{
	uint64_t bytes;

	return options_size(option->flag, text, option->least, option->most, &bytes)
		       ? pass_number(option, bytes)
		       : RUN_USAGE;
}

static int pass_count(const struct run_option *option, const char *text)
{
	uint64_t count;

	return options_number(option->flag, text, option->least, option->most, &count)
		       ? pass_number(option, count)
		       : RUN_USAGE;
}

static int pass_policy(const struct run_option *option, const char *text)
{
	const char *from = text ? option->flag : "UVMP_POLICY";
	struct uvmp_policy policy;

	if (!text)
		text = getenv("UVMP_POLICY");
	if (!text) {
		unsetenv(option->name);
		return 0;
	}
	if (!options_policy(from, text, &policy))
		return RUN_USAGE;
	setenv(option->name, text, 1);
	return 0;
}

/* Adds the absolute path to the variable, after `before`: the program may change its directory before it opens the file. */
static int pass_path(const struct run_option *option, const char *before, const char *path)
{
	char directory[PATH_MAX] = "", *all;

	if (path[0] != '/' && !getcwd(directory, sizeof(directory)))
		return say_error("%s: the working directory: %s", option->flag, strerror(errno));
	if (strlen(path) >= PATH_MAX)
		return say_error("%s: %.100s...: %s", option->flag, path, strerror(ENAMETOOLONG));
	if (asprintf(&all, "%s%s%s%s", before, directory, path[0] == '/' ? "" : "/", path) < 0)
		return say_error("out of memory");
	setenv(option->name, all, 1);
	free(all);
	return 0;
}

/* Loads the plugins here, for the checks of the policy, and passes a line with each path. */
static int pass_plugins(const struct run_option *option, const struct run_options *options)
{
	int status = 0;

	unsetenv(option->name);
	for (size_t i = 0; i < options->plugins && status == 0; i++) {
		const char *path = options->plugin[i], *before = getenv(option->name);
		char *line = NULL;

		if (strchr(path, '\n'))
			return say_error("%s: %.200s: a path with a line break is not accepted", option->flag,
					 path);
		if (!plugins_load(path))
			return RUN_USAGE;
		if (before && asprintf(&line, "%s\n", before) < 0)
			return say_error("out of memory");
		status = pass_path(option, line ? line : "", path);
		free(line);
	}
	return status;
}

static int pass_store(const struct run_option *option, const char *text)
{
	if (strncmp(text, "file:", 5) == 0 && text[5] != '\0')
		return pass_path(option, "file:", text + 5);
	setenv(option->name, text, 1); /* opening the store reports that */
	return 0;
}

static int pass(const struct run_option *option, const char *text)
{
	if (option->kind == POLICY)
		return pass_policy(option, text);
	if (!text)
		text = option->initial;
	if (!text) {
		if (option->name)
			unsetenv(option->name); /* of a uvmp-run around this one */
		return 0;
	}
	switch (option->kind) {
	case SIZE:
		return pass_size(option, text);
	case COUNT:
		return pass_count(option, text);
	case STORE:
		return pass_store(option, text);
	default:
		if (option->name)
			setenv(option->name, option->kind == SWITCH ? "1" : text, 1);
		return 0;
	}
}

int run_options_pass(const struct run_options *options)
{
	int status = 0;

	for (size_t row = 0; row < ROWS && status == 0; row++) {
		if (table[row].kind == PLUGIN)
			status = pass_plugins(&table[row], options);
		else if (table[row].kind != OUTPUT)
			status = pass(&table[row], options->value[row]);
		else if (table[row].name)
			unsetenv(table[row].name); /* of a uvmp-run around this one */
	}
	return status;
}

/* -- files -- */

/* The path of a file that the program writes; NULL: none. */
static const char *file_of(const struct run_option *option, const char *text)
{
	struct stat info;

	if (!text || option->kind == OUTPUT)
		return text;
	if (option->kind != STORE || strncmp(text, "file:", 5) != 0)
		return NULL;
	text += 5;
	return stat(text, &info) == 0 && !S_ISREG(info.st_mode) ? NULL : text;
}

int run_options_claim_files(struct run_options *options)
{
	static char label[RUN_OPTIONS_MOST][32];

	for (size_t row = 0; row < ROWS; row++) {
		const char *path = file_of(&table[row], options->value[row]);

		if (!path)
			continue;
		snprintf(label[row], sizeof(label[row]), "%s:", table[row].flag);
		options->output[row] = output_claim(label[row], path);
		if (!options->output[row])
			return RUN_USAGE;
	}
	return 0;
}

int run_options_begin_files(struct run_options *options)
{
	int status = 0;

	for (size_t row = 0; row < ROWS && status == 0; row++) {
		if (table[row].kind != OUTPUT || !table[row].name || !options->output[row])
			continue;
		status = output_begin(options->output[row]) ? pass_path(&table[row], "", output_place(options->output[row]))
							    : RUN_USAGE;
	}
	return status;
}

struct output *run_options_take_file(struct run_options *options, const char *flag)
{
	struct output *output = NULL;

	for (size_t row = 0; row < ROWS; row++) {
		if (strcmp(table[row].flag, flag) != 0)
			continue;
		output = options->output[row];
		options->output[row] = NULL;
	}
	return output;
}

bool run_options_end_files(struct run_options *options, enum output_result result)
{
	bool is_good = true;

	for (size_t row = 0; row < ROWS; row++) {
		is_good = output_close(options->output[row], result) && is_good;
		options->output[row] = NULL;
	}
	return is_good;
}

/* -- help -- */

static void print_row(const struct run_option *option)
{
	char head[64];

	snprintf(head, sizeof(head), option->kind == OPTIONAL ? "%s[=%s]" : "%s %s", option->flag,
		 option->value ? option->value : "");
	printf("  %-19s ", head);
	for (const char *at = option->help; *at; at++) {
		putchar(*at);
		if (*at == '\n')
			printf("%22s", "");
	}
	putchar('\n');
}

void run_options_help(void)
{
	printf("usage: uvmp-run --budget SIZE [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
	       "\n"
	       "Runs PROGRAM with its large allocations under a pager: at most the budget of them is "
	       "resident,\n"
	       "the rest is paged to a store. A report follows at the end.\n"
	       "\n");
	for (size_t row = 0; row < ROWS; row++)
		print_row(&table[row]);
	printf("  --help, -h, --version, -V\n"
	       "\n"
	       "Sizes are bytes, or a number with K, M, G or T (powers of 1024). Exit status: that of "
	       "PROGRAM,\n"
	       "its signal too; 2 wrong usage, 126 PROGRAM cannot be run, 127 it is not found.\n");
}
