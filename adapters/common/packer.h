/* packer.h: compresses what a program writes, as zstd frames. input.h reads them. */
#ifndef UVMP_HOST_PACKER_H
#define UVMP_HOST_PACKER_H

#include <stdbool.h>
#include <stddef.h>

struct packer;

/* Takes compressed bytes. False: they cannot be written. */
typedef bool packer_put(void *to, const void *bytes, size_t length);

/* Was this program built with zstd? */
bool packer_is_available(void);
/* Does the name of a file end in .zst? */
bool packer_is_wanted(const char *path);
/* NULL: out of memory, or built without zstd. */
struct packer *packer_open(void);
/* Compresses bytes into the present frame, and hands compressed bytes to `put`. is_last: all bytes of the frame go to `put`,
 * and the next call begins another frame. False: `put` returned false, or zstd failed (packer_problem). */
bool packer_write(struct packer *packer, const void *bytes, size_t length, bool is_last, packer_put *put,
		  void *to);
/* What zstd complained about; NULL: nothing. */
const char *packer_problem(const struct packer *packer);
/* NULL is accepted. */
void packer_close(struct packer *packer);

#endif
