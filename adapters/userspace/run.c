/* uvmp-run: runs a program with its large allocations under a pager; docs/uvmp-run.md.
 *
 * Makes a pager of its own first, so that impossible options are reported before anything is started.
 * Starts the program with libuvmp-preload, passes signals on to it, and stops when it stops. Tells what
 * its pagers do while it runs (run_watch.c), reports when it has ended, and ends with its exit status. */
#include "run.h"
#include "run_options.h"
#include "run_program.h"
#include "run_report.h"
#include "run_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "number.h"
#include "options.h"
#include "output.h"
#include "output_conflicts.h"
#include "plugin_crash.h"
#include "plugins.h"
#include "say.h"
#include "uvmpolicy/policy.h"

#define FEATURES_BYTES 1024
#define RUN_INCOMPLETE 1   /* exit status: the program succeeded, but a requested file is incomplete */
#define NOT_RUN	       126 /* exit statuses of shells */
#define NOT_FOUND      127

struct run {
	struct run_options options;
	struct run_report report;
	struct run_shared *shared;
	struct run_watch watch;
	char policy[UVMP_POLICY_TEXT_MAX], features[FEATURES_BYTES], program[PATH_MAX];
	int exec_error;		    /* of the child, which shares this structure */
	struct sigaction too_large, no_reader; /* actions of the program for SIGXFSZ and SIGPIPE */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* -- before anything is started -- */

/* A machine without userfaultfd does not prevent the run; wrong options do. */
static bool is_of_machine(int error)
{
	return error == -EPERM || error == -ENOSYS || error == -EMFILE || error == -ENFILE ||
	       error == -ENOMEM || error == -EAGAIN;
}

/* Does the store refuse, by its name or that of its file? */
static bool is_of_store(const char *text, const char *store)
{
	return store && strncmp(store, "file:", 5) == 0 && strncmp(text, store + 5, strlen(store + 5)) == 0;
}

static bool is_required(const struct run *run)
{
	return run_option(&run->options, "--require") != NULL;
}

static const char *consequence(const struct run *run)
{
	return is_required(run) ? ": no pager can run, which --require asks for"
				: ": the program runs without a pager";
}

static int try_pager(struct run *run)
{
	struct uvmp_pager_config config;
	struct uvmp_pager_stats stats;
	struct uvmp_pager *pager;
	char text[256];
	int error;

	run_config(&config);
	config.trace = getenv(RUN_TRACE);
	config.plugins = plugins_all();
	run->report.budget_bytes = config.budget_bytes;
	run->report.threshold_bytes = run_threshold();
	run->report.store = config.store ? config.store : "mem";
	error = uvmp_pager_create(&config, &pager, text, sizeof(text));
	if (error == 0) {
		uvmp_pager_features(pager, run->features, sizeof(run->features));
		uvmp_pager_policy(pager, run->policy, sizeof(run->policy));
		uvmp_pager_stats(pager, &stats);
		run->report.budget_bytes = stats.budget_bytes;
		uvmp_pager_destroy(pager);
		return 0;
	}
	say_error("%s%s%s",
		  is_of_store(text, config.store)    ? "--store: "
		  : strncmp(text, "store: ", 7) == 0 ? "--"
						     : "",
		  text, !is_of_machine(error) ? "" : consequence(run));
	run->report.is_alone = true;
	return is_of_machine(error) && !is_required(run) ? 0 : RUN_USAGE;
}

static void note_memory(uint64_t budget)
{
	char size[NUMBER_TEXT_MAX];
	struct sysinfo info;
	uint64_t ram;

	if (sysinfo(&info) != 0)
		return;
	ram = (uint64_t)info.totalram * info.mem_unit;
	number_print_size(size, budget);
	if (budget > ram)
		say_error("note: the budget of %s is more than the memory of this machine, %" PRIu64 "M",
			  size, ram >> 20);
}

static int find_program(struct run *run)
{
	const char *name = run->options.program[0];
	int error = run_program_find(name, run->program);

	if (error == 0)
		run->report.objection = run_program_objection(run->program);
	else
		say_error("%s: %s", name, error == ENOENT ? "not found" : strerror(error));
	if (error == 0 && run->report.objection && is_required(run))
		return say_error("%s %s: no pager can run, which --require asks for", name,
				 run->report.objection);
	if (error == 0) {
		output_protect("the program", run->program);
		return 0;
	}
	return error == ENOENT || error == ENOTDIR ? NOT_FOUND : NOT_RUN;
}

static int describe_report(struct run *run)
{
	const char *format = run_option(&run->options, "--format");
	int chosen;

	run->report.program = run->options.program;
	run->report.policy = run->policy;
	run->report.features = run->features;
	run->report.is_verbose = run_option(&run->options, "--verbose") != NULL;
	run->report.is_quiet = run_option(&run->options, "--quiet") != NULL;
	chosen = format ? options_format("--format", format) : RUN_TABLE;
	if (chosen < 0)
		return RUN_USAGE;
	run->report.format = (enum run_format)chosen;
	return 0;
}

/* Paths of the library, relative to the directory of this program: beside it in a build; LIBDIR when
 * installed; and usual places, if the files were moved after installation. UVMP_LIBDIR is the path from
 * BINDIR to LIBDIR. */
static const char *const library_folder[] = {".", UVMP_LIBDIR, "../lib", "../lib64", "../lib/*"};

static bool find_in(const char *own, const char *folder, char path[2 * PATH_MAX])
{
	glob_t found;
	bool is_found;

	snprintf(path, 2 * PATH_MAX, "%s/%s/libuvmp-preload.so", own, folder);
	if (access(path, R_OK) == 0 || strchr(folder, '*') == NULL)
		return access(path, R_OK) == 0;
	is_found = glob(path, 0, NULL, &found) == 0;
	if (is_found)
		snprintf(path, 2 * PATH_MAX, "%s", found.gl_pathv[0]);
	globfree(&found);
	return is_found;
}

static int find_library(char path[2 * PATH_MAX])
{
	char own[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1u);
	bool is_found = false;

	if (length < 0)
		return say_error("/proc/self/exe: %s", strerror(errno));
	own[length] = '\0';
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(library_folder) / sizeof(library_folder[0]) && !is_found; i++)
		is_found = find_in(own, library_folder[i], path);
	if (!is_found)
		return say_error("libuvmp-preload.so: not found in %s, nor from there in " UVMP_LIBDIR
				 ", ../lib, ../lib64, ../lib/*",
				 own);
	if (strpbrk(path, " :"))
		return say_error("%s: a path with a blank or a colon cannot be preloaded", path);
	return 0;
}

