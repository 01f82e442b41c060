/* uvmsim import: other tools' traces as ours. */
#include "cli.h"

#include <string.h>

#include "import.h"
#include "nearest.h"
#include "output.h"

const char help_import[] =
	"usage: uvmsim import [FORMAT] FILE [options]\n"
	"\n"
	"Writes another tool's trace in the trace format (docs/uvmsim.md) on standard\n"
	"output. FILE may be zstd-compressed; - is standard input. Without FORMAT the\n"
	"first bytes of FILE must show it. docs/profiles.md says how to record each, and\n"
	"what it leaves out. FORMAT:\n"
	"\n"
	"  addresses         lines ADDRESS or AGENT,ACCESS,ADDRESS, 0x before hexadecimal\n"
	"  cupti             records of CUPTI as lines of KEY=VALUE\n"
	"  damon             text of `damo report raw`, or perf's of damon_aggregated\n"
	"  gpu_ext-chunk     table of gpu_ext's chunk_trace\n"
	"  gpu_ext-prefetch  table of gpu_ext's prefetch_trace\n"
	"  lackey            text of `valgrind --tool=lackey --trace-mem=yes`\n"
	"  nsys              `nsys export --type sqlite`: faults, migrations, kernels\n"
	"  nvprof            text of `nvprof --print-gpu-trace`\n"
	"  nvprof-csv        the same with --csv\n"
	"  oracleGeneral     cache traces of libCacheSim\n"
	"  uvm-eval          kernel log of uvm-eval's drivers\n"
	"  uvm-tools         events of the driver's tools queue as lines of KEY=VALUE\n"
	"  uvmsmart-access   lines cycle,page\n"
	"  uvmsmart-batches  lines benchmark,prefetcher,batch,fault_addr\n"
	"\n"
	"Without --ranges every 2 MiB block that is touched counts as managed; the input\n"
	"is then read twice. Not every format accepts every option.\n"
	"\n"
	"  --ranges FILE     managed ranges: lines BASE,BYTES[,NAME], or allocations of\n"
	"                    UVM Smart\n"
	"  --apart           each range of --ranges begins at a multiple of 2 MiB, where\n"
	"                    the trees of UVM Smart begin; its accesses move with it\n"
	"  --agents N        deals accesses that name no agent to N agents in turn\n"
	"                    (default 1)\n"
	"  --kernels FILE    uvmsmart-access: kernel, start_cycle and end_cycle, as named\n"
	"                    in its first line\n"
	"  --clock-mhz N     uvmsmart-access: cycles a microsecond (default 1481)\n"
	"  --benchmark NAME  of a file with several: uvmsmart-batches, and --ranges of\n"
	"                    UVM Smart\n"
	"  --prefetcher NAME uvmsmart-batches: whose faults are imported\n"
	"  --hex             addresses: numbers without 0x are hexadecimal, too\n"
	"  --touched WHICH   profiles: pages count as touched that faults name (faults,\n"
	"                    the least; default), or also those that migrated without a\n"
	"                    fault (migrated, the most)\n"
	"  --device N        profiles: of several GPUs, whose events\n"
	"  --process N       profiles: of several processes, whose events\n";

static const char *const options[] = {
	"ranges=", "agents=",  "kernels=", "clock-mhz=", "benchmark=", "prefetcher=", "hex",
	"apart",   "touched=", "device=",  "process=",	 "help",       NULL};
enum option {
	RANGES,
	AGENTS,
	KERNELS,
	CLOCK_MHZ,
	BENCHMARK,
	PREFETCHER,
	HEX,
	APART,
	TOUCHED,
	DEVICE,
	PROCESS,
	HELP
};

struct request {
	const char *format, *file;
	const char *value[HELP]; /* NULL: not given */
};

static int parse(struct request *request, int argc, char **argv)
{
	struct options args = CLI_OPTIONS(options, "import");
	const char *value;

	for (;;) {
		int option = options_next(&args, &value);

		if (option == OPTIONS_END)
			return CLI_DONE;
		if (option == OPTIONS_BAD || option == HELP)
			return CLI_BAD_INPUT;
		if (option != OPTIONS_OPERAND)
			request->value[option] = value ? value : "";
		else if (!request->format)
			request->format = value;
		else if (!request->file)
			request->file = value;
		else
			return say_error("import: unexpected argument %.200s", value);
	}
}

/* An option that the format would not look at is a mistake. */
static int check_options(const struct request *request, const struct import_format *format)
{
	static const unsigned bits[HELP] = {IMPORT_RANGES,    IMPORT_AGENTS,	IMPORT_KERNELS,
					    IMPORT_CLOCK_MHZ, IMPORT_BENCHMARK, IMPORT_PREFETCHER,
					    IMPORT_HEX,	      IMPORT_RANGES,	IMPORT_TOUCHED,
					    IMPORT_DEVICE,    IMPORT_PROCESS};

	for (size_t i = 0; i < HELP; i++)
		if (request->value[i] && (import_format_options(format) & bits[i]) == 0)
			return say_error("import: %s has no use for --%.*s", import_format_name(format),
					 (int)strcspn(options[i], "="), options[i]);
	/* Lists of faults have a benchmark of their own, the other formats choose ranges by it. */
	if (request->value[BENCHMARK] && !request->value[RANGES] &&
	    (import_format_options(format) & IMPORT_PREFETCHER) == 0)
		return say_error("import: --benchmark chooses among --ranges, which are not given");
	if (request->value[APART] && !request->value[RANGES])
		return say_error("import: --apart moves the ranges of --ranges, which are not given");
	return CLI_DONE;
}

