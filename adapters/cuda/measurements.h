/* measurements.h: what the micro-benchmarks measure of a GPU, as lines of text (docs/cuda.md). */
#ifndef UVMP_CUDA_MEASUREMENTS_H
#define UVMP_CUDA_MEASUREMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fit.h"

#define MEASUREMENTS_MAX	512u
#define MEASUREMENTS_NAME_MAX	64u
#define MEASUREMENTS_ERROR_MAX	256u

/* The columns of a `run` line behind the time of its copies. */
enum measured_term {
	TERM_LAUNCH = 0,
	TERM_GROUP,
	TERM_FAULT,
	TERM_SERVICED,
	TERM_BLOCK,
	TERM_PAGE,
	TERM_MOVED_BLOCK,
	TERM_MOVED_PAGE,
	TERMS
};

/* Points of a curve. */
struct measured_points {
	size_t count;
	double bytes[MEASUREMENTS_MAX], ns[MEASUREMENTS_MAX];
};

struct measurements {
	char name[MEASUREMENTS_NAME_MAX];
	bool has_gpu;
	uint64_t sms, warps_per_sm, blocks_per_sm, clock_mhz, cores_per_sm, memory_bytes, memory_mb_s, page_bytes;
	struct measured_points copy[2]; /* to the GPU, from the GPU */
	struct measured_points chase;
	struct fit_row run[MEASUREMENTS_MAX];
	size_t runs;
	double remote_ns, first_ns, like_ns; /* 0: not measured */
	uint64_t utlbs, utlb_faults;	     /* 0: not measured */
};

/* False with `error`: what was wrong, and in which line. */
bool measurements_read(FILE *in, const char *name, struct measurements *out, char error[MEASUREMENTS_ERROR_MAX]);
/* Writes the model of the GPU, whose link is the file `link`, and that link. False: something that the model needs was not
 * measured; `error` says what. */
bool measurements_model(const struct measurements *measured, const char *link, FILE *gpu, FILE *link_out,
			char error[MEASUREMENTS_ERROR_MAX]);

#endif
