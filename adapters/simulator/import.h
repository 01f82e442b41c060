/* import.h: other tools' traces as ours. One file of import/ per format, one row of the table in
 * import/import.c. */
#ifndef UVMSIM_IMPORT_H
#define UVMSIM_IMPORT_H

#include "source.h"

/* The options of a format; a set of these bits. */
enum import_option {
	IMPORT_RANGES = 1 << 0,
	IMPORT_AGENTS = 1 << 1,
	IMPORT_KERNELS = 1 << 2,
	IMPORT_CLOCK_MHZ = 1 << 3,
	IMPORT_BENCHMARK = 1 << 4,
	IMPORT_PREFETCHER = 1 << 5,
	IMPORT_HEX = 1 << 6
};

/* A second file; `file` NULL: none. It stays the caller's. */
struct import_file {
	FILE *file;
	const char *name; /* in errors */
};

struct import_options {
	struct import_file ranges;  /* none: ranges are made of the 2 MiB blocks that are touched */
	struct import_file kernels; /* launch and end cycles */
	const char *benchmark;	    /* NULL: the only one in the file */
	const char *prefetcher;	    /* the same */
	uint32_t agents;	    /* accesses that name no agent go to so many agents, in turn */
	uint32_t clock_mhz;
	bool is_apart; /* ranges begin at multiples of 2 MiB, in their order */
	bool is_hex; /* bare numbers are hexadecimal */
};

#define IMPORT_AGENTS_MAX ((uint32_t)1 << 20)
#define IMPORT_CLOCK_MAX  1000000u
extern const struct import_options import_defaults;

struct import_format;

/* NULL after the last. */
const struct import_format *import_format_at(size_t index);
/* NULL: no format has that name. */
const struct import_format *import_format_find(const char *name);
const char *import_format_name(const struct import_format *format);
/* One line: the format and its origin. */
const char *import_format_summary(const struct import_format *format);
/* The bits of the options that the format knows. */
unsigned import_format_options(const struct import_format *format);

/* Reads all of `in` from where it stands and writes a trace to `out`; both stay the caller's. `name` stands
 * in errors. Where ranges must be found the input is read twice, through a temporary file if it cannot be
 * rewound; then nothing is written when the input is bad. Memory: the touched blocks of 2 MiB, and the
 * objects or kernels of the format, never accesses. False with `error` filled. */
bool import_run(const struct import_format *format, FILE *in, const char *name,
		const struct import_options *options, FILE *out, char error[SOURCE_ERROR_MAX]);

#endif
