/* run_program.h: the file of a program's name, and whether a library can be preloaded into it. */
#ifndef UVMP_RUN_PROGRAM_H
#define UVMP_RUN_PROGRAM_H

#include <limits.h>

/* Searches as execvp does. 0, or errno: ENOENT, EACCES. */
int run_program_find(const char *name, char path[PATH_MAX]);
/* Why it would not load the library, a phrase to follow "it "; NULL: no reason is known. */
const char *run_program_objection(const char *path);

#endif