static int preload(void)
{
	const char *before = getenv("LD_PRELOAD");
	char path[2 * PATH_MAX], *all;
	int status = find_library(path);

	if (status != 0)
		return status;
	if (!before || !*before || strstr(before, path)) { /* already there: uvmp-run within another
							    * uvmp-run */
		setenv("LD_PRELOAD", before && *before ? before : path, 1);
		return 0;
	}
	if (asprintf(&all, "%s:%s", path, before) < 0)
		return say_error("LD_PRELOAD: %s", strerror(ENOMEM));
	setenv("LD_PRELOAD", all, 1);
	free(all);
	return 0;
}

static void *map_shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Processes open it by name; they do not inherit the descriptor. */
static struct run_shared *share(void)
{
	int fd = memfd_create("uvmp-run", MFD_CLOEXEC);
	struct run_shared *shared;
	char path[64];

	if (fd < 0 || ftruncate(fd, sizeof(*shared)) != 0)
		return NULL;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	setenv(RUN_SHARED, path, 1);
	return shared == MAP_FAILED ? NULL : shared;
}

static int open_shared(struct run *run)
{
	run->shared = share();
	if (!run->shared) {
		say_error("shared memory: %s%s", strerror(errno), consequence(run));
		if (is_required(run))
			return RUN_USAGE;
		run->report.is_alone = true;
		run->shared = map_shared(sizeof(*run->shared));
	}
	run->report.shared = run->shared;
	return run->shared ? 0 : say_error("out of memory");
}

