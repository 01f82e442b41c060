/* input.h: the bytes of a file, through zstd if its first four bytes say so. */
#ifndef UVMP_HOST_INPUT_H
#define UVMP_HOST_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct input;

/* Reads `file` from where it stands; the file stays the caller's. NULL: out of memory. */
struct input *input_open(FILE *file);
/* Starts again where `file` stands now. */
void input_restart(struct input *input);
/* Reads at most `capacity` bytes, at least 1. Returns how many; 0: the end, or a problem. */
size_t input_read(struct input *input, void *to, size_t capacity);
/* Why reading failed, to follow the name of the file: `cannot be read: ...`. NULL: it did not fail. */
const char *input_problem(const struct input *input);
/* Known once a byte was read. */
bool input_is_packed(const struct input *input);
/* Bytes of the file that were read so far; restarts do not reset the count. */
uint64_t input_bytes(const struct input *input);
/* NULL is accepted. */
void input_close(struct input *input);

#endif
