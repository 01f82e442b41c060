/* curve.h: faults, bytes and time over the size of GPU memory.
 *
 * A row of the curve comes from one of three methods. exact: one pass over the accesses, by Mattson's stack distances, for an
 * order that is a stack algorithm; equal to separate runs. sampled: the same over a sample of the pages (SHARDS: Waldspurger,
 * Park, Garthwaite, Ahmad, FAST 2015), with an interval. run: a run of the simulator with this memory. */
#ifndef UVMSIM_CURVE_H
#define UVMSIM_CURVE_H

#include "page_rows.h"
#include "report.h"

#define CURVE_POINTS_MAX 64

enum curve_method { CURVE_EXACT = 0, CURVE_SAMPLED, CURVE_RUN };
extern const char *const curve_method_names[];

/* One size of memory. */
struct curve_point {
	enum curve_method method;
	uint64_t memory_bytes;
	uint64_t far_faults, refaults, h2d_bytes, d2h_bytes;
	/* CURVE_SAMPLED: of far_faults, the least and greatest estimate of a single sample; else far_faults. An interval of
	 * N independent estimates has their median with a probability of 1 - 2^(1 - N), with 8 samples 99.2 %. */
	uint64_t far_faults_low, far_faults_high;
	uint64_t time_ns;  /* CURVE_RUN with a GPU */
	const char *error; /* CURVE_RUN: why there is no result; NULL */
};

/* The curve of one policy. */
struct curve {
	const char *workload; /* canonical name */
	const char *gpu;      /* NULL: without time */
	const char *preset;   /* as in struct report */
	const char *policy;   /* canonical */
	const char *given;    /* as the user wrote it */
	uint64_t seed, footprint_bytes, accesses;
	uint32_t samples, parts; /* CURVE_SAMPLED: samples with a page, and millionths of the pages in each */
	bool is_serial;
	const struct curve_point *point;
	size_t points;
};

/* The sizes that are asked for. */
struct curve_sizes {
	uint64_t given[CURVE_POINTS_MAX];
	size_t count;	 /* 0: none was given, */
	uint32_t points; /* so many equal steps up to the footprint */
};

/* Sizes in whole root chunks, ascending, each once; returns how many. */
size_t curve_sizes_of(const struct curve_sizes *sizes, uint64_t footprint_bytes,
		      uint64_t size[CURVE_POINTS_MAX]);

/* May the policy be a stack algorithm on the accesses of one agent? Then *reason is unchanged, else it says why not. */
bool curve_is_stack(const struct uvmp_policy *policy, const char **reason);

#define CURVE_SAMPLES 8u
#define CURVE_PARTS   1000000u

/* The question that one pass over the source answers. */
struct curve_pass {
	const struct uvmp_policy *policy;
	const struct curve_sizes *sizes;
	bool is_serial;
	uint32_t parts; /* CURVE_PARTS: exact; fewer: sampled */
	uint64_t seed;	/* of the samples */
	/* results */
	struct curve_point point[CURVE_POINTS_MAX];
	size_t points;
	uint64_t footprint_bytes, accesses;
	uint32_t samples;   /* with a page; only these have an estimate */
	const char *reason; /* PAGE_ROWS_REFUSED */
};

/* `error` is filled if PAGE_ROWS_FAILED is returned. */
enum page_rows_end curve_pass(struct curve_pass *pass, struct source *source, char error[SOURCE_ERROR_MAX]);

/* Prints curves. */
void curve_print(const struct curve *curve, size_t count, enum report_format format, FILE *out);

/* -- working set -- */

struct working_set {
	uint64_t window; /* accesses, or ns */
	bool is_time;
	enum report_format format;
};

/* Prints the distinct pages of each window of the source. False with `error` filled on bad input, when memory is short, and
 * when interrupted; what was known so far is printed, and the last row has the error. */
bool working_set_print(struct source *source, const struct working_set *set, FILE *out,
		       char error[SOURCE_ERROR_MAX]);

#endif
