/* say.h: messages of a program on standard error, one line each: `PROGRAM: MESSAGE`. */
#ifndef UVMP_HOST_SAY_H
#define UVMP_HOST_SAY_H

/* The exit status of wrong usage and bad input. */
#define SAY_BAD_INPUT 2

/* Sets the program's name; call it first. `name` is not copied. */
void say_program(const char *name);
/* The program's name; async-signal-safe. */
const char *say_name(void);
/* Reports an error, after flushing standard output. Control characters in the message become `?`, so that it
 * stays one line. Returns SAY_BAD_INPUT. */
int say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with `note: ` in front: what the user should know of a run that continues. */
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
