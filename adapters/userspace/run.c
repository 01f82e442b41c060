/* uvmp-run: a program with its large allocations under a pager; docs/uvmp-run.md.
 *
 * Starts the program with libuvmp-preload, forwards signals to it, shows what its pagers report while it runs
 * (on a terminal), prints a report when it has ended, and ends as it did. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "uvmpolicy/policy.h"

#define USAGE_STATUS 2
#define LIVE_MS      500

static const char usage[] =
        "usage: uvmp-run --budget SIZE [OPTION...] -- PROGRAM [ARGUMENT...]\n"
        "\n"
        "Runs PROGRAM with its large allocations resident only within a budget; what does not fit is paged "
        "to a store.\n"
        "\n"
        "  --budget SIZE      resident at most, 2M and more (K, M, G, T: powers of 1024)\n"
        "  --threshold SIZE   allocations from this size on are managed; default 1M\n"
        "  --policy \"KEYS\"    policy string (uvmsim list policies); default: that of UVMP_POLICY, or the "
        "driver's\n"
        "  --store WHERE      mem (default), zstd, file:PATH (a new or empty file, a directory, a block "
        "device)\n"
        "  --managed SIZE     most managed memory; default 64 times the budget\n"
        "  --threads N        threads that copy, 1 to 16; default 1\n"
        "  --log FILE         decision log, for uvmsim explain\n"
        "  --record FILE      every fault as a trace, for uvmsim run --trace; FILE.zst is compressed\n"
        "  --quiet            no report\n"
        "  --help, --version\n";

struct options {
	const char *budget, *threshold, *policy, *store, *managed, *threads, *log, *record;
	bool is_quiet;
	char **program;
};

/* -- arguments -- */

static int fail(const char *what, const char *which)
{
	fprintf(stderr, "uvmp-run: %s%s%s\n", what, which ? ": " : "", which ? which : "");
	return USAGE_STATUS;
}

static bool parse_size(const char *text, uint64_t *bytes)
{
	static const char unit[] = "kmgt";
	unsigned shift = 0;
	char *end;
	const char *at;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*bytes = strtoull(text, &end, 10);
	if (*end != '\0') {
		at = strchr(unit, *end | 0x20);
		if (!at || end[1] != '\0')
			return false;
		shift = 10u * (unsigned)(at - unit + 1);
	}
	if (errno != 0 || *bytes > UINT64_MAX >> shift)
		return false;
	*bytes <<= shift;
	return true;
}

struct flag {
	const char *name;
	const char **value;
};

static int take_option(struct options *o, char **argument, int *taken)
{
	const struct flag flags[] = {{"--budget", &o->budget},   {"--threshold", &o->threshold},
	                             {"--policy", &o->policy},   {"--store", &o->store},
	                             {"--managed", &o->managed}, {"--threads", &o->threads},
	                             {"--log", &o->log},         {"--record", &o->record}};

	*taken = 1;
	if (strcmp(argument[0], "--quiet") == 0) {
		o->is_quiet = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(argument[0], flags[i].name) != 0)
			continue;
		if (!argument[1])
			return fail(flags[i].name, "a value is missing");
		if (*flags[i].value)
			return fail(flags[i].name, "given twice");
		*flags[i].value = argument[1];
		*taken = 2;
		return 0;
	}
	return fail(argument[0], "no such option");
}

static int parse(struct options *o, char **argument)
{
	int taken, status;

	for (; *argument && (*argument)[0] == '-' && strcmp(*argument, "--") != 0; argument += taken) {
		status = take_option(o, argument, &taken);
		if (status != 0)
			return status;
	}
	if (*argument && strcmp(*argument, "--") == 0)
		argument++;
	o->program = argument;
	if (!*argument)
		return fail("no program", NULL);
	return o->budget ? 0 : fail("--budget is missing", NULL);
}

/* -- the environment of the program -- */

static int pass_size(const char *flag, const char *text, const char *name, uint64_t least)
{
	char number[32];
	uint64_t bytes;

	if (!text)
		return 0;
	if (!parse_size(text, &bytes) || bytes < least) {
		fprintf(stderr, "uvmp-run: %s: \"%s\" is not accepted; %s and more\n", flag, text,
		        least == 1 ? "1" : "2M");
		return USAGE_STATUS;
	}
	snprintf(number, sizeof(number), "%" PRIu64, bytes);
	setenv(name, number, 1);
	return 0;
}

static void pass_text(const char *name, const char *text)
{
	if (text)
		setenv(name, text, 1);
	else
		unsetenv(name);
}

static int pass_threads(const char *text)
{
	uint64_t threads;

	if (!text || (parse_size(text, &threads) && threads >= 1 && threads <= 16)) {
		pass_text(RUN_THREADS, text);
		return 0;
	}
	fprintf(stderr, "uvmp-run: --threads: \"%s\" is not accepted; 1 to 16\n", text);
	return USAGE_STATUS;
}

