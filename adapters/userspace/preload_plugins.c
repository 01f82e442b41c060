/* The plugins of uvmp-run --plugin, in each process. */
#undef _FORTIFY_SOURCE
#include "preload_managed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin_blame.h"
#include "plugin_files.h"

static const struct plugin_end *end;
static struct plugin_files files;
static char problem[PLUGIN_FILES_ERROR_MAX]; /* of the first file that cannot be loaded; else empty */

/* -- a plugin that ends the process -- */

#define STACK_BYTES 65536u
#define PLUGIN_EXIT 1 /* exit status of the process if a plugin has called exit */

static struct sigaction before[PLUGIN_BLAME_SIGNALS];

/* For the report of uvmp-run. Async-signal-safe. */
static void note(uintptr_t instruction, int number)
{
	char own[256];
	size_t bytes = sizeof(own), length;
	char *text = end->text(&bytes);

	length = plugin_blame(instruction, number, text ? text : own, text ? bytes : sizeof(own) - 1u);
	if (text)
		return;
	own[length++] = '\n';
	if (write(STDERR_FILENO, "uvmp-run: ", 10) < 0 || write(STDERR_FILENO, own, length) < 0)
		return; /* closed: the exit status still tells */
}

/* Crashes of the program are its own, and so are signals that are sent: they go on to what was before. */
static void handle(int number, siginfo_t *info, void *context)
{
	uintptr_t instruction = plugin_blame_interrupted(context);
	size_t i = 0;

	while (i + 1u < PLUGIN_BLAME_SIGNALS && plugin_blame_signal[i] != number)
		i++;
	if (info->si_code != SI_USER && (preload_is_inside || plugin_blame_has(instruction))) {
		note(instruction, number);
		end->save_log();
	}
	sigaction(number, &before[i], NULL);
	raise(number); /* arrives when the handler returns */
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < PLUGIN_BLAME_SIGNALS; i++)
		sigaddset(&action.sa_mask, plugin_blame_signal[i]); /* a crash of the handler ends the process */
	for (size_t i = 0; i < PLUGIN_BLAME_SIGNALS; i++)
		sigaction(plugin_blame_signal[i], &action, &before[i]);
}

void preload_watch_thread(void)
{
	stack_t own = {.ss_size = STACK_BYTES};
	sigset_t crashes;

	if (plugin_blame_count() == 0)
		return;
	sigemptyset(&crashes);
	for (size_t i = 0; i < PLUGIN_BLAME_SIGNALS; i++)
		if (plugin_blame_signal[i] != SIGABRT) /* abort unblocks it; one that is sent is for the program's threads */
			sigaddset(&crashes, plugin_blame_signal[i]);
	pthread_sigmask(SIG_UNBLOCK, &crashes, NULL);
	own.ss_sp = (void *)syscall(SYS_mmap, NULL, own.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				    0L);
	if (own.ss_sp != MAP_FAILED)
		sigaltstack(&own, NULL);
}

/* What the program has left to do at its exit is for its own threads, whose faults this thread would have to service. */
void preload_plugin_exits(void)
{
	note(0, 0);
	end->save_log();
	if (ftrylockfile(stdout) == 0)
		fflush_unlocked(stdout);
	for (;;)
		syscall(SYS_exit_group, PLUGIN_EXIT);
}

/* -- loading -- */

static void load(const char *path)
{
	uint32_t prefetchers = files.all.prefetchers, orders = files.all.orders;
	const struct uvmp_plugins *all = &files.all;
	char error[PLUGIN_FILES_ERROR_MAX];

	plugin_blame_watch(path);
	if (plugin_blame_count() == 1)
		install();
	if (!plugin_files_load(&files, path, error, sizeof(error)))
		snprintf(problem, sizeof(problem), "--plugin: %.100s: %.300s", path, error);
	else if (all->prefetchers > prefetchers)
		plugin_blame_loaded((void (*)(void))all->prefetcher[prefetchers]->decide);
	else if (all->orders > orders)
		plugin_blame_loaded((void (*)(void))all->order[orders]->touch);
}

void preload_load_plugins(const struct plugin_end *process_end)
{
	const char *all = getenv(RUN_PLUGINS);
	char *paths = all ? strdup(all) : NULL, *rest = NULL;

	end = process_end;
	if (all && !paths)
		snprintf(problem, sizeof(problem), "--plugin: out of memory");
	for (char *path = paths ? strtok_r(paths, "\n", &rest) : NULL; path && problem[0] == '\0';
	     path = strtok_r(NULL, "\n", &rest))
		load(path); /* keeps the path */
}

bool preload_take_plugins(struct uvmp_pager_config *config, char *text, size_t bytes)
{
	config->plugins = plugin_files_all(&files);
	if (problem[0] != '\0')
		snprintf(text, bytes, "%s", problem);
	return problem[0] == '\0';
}
