/* source.h: a stream of page accesses, from a built-in workload or a trace file. Both look the same to the
 * simulator. */
#ifndef UVMSIM_SOURCE_H
#define UVMSIM_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "uvmpolicy/service.h"

#define SOURCE_ERROR_MAX 512

/* A managed allocation. Ranges start at multiples of 4 KiB; those not yet freed do not overlap. */
struct source_range {
	uint64_t base, bytes;
	char name[32];
	bool is_fresh;	/* it was never used and has no contents; else its contents are on the CPU */
	bool is_device; /* GPU memory that is not managed (cudaMalloc): never in rows, never faults */
};

enum source_row_kind {
	SOURCE_END = 0,
	SOURCE_ACCESS,
	SOURCE_KERNEL,
	SOURCE_SYNC,
	SOURCE_RANGE,
	SOURCE_PREFETCH, /* a call that moves [address, address + bytes) (cudaMemPrefetchAsync) */
	SOURCE_ADVISE,	 /* a call that advises on it (cudaMemAdvise) */
	SOURCE_FREE, /* [address, address + bytes) is no longer in ranges: one as it was declared, or (is_part) whole pages */
	SOURCE_BATCH, /* the faults so far were serviced before the next rows */
	SOURCE_BAD
};

struct source_row {
	enum source_row_kind kind;
	/* ACCESS */
	bool has_time;
	uint64_t time_ns;
	bool is_cpu;		 /* the CPU itself; agent is 0 */
	uint32_t agent;		 /* SM, warp or thread number */
	enum uvmp_access access; /* READ, WRITE, ATOMIC_STRONG (a), PREFETCH (p) */
	uint64_t address;
	uint16_t
		access_bytes; /* bytes that the access moves of the page of `address`, 1..4096; 0: not known */
	/* KERNEL */
	char name[64];
	/* PREFETCH, ADVISE, FREE; address as above */
	uint64_t bytes;
	bool to_gpu;  /* the processor that is meant: GPU or CPU */
	bool to_none; /* ADVISE: none; a preferred location is unset */
	bool is_part; /* FREE: of a range, or of several that adjoin each other */
	enum uvmp_advice advice;
	/* RANGE: a range that has become known now (workloads announce theirs before the first access) */
	struct source_range range;
};

/* Rows are pulled one by one; memory is bounded by the number of pages, never by the number of accesses. */
struct source {
	const char *name; /* canonical name: `stream:bytes=8388608,passes=2`, or the trace's file name */
	/* Fills the fields of the row's kind. All others are 0, except in an ACCESS, where they are unspecified.
	 * After END or BAD: the same again. BAD: error says `FILE:LINE: cause`, of a binary trace `FILE: byte OFFSET: cause`. */
	void (*next)(struct source *source, struct source_row *row);
	void (*close)(struct source *source); /* frees all memory, the struct too */
	uint64_t line;			      /* traces: number of the row's line; 0 for workloads */
	bool is_binary;			      /* a binary trace: `line` is the offset of the row */
	/* Receives the comments of a trace as they are read, from `#` on, without line feed. NULL: not wanted. */
	void (*comment)(void *context, const char *text, size_t length);
	void *comment_context;
	struct source_recorder *recorder; /* shared_rows.c, while the rows are recorded */
	bool has_bytes;	  /* access_bytes of an ACCESS may be known; of a workload only with wants_bytes */
	bool wants_bytes; /* set before the first row: a workload finds out access_bytes, which takes time */
	/* Progress. */
	uint64_t done, total;		    /* bytes of a trace's file; total 0: not known */
	uint64_t kernel_done, kernel_total; /* warps of a workload's kernel; total 0: not known */
	/* What a trace's head says of its recording, known once the first row was read. */
	uint64_t recorded_bytes;		    /* GPU memory or budget; 0: not said */
	char recorded_policy[UVMP_POLICY_TEXT_MAX]; /* policy string; "": not said */
	bool has_faults_only; /* from a profiler: accesses to resident pages are not among the rows */
	char error[SOURCE_ERROR_MAX];
};

/* A built-in workload: "NAME" or "NAME:key=value,key=value". NULL with `error` filled (unknown name, key, bad
 * value, absurd size) on failure. Random choices come from `seed` only. */
struct source *workload_open(const char *spec, uint64_t seed, char error[SOURCE_ERROR_MAX]);
/* Would workload_open accept the words? Makes no data. Each text among the values, which names a file, goes to `take`; if that
 * returns false, so does this function, without an error. */
bool workload_check(const char *spec, bool (*take)(void *context, const char *text), void *context,
		    char error[SOURCE_ERROR_MAX]);
/* What `uvmsim list workloads` prints: each with its parameters, ranges and defaults. */
void workload_list(FILE *out);
/* The same of one; false with `error`: none has that name. */
bool workload_list_one(const char *name, FILE *out, char error[SOURCE_ERROR_MAX]);

/* A trace (CSV, first line `uvmp-trace 1` or `uvmp-trace 2`, or binary), streamed; "-" is stdin; zstd-compressed input and
 * the binary form are recognised by their first bytes. NULL with `error`: cannot be opened, or the first line is wrong. */
struct source *trace_open(const char *path, char error[SOURCE_ERROR_MAX]);
/* Can a trace in a regular file be opened, as far as its first line says? False with `error` filled. */
bool trace_check(const char *path, char error[SOURCE_ERROR_MAX]);
/* The same as trace_open from an open stream, which is closed with the source, and at once on failure (stdin never is).
 * `name` appears in errors. */
struct source *trace_open_stream(FILE *in, const char *name, char error[SOURCE_ERROR_MAX]);

/* Fills the error with the source's name, the place of its row if it has one, and the text. Always false. */
bool source_fail(const struct source *source, const char *text, char error[SOURCE_ERROR_MAX]);

#endif