static bool take_numbers(const struct request *request, struct import_options *options_out)
{
	uint64_t agents = options_out->agents, mhz = options_out->clock_mhz;

	if (request->value[AGENTS] &&
	    !options_number("--agents", request->value[AGENTS], 1, IMPORT_AGENTS_MAX, &agents))
		return false;
	if (request->value[CLOCK_MHZ] &&
	    !options_number("--clock-mhz", request->value[CLOCK_MHZ], 1, IMPORT_CLOCK_MAX, &mhz))
		return false;
	if (request->value[DEVICE] &&
	    !options_number("--device", request->value[DEVICE], 0, UINT32_MAX, &options_out->device))
		return false;
	if (request->value[PROCESS] &&
	    !options_number("--process", request->value[PROCESS], 0, UINT32_MAX, &options_out->process))
		return false;
	options_out->agents = (uint32_t)agents;
	options_out->clock_mhz = (uint32_t)mhz;
	options_out->has_device = request->value[DEVICE] != NULL;
	options_out->has_process = request->value[PROCESS] != NULL;
	return true;
}

static bool open_second(struct import_file *file, const char *path)
{
	if (!path)
		return true;
	if (strcmp(path, "-") == 0) {
		say_error("import: only FILE may be standard input");
		return false;
	}
	file->name = path;
	file->file = cli_open(path);
	return file->file != NULL;
}

static void close_second(const struct import_file *file)
{
	if (file->file)
		cli_close(file->file);
}

static int take_touched(const char *value, enum import_touched *touched)
{
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	if (!value || strcmp(value, "faults") == 0)
		return CLI_DONE;
	*touched = IMPORT_TOUCHED_MIGRATED;
	if (strcmp(value, "migrated") == 0)
		return CLI_DONE;
	nearest_start(&nearest, value, strlen(value));
	nearest_try(&nearest, "faults");
	nearest_try(&nearest, "migrated");
	return say_error("--touched %.40s: is neither faults nor migrated%s", value,
			 nearest_hint(&nearest, hint));
}

static int run(const struct request *request, const struct import_format *format, FILE *in,
	       struct import_options *import)
{
	const struct import_told *told = import->told;
	char error[SOURCE_ERROR_MAX] = "";
	bool is_good;

	is_good = import_run(format, in, request->file, import, stdout, error);
	for (size_t i = 0; i < told->notes && is_good; i++)
		say_note("%.200s: %s", request->file, told->note[i]);
	/* main ends the process quietly if the reader of standard output has left. */
	return is_good || output_is_abandoned() ? CLI_DONE : say_error("%s", error);
}

static int unknown_format(const char *name)
{
	const struct import_format *format;
	char hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, name, strlen(name));
	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++)
		nearest_try(&nearest, import_format_name(format));
	return say_error("import: there is no format %.100s%s; see `uvmsim list formats`", name,
			 nearest_hint(&nearest, hint));
}

static int import_file(struct request *request, const struct import_format *format, FILE *in)
{
	struct import_options import = import_defaults;
	struct import_told told = {.notes = 0};
	int status = CLI_BAD_INPUT;

	import.told = &told;
	if (check_options(request, format) != CLI_DONE || !take_numbers(request, &import) ||
	    take_touched(request->value[TOUCHED], &import.touched) != CLI_DONE)
		return CLI_BAD_INPUT;
	import.benchmark = request->value[BENCHMARK];
	import.prefetcher = request->value[PREFETCHER];
	import.is_apart = request->value[APART] != NULL;
	import.is_hex = request->value[HEX] != NULL;
	if (open_second(&import.ranges, request->value[RANGES]) &&
	    open_second(&import.kernels, request->value[KERNELS]))
		status = run(request, format, in, &import);
	close_second(&import.ranges);
	close_second(&import.kernels);
	return status;
}

int cmd_import(int argc, char **argv)
{
	struct request request = {.format = NULL};
	const struct import_format *format = NULL;
	char error[SOURCE_ERROR_MAX] = "";
	int status = parse(&request, argc, argv);
	FILE *in;

	if (status != CLI_DONE)
		return status;
	if (!request.file && (!request.format || import_format_find(request.format)))
		return say_error(
			"import: FORMAT and FILE are needed, or FILE alone; see `uvmsim import --help`");
	if (request.file) {
		format = import_format_find(request.format);
		if (!format)
			return unknown_format(request.format);
		if (check_options(&request, format) != CLI_DONE)
			return CLI_BAD_INPUT;
	} else {
		request.file = request.format;
	}
	in = cli_open(request.file);
	if (!in)
		return CLI_BAD_INPUT;
	if (!format)
		format = import_detect(in, request.file, error);
	status = format ? import_file(&request, format, in) : say_error("import: %s", error);
	cli_close(in);
	return status;
}