static int prepare(struct run *run, int argc, char **argv)
{
	int status = run_options_parse(&run->options, argc, argv);

	if (status == 0)
		status = run_options_pass(&run->options);
	if (status == 0)
		status = describe_report(run);
	if (status == 0)
		status = try_pager(run);
	if (status == 0)
		status = find_program(run);
	if (status == 0)
		status = run_options_claim_files(&run->options);
	if (status == 0)
		status = run_watch_open(&run->watch, &run->options);
	if (status == 0)
		status = open_shared(run);
	if (status == 0 && !run->report.is_alone)
		status = preload();
	if (status == 0 && !run->report.is_quiet)
		note_memory(run->report.budget_bytes);
	return status == 0 ? run_options_begin_files(&run->options) : status;
}

/* -- signals: none is handled, all are waited for -- */

/* Signals that users send to a program. */
static void fill(sigset_t *set)
{
	static const int number[] = {SIGHUP,  SIGINT,	 SIGQUIT, SIGUSR1,  SIGUSR2,   SIGALRM,
				     SIGTERM, SIGCONT,	 SIGTSTP, SIGWINCH, SIGPWR,    SIGIO,
				     SIGURG,  SIGVTALRM, SIGPROF, SIGXCPU,  SIGSTKFLT, SIGCHLD};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		sigaddset(set, number[i]);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		sigaddset(set, i);
}

/* The kernel sends signals of the terminal to the whole foreground group: the program has them already. */
static void hand_on(pid_t pid, const siginfo_t *info)
{
	if (info->si_signo != SIGCHLD && info->si_code <= 0)
		kill(pid, info->si_signo);
}

/* The shell that controls our job must see the stop. */
static void stop_too(int number)
{
	if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
		raise(SIGSTOP);
}

/* -- running -- */

/* A signal, or the end of the program (SIGCHLD), within that time. */
static int wait_signal(const sigset_t *set, siginfo_t *info, uint64_t ns)
{
	const struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	return sigtimedwait(set, info, ns == UINT64_MAX ? NULL : &pause);
}

static int wait_for(struct run *run, pid_t pid, const sigset_t *set)
{
	int status;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG | WUNTRACED)) != pid || WIFSTOPPED(status)) {
		uint64_t ns = run_watch_wait_ns(&run->watch, now_ns());
		siginfo_t info;

		if (got == pid) {
			run_watch_hide(&run->watch);
			stop_too(WSTOPSIG(status));
		}
		if (got < 0 && errno != EINTR)
			return 0;
		if (wait_signal(set, &info, ns) >= 0)
			hand_on(pid, &info);
		if (ns != UINT64_MAX)
			run_watch_turn(&run->watch, now_ns());
	}
	return status;
}

