/* Finds the plugin by the instruction at which it crashed. */
#include "plugin_blame.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "plugin_files.h"
#include "segment.h"

const int plugin_blame_signal[PLUGIN_BLAME_SIGNALS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
static const char *const names[PLUGIN_BLAME_SIGNALS] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"};

struct plugin {
	const char *path;
	struct segment code; /* zeros: not loaded yet */
};

struct line {
	char *text;
	size_t length, bytes;
};

static struct plugin plugins[2u * PLUGIN_FILES_MOST];
static size_t plugin_count;

/* As say_error does, without stdio. */
static void put(struct line *line, const char *text)
{
	for (; *text != '\0' && line->length + 1u < line->bytes; text++)
		line->text[line->length++] = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
}

uintptr_t plugin_blame_interrupted(const void *context)
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

/* NULL: in none. */
static const struct plugin *plugin_at(uintptr_t instruction)
{
	for (size_t i = 0; i < plugin_count; i++)
		if (segment_has(&plugins[i].code, instruction))
			return &plugins[i];
	return NULL;
}

int plugin_blame_has(uintptr_t instruction)
{
	return plugin_at(instruction) != NULL;
}

static void put_end(struct line *line, int number)
{
	put(line, number == 0 ? "called exit" : "crashed with ");
	for (size_t i = 0; i < PLUGIN_BLAME_SIGNALS; i++)
		if (plugin_blame_signal[i] == number)
			put(line, names[i]);
}

size_t plugin_blame(uintptr_t instruction, int number, char *text, size_t bytes)
{
	const struct plugin *guilty = plugin_at(instruction);
	struct line line = {text, 0, bytes};

	/* Only a plugin ends the process by a call of exit. */
	if (!guilty && number == 0 && plugin_count == 1)
		guilty = &plugins[0];
	if (guilty) {
		put(&line, "--plugin: ");
		put(&line, guilty->path);
		put(&line, ": ");
	}
	if (!guilty && number == 0)
		put(&line, "a plugin ");
	put_end(&line, number);
	for (size_t i = 0; i < plugin_count && !guilty; i++) {
		put(&line, i == 0 ? ", with --plugin: " : ", ");
		put(&line, plugins[i].path);
	}
	text[line.length] = '\0';
	return line.length;
}

void plugin_blame_watch(const char *path)
{
	if (plugin_count < sizeof(plugins) / sizeof(plugins[0])) /* else more files than plugins are accepted */
		plugins[plugin_count++] = (struct plugin){.path = path};
}

size_t plugin_blame_count(void)
{
	return plugin_count;
}

void plugin_blame_loaded(void (*function)(void))
{
	uintptr_t address;

	memcpy(&address, &function, sizeof(address));
	(void)segment_find(address, &plugins[plugin_count - 1u].code);
}
