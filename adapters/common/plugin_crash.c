/* The handler runs while anything may be damaged: it calls async-signal-safe functions only, on a stack of its own, since the
 * plugin may have used up the other one. */
#include "plugin_crash.h"

#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "output.h"
#include "plugin_files.h"
#include "say.h"

#define STACK_BYTES 65536
#define LINE_BYTES  4096u

static const struct {
	int number;
	const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

struct plugin {
	const char *path;
	uintptr_t first, end; /* of its code; both 0: not loaded yet */
};

struct line {
	char text[LINE_BYTES];
	size_t length;
};

static struct plugin plugins[2u * PLUGIN_FILES_MOST];
static size_t plugin_count;
static struct sigaction before[SIGNALS];
static char stack[STACK_BYTES];

/* As say_error does, without stdio. */
static void put(struct line *line, const char *text)
{
	for (; *text != '\0' && line->length < LINE_BYTES - 1u; text++)
		line->text[line->length++] = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
}

/* Where the signal interrupted the program; 0: not known on this machine. */
static uintptr_t interrupted_at(const void *context)
{
	const ucontext_t *user = context;

#if defined(__x86_64__) && defined(REG_RIP)
	return (uintptr_t)user->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__) && defined(__linux__)
	return (uintptr_t)user->uc_mcontext.pc;
#else
	(void)user;
	return 0;
#endif
}

static void describe(struct line *line, uintptr_t at, const char *name)
{
	put(line, say_name());
	put(line, ": ");
	for (size_t i = 0; i < plugin_count; i++) {
		if (at < plugins[i].first || at >= plugins[i].end)
			continue;
		put(line, "--plugin: ");
		put(line, plugins[i].path);
		put(line, ": crashed with ");
		put(line, name);
		return;
	}
	put(line, "crashed with ");
	put(line, name);
	for (size_t i = 0; i < plugin_count; i++) {
		put(line, i == 0 ? ", with --plugin: " : ", ");
		put(line, plugins[i].path);
	}
}

static void handle(int number, siginfo_t *info, void *context)
{
	struct line line;
	size_t i = 0;

	(void)info;
	while (i + 1u < SIGNALS && signals[i].number != number)
		i++;
	line.length = 0;
	describe(&line, interrupted_at(context), signals[i].name);
	line.text[line.length++] = '\n';
	if (write(STDERR_FILENO, line.text, line.length) < 0) {
		/* standard error is closed: the exit status still tells */
	}
	output_remove_unfinished();
	sigaction(number, &before[i], NULL);
	raise(number); /* arrives when the handler returns */
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&own, NULL);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&action.sa_mask, signals[i].number); /* a crash of the handler ends the process */
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i].number, &action, &before[i]);
}

void plugin_crash_watch(const char *path)
{
	if (plugin_count == sizeof(plugins) / sizeof(plugins[0]))
		return; /* more files than plugins are accepted */
	plugins[plugin_count++] = (struct plugin){.path = path};
	if (plugin_count == 1)
		install();
}

/* Is the plugin's function, at `first`, in this object? */
static int find_code(struct dl_phdr_info *object, size_t size, void *context)
{
	struct plugin *plugin = context;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		uintptr_t first = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;

		if (object->dlpi_phdr[i].p_type != PT_LOAD || plugin->first < first ||
		    plugin->first - first >= object->dlpi_phdr[i].p_memsz)
			continue;
		plugin->first = first;
		plugin->end = first + object->dlpi_phdr[i].p_memsz;
		return 1;
	}
	return 0;
}

void plugin_crash_loaded(void (*function)(void))
{
	struct plugin found = plugins[plugin_count - 1u];

	memcpy(&found.first, &function, sizeof(found.first));
	if (dl_iterate_phdr(find_code, &found) != 0)
		plugins[plugin_count - 1u] = found;
}
