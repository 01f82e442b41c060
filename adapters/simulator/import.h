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
	IMPORT_HEX = 1 << 6,
	IMPORT_TOUCHED = 1 << 7,
	IMPORT_DEVICE = 1 << 8,
	IMPORT_PROCESS = 1 << 9
};

/* Which pages count as touched, where a profile lists faults and migrations. */
enum import_touched {
	IMPORT_TOUCHED_FAULTS = 0, /* those that faulted: the least that the program can have touched */
	IMPORT_TOUCHED_MIGRATED	   /* those, and all that migrated: the most */
};

/* Why the driver migrated, as CUPTI and the UVM tools number it. */
enum import_cause {
	IMPORT_CAUSE_UNKNOWN = 0,
	IMPORT_CAUSE_USER,	/* a call: cudaMemPrefetchAsync */
	IMPORT_CAUSE_COHERENCE, /* a fault */
	IMPORT_CAUSE_PREFETCH,	/* the driver's own guess */
	IMPORT_CAUSE_EVICTION,
	IMPORT_CAUSE_COUNTERS, /* access counters */
	IMPORT_CAUSES
};

#define IMPORT_TO_GPU	 0
#define IMPORT_TO_CPU	 1
#define IMPORT_WAYS	 2
#define IMPORT_NOTES_MAX 8
#define IMPORT_NOTE_MAX	 240
#define IMPORT_HOT_MAX	 5

/* What an input told, and what it did not. Starts as zeros. */
struct import_told {
	bool is_profile;	     /* events of a driver; false: accesses */
	bool has_faults_only;	     /* accesses to resident pages are not in it */
	uint64_t gpu_faults;	     /* rows; one may stand for several faults of a page */
	uint64_t gpu_faults_counted; /* the sum of what the rows stand for */
	uint64_t cpu_faults, kernels;
	uint64_t gpu_bytes; /* memory of the GPU; 0: not told */
	uint64_t first_ns, last_ns; /* of the events */
	struct {
		uint64_t bytes, copies;
	} moved[IMPORT_WAYS][IMPORT_CAUSES];
	uint64_t migrations;
	uint64_t
		returned_bytes; /* of those to the GPU: so many may have been evicted from it before, block by block */
	struct {
		uint64_t base, bytes, faults; /* a VABlock; moved in either direction */
	} hot[IMPORT_HOT_MAX];		      /* the most moved bytes first, then faults */
	size_t hots;
	char note[IMPORT_NOTES_MAX][IMPORT_NOTE_MAX];
	size_t notes;
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
	bool is_hex;   /* bare numbers are hexadecimal */
	enum import_touched touched;
	bool has_device, has_process;
	uint64_t device, process; /* only the events of this GPU, of this process */
	struct import_told *told; /* filled if not NULL */
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
/* Do the first bytes of `in`, decompressed, begin a trace of uvmsim, as text or binary? A file that cannot be rewound does not;
 * the others are left where they were. */
bool import_shows_trace(FILE *in);
/* The format that the first bytes of `in` show, which must be a file that can be rewound: it is left where it was. NULL
 * with `error` filled: no format, or several. */
const struct import_format *import_detect(FILE *in, const char *name, char error[SOURCE_ERROR_MAX]);

/* Reads all of `in` from where it stands and writes a trace to `out`; both stay the caller's. `name` stands
 * in errors. Where ranges must be found the input is read twice, through a temporary file if it cannot be
 * rewound; then nothing is written when the input is bad. Memory: the touched blocks of 2 MiB, and the
 * objects or kernels of the format, never accesses. False with `error` filled. */
bool import_run(const struct import_format *format, FILE *in, const char *name,
		const struct import_options *options, FILE *out, char error[SOURCE_ERROR_MAX]);

#endif
