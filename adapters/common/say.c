/* Errors and notes, one line each. */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

static const char *program = "";

void say_program(const char *name)
{
	program = name;
}

const char *say_name(void)
{
	return program;
}

/* A file name may hold any byte. */
static void say(const char *kind, const char *format, va_list list)
{
	char message[2048];

	vsnprintf(message, sizeof(message), format, list);
	for (char *at = message; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	fflush(stdout);
	fprintf(stderr, "%s: %s%s\n", program, kind, message);
}

int say_error(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say("", format, list);
	va_end(list);
	return SAY_BAD_INPUT;
}

void say_note(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say("note: ", format, list);
	va_end(list);
}
