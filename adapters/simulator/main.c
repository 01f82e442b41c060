/* uvmsim: the command line. Each subcommand is a row of the table; design: exit 0 done, 1 a check failed, 2
 * usage or bad input; 128 and the signal's number interrupted. */
#include <signal.h>
#include <string.h>

#include "cli.h"
#include "nearest.h"
#include "output.h"
#include "plugin_crash.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
	const char *summary;
};

static const struct command commands[] = {
	{"run", cmd_run, help_run, "run one workload or trace under one policy, and count the cost"},
	{"compare", cmd_compare, help_compare, "run several policies, one row each"},
	{"plot", cmd_plot, help_plot, "draw runs as text: heat map, bars, curve"},
	{"bound", cmd_bound, help_bound, "Belady's optimum: what must move if all that is used must move"},
	{"curve", cmd_curve, help_curve, "faults, bytes and time over the size of memory; the working set"},
	{"sweep", cmd_sweep, help_sweep, "many runs from a file of parameters; merge and compare results"},
	{"explain", cmd_explain, help_explain, "explain why pages moved, from a decision log"},
	{"whatif", cmd_whatif, help_whatif, "rank policies from a profile, and say what moved and why"},
	{"import", cmd_import, help_import, "convert another tool's trace to the trace format"},
	{"trace", cmd_trace, help_trace, "write a workload or a trace as a trace file"},
	{"measured", cmd_measured, help_measured, "compare faults of a real GPU with the library, fault by fault"},
	{"decide", cmd_decide, help_decide, "recompute the expected lines of a vector file"},
	{"check", cmd_check, help_check, "compare the expected lines of vector files with the library"},
	{"list", cmd_list, help_list, "list workloads, policies, presets, GPUs, file formats"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char usage_text[] = "usage: uvmsim SUBCOMMAND [arguments]\n"
				 "       uvmsim help [SUBCOMMAND] | SUBCOMMAND --help | -h\n"
				 "       uvmsim --version [-v] | -V\n";

static void print_usage(FILE *out)
{
	fputs(usage_text, out);
	fputc('\n', out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].summary);
}

static int print_help(void)
{
	puts("uvmsim: simulate the decisions of a unified-memory driver and their cost\n");
	print_usage(stdout);
	puts("\n"
	     "Exit status: 0 done; 1 a check failed; 2 wrong usage or bad input, with one\n"
	     "line on stderr; 130 or 143 interrupted, after what was known so far.");
	return CLI_DONE;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

static int unknown_command(const char *word)
{
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, word, strlen(word));
	for (size_t i = 0; i < COMMANDS; i++)
		nearest_try(&nearest, commands[i].name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "--help");
	nearest_try(&nearest, "--version");
	return say_error("unknown %s %.100s%s; see `uvmsim --help`", word[0] == '-' ? "option" : "subcommand",
			 word, nearest_hint(&nearest, hint));
}

/* `help`, `help SUBCOMMAND`. */
static int help(int argc, char **argv)
{
	if (argc == 1 || wants_help(argc, argv))
		return print_help();
	if (argc > 2)
		return say_error("unexpected argument after help %.100s", argv[1]);
	if (strcmp(argv[1], "help") == 0)
		return print_help();
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		fputs(commands[i].help, stdout);
		return CLI_DONE;
	}
	return unknown_command(argv[1]);
}

static int run_command(int argc, char **argv)
{
	if (strcmp(argv[0], "help") == 0)
		return help(argc, argv);
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[0], commands[i].name) != 0)
			continue;
		if (!wants_help(argc, argv))
			return commands[i].run(argc, argv);
		fputs(commands[i].help, stdout);
		return CLI_DONE;
	}
	return unknown_command(argv[0]);
}

static bool is_either(const char *word, const char *brief, const char *full)
{
	return strcmp(word, brief) == 0 || strcmp(word, full) == 0;
}

static int dispatch(int argc, char **argv)
{
	bool is_help, is_verbose;

	if (argc < 2)
		return say_error("a subcommand must follow; see `uvmsim --help`");
	is_help = is_either(argv[1], "-h", "--help");
	if (!is_help && !is_either(argv[1], "-V", "--version"))
		return run_command(argc - 1, argv + 1);
	is_verbose = !is_help && argc == 3 && strcmp(argv[2], "-v") == 0;
	if (argc > 2 && !is_verbose)
		return say_error("unexpected argument after %s%s", argv[1], is_help ? "" : "; only -v is accepted");
	return is_help ? print_help() : cli_version(is_verbose);
}

int main(int argc, char **argv)
{
	int status;

	say_program("uvmsim");
	output_ignore_pipe();
	signal(SIGXFSZ, SIG_IGN); /* a file beyond the limit on file sizes is reported like a full disk */
	if (!output_begin_standard())
		return CLI_BAD_INPUT;
	status = dispatch(argc, argv);
	plugin_crash_done();
	/* An error is already reported; a second report for the output would be too much. */
	if (status == CLI_BAD_INPUT)
		return status;
	return output_end(output_flush_standard() ? status : CLI_BAD_INPUT);
}