static int pass_policy(const char *text)
{
	struct uvmp_policy_error error;
	struct uvmp_policy policy;

	if (!text)
		text = getenv("UVMP_POLICY");
	if (!text)
		return 0;
	if (uvmp_policy_parse(text, strlen(text), &policy, &error) != UVMP_OK)
		return fail("--policy", error.text);
	setenv(RUN_POLICY, text, 1);
	return 0;
}

static int pass_library(void)
{
	char path[PATH_MAX], all[2 * PATH_MAX];
	const char *before = getenv("LD_PRELOAD");
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1u);
	char *slash;

	if (length < 0)
		return fail("/proc/self/exe", strerror(errno));
	path[length] = '\0';
	slash = strrchr(path, '/');
	*slash = '\0';
	snprintf(all, sizeof(all), "%s/libuvmp-preload.so", path);
	if (access(all, R_OK) != 0) /* installed: PREFIX/bin and PREFIX/lib */
		snprintf(all, sizeof(all), "%s/../lib/libuvmp-preload.so", path);
	if (access(all, R_OK) != 0)
		return fail("libuvmp-preload.so", "not found beside this program, nor in ../lib");
	if (before && *before) {
		size_t end = strlen(all);

		snprintf(all + end, sizeof(all) - end, ":%s", before);
	}
	setenv("LD_PRELOAD", all, 1);
	return 0;
}

static int pass_options(const struct options *o)
{
	int status = pass_size("--budget", o->budget, RUN_BUDGET, UVMP_PAGER_BLOCK_BYTES);

	if (status == 0)
		status = pass_size("--threshold", o->threshold ? o->threshold : "1M", RUN_THRESHOLD, 1);
	if (status == 0)
		status = pass_size("--managed", o->managed, RUN_MANAGED, UVMP_PAGER_BLOCK_BYTES);
	if (status == 0)
		status = pass_policy(o->policy);
	if (status == 0)
		status = pass_threads(o->threads);
	if (status == 0)
		status = pass_library();
	pass_text(RUN_STORE, o->store);
	pass_text(RUN_LOG, o->log);
	pass_text(RUN_TRACE, o->record);
	return status;
}

static struct run_shared *share(char path[64], int *fd)
{
	struct run_shared *shared;

	*fd = memfd_create("uvmp-run", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, sizeof(*shared)) != 0)
		return NULL;
	snprintf(path, 64, "/proc/%d/fd/%d", getpid(), *fd);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return shared == MAP_FAILED ? NULL : shared;
}

/* -- signals -- */

static volatile sig_atomic_t child;

static void forward(int number)
{
	if (child > 0)
		kill((pid_t)child, number);
}

/* From a terminal the program gets them by itself. */
static void catch_signals(void)
{
	static const int number[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGWINCH};
	struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		sigaction(number[i], &action, NULL);
	action.sa_handler = isatty(STDIN_FILENO) ? SIG_IGN : forward;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
}

/* -- the report -- */

static void add(struct uvmp_pager_stats *sum, const struct uvmp_pager_stats *one)
{
	sum->faults += one->faults;
	sum->duplicates += one->duplicates;
	sum->write_faults += one->write_faults;
	sum->batches += one->batches;
	sum->replays += one->replays;
	sum->bytes_in += one->bytes_in;
	sum->copies_in += one->copies_in;
	sum->bytes_zeroed += one->bytes_zeroed;
	sum->bytes_out += one->bytes_out;
	sum->copies_out += one->copies_out;
	sum->bytes_dropped += one->bytes_dropped;
	sum->evictions += one->evictions;
	sum->stall_ns += one->stall_ns;
	sum->service_ns += one->service_ns;
	sum->managed_bytes += one->managed_bytes;
	sum->peak_managed_bytes += one->peak_managed_bytes;
	sum->resident_bytes += one->resident_bytes;
	sum->store_bytes += one->store_bytes;
	if (sum->store_error == 0)
		sum->store_error = one->store_error;
}

static uint32_t sum_up(const struct run_shared *shared, struct uvmp_pager_stats *sum, const char **error)
{
	uint32_t managed = 0;

	*sum = (struct uvmp_pager_stats){0};
	*error = NULL;
	for (uint32_t i = 0; i < RUN_PROCESSES; i++) {
		const struct run_slot *slot = &shared->slot[i];

		if (slot->pid == 0)
			continue;
		if (slot->error != 0)
			*error = slot->text;
		managed += slot->stats.budget_bytes != 0;
		add(sum, &slot->stats);
	}
	return managed;
}

static void print_bytes(FILE *out, uint64_t bytes)
{
	static const char unit[][4] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned i = 0;
	uint64_t tenths = bytes * 10u;

	for (; i < 4 && tenths >= 10240u; i++)
		tenths /= 1024u;
	if (i == 0)
		fprintf(out, "%" PRIu64 " B", bytes);
	else
		fprintf(out, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10u, tenths % 10u, unit[i]);
}