static void become_program(struct run *run, const sigset_t *mask, const struct sigaction *children)
{
	sigaction(SIGCHLD, children, NULL);
	sigaction(SIGXFSZ, &run->too_large, NULL);
	sigaction(SIGPIPE, &run->no_reader, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(run->options.program[0], run->options.program);
	run->exec_error = errno;
	_exit(NOT_RUN);
}

static void begin_watch(struct run *run, uint64_t start_ns)
{
	const char *asked = getenv(RUN_POLICY);

	run->watch.shared = run->shared;
	run->watch.policy = run->watch.panel.asked = asked ? asked : UVMP_PAGER_POLICY;
	run->watch.panel.policy = run->watch.metrics.policy = run->policy;
	run->watch.panel.store = run->watch.metrics.store = run->report.store;
	run->watch.panel.program = run->options.program[0];
	run->watch.panel.budget_bytes = run->report.budget_bytes;
	run_watch_begin(&run->watch, start_ns);
}

/* False: a requested file is incomplete. */
static bool report(struct run *run)
{
	struct output *output = run_options_take_file(&run->options, "--report");
	FILE *out = output && output_begin(output) ? output_stream(output) : NULL;
	bool is_complete = !output || out;

	run->report.is_aside = output != NULL;
	if (out || (!output && !run->report.is_quiet))
		run_report_write(out ? out : stderr, &run->report);
	is_complete = output_close(output, OUTPUT_COMPLETE) && is_complete;
	return run_report_trouble(&run->report) && is_complete;
}

/* Log and trace take their places, unless no process has begun them. False: one is incomplete. */
static bool end_files(struct run *run, bool is_complete)
{
	bool is_begun = run->shared->first != 0;

	return run_options_end_files(&run->options, is_begun && is_complete ? OUTPUT_COMPLETE : OUTPUT_PARTIAL);
}

/* No process has loaded the library. */
static bool is_without_pager(const struct run *run)
{
	if (!is_required(run) || run->shared->loaded != 0)
		return false;
	say_error("%s did not load libuvmp-preload.so: no pager has run, which --require asks for",
		  run->options.program[0]);
	return true;
}

/* Ends by the same signal, without a core dump of its own. */
static int end_as(int status)
{
	const struct rlimit none = {0, 0};
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	fflush(NULL);
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + WTERMSIG(status);
}

static int execute(struct run *run)
{
	struct sigaction usual = {.sa_handler = SIG_DFL}, children;
	uint64_t start_ns = now_ns();
	struct rusage usage;
	sigset_t set, mask;
	bool is_complete;
	int status;
	pid_t pid;

	fill(&set);
	sigaction(SIGCHLD, &usual, &children);
	sigprocmask(SIG_BLOCK, &set, &mask);
	pid = fork();
	if (pid < 0) {
		(void)run_options_end_files(&run->options, OUTPUT_DISCARD);
		return say_error("fork: %s", strerror(errno));
	}
	if (pid == 0)
		become_program(run, &mask, &children);
	begin_watch(run, start_ns);
	run->report.status = wait_for(run, pid, &set);
	run->report.time_ns = now_ns() - start_ns;
	is_complete = run_watch_end(&run->watch, start_ns + run->report.time_ns);
	if (getrusage(RUSAGE_CHILDREN, &usage) == 0)
		run->report.peak_rss_bytes = (uint64_t)usage.ru_maxrss << 10;
	if (run->exec_error != 0) {
		(void)run_options_end_files(&run->options, OUTPUT_DISCARD);
		say_error("%s: %s", run->options.program[0], strerror(run->exec_error));
		return run->exec_error == ENOENT ? NOT_FOUND : NOT_RUN;
	}
	is_complete = report(run) && is_complete;
	is_complete = end_files(run, is_complete) && is_complete;
	if (is_without_pager(run))
		return RUN_NO_PAGER;
	status = end_as(run->report.status);
	return status == 0 && !is_complete ? RUN_INCOMPLETE : status;
}

static bool is_first(int arguments, char **argument, const char *flag, const char *letter)
{
	return arguments > 1 && (strcmp(argument[1], flag) == 0 || strcmp(argument[1], letter) == 0);
}

static int run_all(int arguments, char **argument)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};
	struct run *run = map_shared(sizeof(*run));
	int status;

	say_program("uvmp-run");
	if (is_first(arguments, argument, "--help", "-h")) {
		run_options_help();
		return output_flush_standard() ? 0 : RUN_USAGE;
	}
	if (is_first(arguments, argument, "--version", "-V")) {
		printf("uvmp-run %s\n", UVMSIM_VERSION);
		return output_flush_standard() ? 0 : RUN_USAGE;
	}
	if (!run)
		return say_error("out of memory");
	sigaction(SIGXFSZ, &ignored, &run->too_large); /* a file that becomes too large is an error of
							* the file */
	/* A report that nothing reads must not end this process before its files are in place. */
	sigaction(SIGPIPE, &ignored, &run->no_reader);
	status = prepare(run, arguments, argument);
	if (status == 0)
		return execute(run);
	(void)run_options_end_files(&run->options, OUTPUT_DISCARD);
	return status;
}

int main(int arguments, char **argument)
{
	int status = run_all(arguments, argument);

	plugin_crash_done();
	return status;
}
