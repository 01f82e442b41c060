/* run_program.h: what file a program's name means, and whether a library can be preloaded into it. */
#ifndef UVMP_RUN_PROGRAM_H
#define UVMP_RUN_PROGRAM_H

#include <limits.h>

/* As execvp finds it. 0, or the errno of the failure: ENOENT, EACCES. */
int run_program_find(const char *name, char path[PATH_MAX]);
/* Why it would not load the library, to stand behind "it "; NULL: no reason is known. */
const char *run_program_objection(const char *path);

#endif
