/* The handler runs while anything may be damaged: it calls async-signal-safe functions only, on a stack of its own, since the
 * plugin may have used up the other one. */
#include "plugin_crash.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "plugin_blame.h"
#include "say.h"

#define STACK_BYTES 65536
#define LINE_BYTES  4096u

static struct sigaction before[PLUGIN_BLAME_SIGNALS];
static char stack[STACK_BYTES];
static bool may_exit;

/* One line, without stdio. */
static void report(uintptr_t instruction, int number)
{
	char line[LINE_BYTES + 2u];
	size_t length = strlen(say_name());

	memcpy(line, say_name(), length);
	memcpy(line + length, ": ", 2);
	length += 2u;
	length += plugin_blame(instruction, number, line + length, LINE_BYTES - length);
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, length) < 0) {
		/* standard error is closed: the exit status still tells */
	}
}

static void handle(int number, siginfo_t *info, void *context)
{
	size_t i = 0;

	(void)info;
	while (i + 1u < PLUGIN_BLAME_SIGNALS && plugin_blame_signal[i] != number)
		i++;
	report(plugin_blame_interrupted(context), number);
	output_remove_unfinished();
	sigaction(number, &before[i], NULL);
	raise(number); /* arrives when the handler returns */
}

/* The program itself ends by returning from main. */
static void handle_exit(void)
{
	if (may_exit)
		return;
	report(0, 0);
	output_remove_unfinished();
	_exit(SAY_BAD_INPUT);
}

void plugin_crash_done(void)
{
	may_exit = true;
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&own, NULL);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < PLUGIN_BLAME_SIGNALS; i++)
		sigaddset(&action.sa_mask, plugin_blame_signal[i]); /* a crash of the handler ends the process */
	for (size_t i = 0; i < PLUGIN_BLAME_SIGNALS; i++)
		sigaction(plugin_blame_signal[i], &action, &before[i]);
	atexit(handle_exit);
}

void plugin_crash_watch(const char *path)
{
	plugin_blame_watch(path);
	if (plugin_blame_count() == 1)
		install();
}
