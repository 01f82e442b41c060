/* The library inside another file, without external functions: tests/cli/amalgamation.sh puts a program behind it. */
#define UVMP_API static __attribute__((__unused__))
#include "uvmpolicy.c"