static void line(const char *name, uint64_t bytes, const char *more)
{
	fprintf(stderr, "  %-12s ", name);
	print_bytes(stderr, bytes);
	fprintf(stderr, "%s\n", more);
}

static void print_report(const struct run_shared *shared, double seconds)
{
	struct uvmp_pager_stats sum;
	const char *error;
	uint32_t managed = sum_up(shared, &sum, &error);
	char more[128];

	if (error)
		fprintf(stderr, "uvmp-run: a process ran without a pager: %s\n", error);
	if (managed == 0) {
		if (!error)
			fprintf(stderr,
			        "uvmp-run: no allocation reached the threshold; nothing was managed\n");
		return;
	}
	fprintf(stderr, "uvmp-run: %.2f s, %u process%s with managed memory\n", seconds, managed,
	        managed == 1 ? "" : "es");
	line("managed", sum.peak_managed_bytes, " at most");
	snprintf(more, sizeof(more), " in %" PRIu64 " copies, and ", sum.copies_in);
	fprintf(stderr, "  %-12s ", "in");
	print_bytes(stderr, sum.bytes_in);
	fputs(more, stderr);
	print_bytes(stderr, sum.bytes_zeroed);
	fputs(" of zeros\n", stderr);
	fprintf(stderr, "  %-12s ", "out");
	print_bytes(stderr, sum.bytes_out);
	fprintf(stderr, " in %" PRIu64 " writes; ", sum.copies_out);
	print_bytes(stderr, sum.bytes_dropped);
	fputs(" left unchanged\n", stderr);
	fprintf(stderr,
	        "  %-12s %" PRIu64 " in %" PRIu64 " batches; %" PRIu64 " first writes to clean pages\n",
	        "faults", sum.faults, sum.batches, sum.write_faults);
	fprintf(stderr, "  %-12s %" PRIu64 "\n", "evictions", sum.evictions);
	fprintf(stderr, "  %-12s %.2f s, over all threads; the pager worked %.2f s\n", "stalled",
	        (double)sum.stall_ns / 1e9, (double)sum.service_ns / 1e9);
	if (sum.store_error != 0)
		fprintf(stderr, "uvmp-run: the store failed: %s\n", strerror(-sum.store_error));
}

static void show_live(const struct run_shared *shared, double seconds)
{
	struct uvmp_pager_stats sum;
	const char *error;

	if (sum_up(shared, &sum, &error) == 0)
		return;
	fprintf(stderr, "\r%6.1f s  %" PRIu64 " faults  resident ", seconds, sum.faults);
	print_bytes(stderr, sum.resident_bytes);
	fputs(" of ", stderr);
	print_bytes(stderr, sum.managed_bytes);
	fputs("  in ", stderr);
	print_bytes(stderr, sum.bytes_in);
	fputs("  out ", stderr);
	print_bytes(stderr, sum.bytes_out);
	fputs("\033[K", stderr);
}

/* -- running -- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int wait_for(pid_t pid, const struct run_shared *shared, bool is_live, double start)
{
	struct timespec pause = {0, LIVE_MS * 1000000L};
	int status = 0;
	pid_t got;

	while ((got = waitpid(pid, &status, is_live ? WNOHANG : 0)) <= 0) {
		if (got < 0 && errno != EINTR)
			break;
		if (got == 0) {
			nanosleep(&pause, NULL);
			show_live(shared, now() - start);
		}
	}
	if (is_live)
		fputs("\r\033[K", stderr);
	return status;
}

static int run(const struct options *o)
{
	struct run_shared *shared;
	bool is_live = !o->is_quiet && isatty(STDERR_FILENO);
	double start = now();
	char path[64];
	int fd, status;
	pid_t pid;

	shared = share(path, &fd);
	if (!shared)
		return fail("shared memory", strerror(errno));
	setenv(RUN_SHARED, path, 1);
	pid = fork();
	if (pid == 0) {
		execvp(o->program[0], o->program);
		fprintf(stderr, "uvmp-run: %s: %s\n", o->program[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (pid < 0)
		return fail("fork", strerror(errno));
	child = pid;
	catch_signals();
	status = wait_for(pid, shared, is_live, start);
	if (!o->is_quiet)
		print_report(shared, now() - start);
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	signal(WTERMSIG(status), SIG_DFL); /* ends as the program did */
	kill(getpid(), WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int main(int arguments, char **argument)
{
	struct options options = {0};
	int status;

	if (arguments > 1 && strcmp(argument[1], "--help") == 0)
		return fputs(usage, stdout) < 0;
	if (arguments > 1 && strcmp(argument[1], "--version") == 0)
		return printf("uvmp-run %s\n", UVMSIM_VERSION) < 0;
	status = parse(&options, argument + 1);
	if (status == 0)
		status = pass_options(&options);
	return status != 0 ? status : run(&options);
}
