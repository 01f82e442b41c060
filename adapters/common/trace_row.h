/* trace_row.h: the rows of the trace format (docs/uvmsim.md) as text. Freestanding: the kernel module uses it, too.
 *
 * Each function writes one row with its line feed at `to`, without NUL, and returns the end of the row. A row is at most
 * TRACE_ROW_MOST bytes long, names not counted. Texts must hold neither commas nor control characters. */
#ifndef UVMP_HOST_TRACE_ROW_H
#define UVMP_HOST_TRACE_ROW_H

#include "uvmpolicy/service.h"

#define TRACE_ROW_MOST	      96u
#define TRACE_ROW_FIRST	      "uvmp-trace 1\n" /* the first line of a trace whose accesses have no bytes */
#define TRACE_ROW_FIRST_SIZED "uvmp-trace 2\n" /* the first line of a trace whose accesses may have bytes */
#define TRACE_ROW_BYTES_MOST  4096u	       /* of an access: one page */
#define TRACE_ROW_TIME_MOST   UINT64_C(0x7fffffffffffffff) /* ns: a run can add its own time without a wrap */
#define TRACE_ROW_SYNC	      "sync\n"
#define TRACE_ROW_BATCH	      "batch\n"

static inline char *trace_row_text(char *to, const char *text)
{
	while (*text != '\0')
		*to++ = *text++;
	return to;
}

static inline char *trace_row_number(char *to, uint64_t number)
{
	char digits[20];
	uint32_t count = 0;

	do {
		digits[count++] = (char)('0' + number % 10u);
		number /= 10u;
	} while (number != 0);
	while (count > 0)
		*to++ = digits[--count];
	return to;
}

static inline char *trace_row_address(char *to, uint64_t address)
{
	uint32_t shift = 60;

	to = trace_row_text(to, "0x");
	while (shift > 0 && address >> shift == 0)
		shift -= 4u;
	for (;; shift -= 4u) {
		*to++ = "0123456789abcdef"[address >> shift & 15u];
		if (shift == 0)
			return to;
	}
}

/* ADDRESS,BYTES and the end of the line. */
static inline char *trace_row_part(char *to, uint64_t address, uint64_t bytes)
{
	to = trace_row_address(to, address);
	*to++ = ',';
	to = trace_row_number(to, bytes);
	*to++ = '\n';
	return to;
}

/* A range. `name` may be empty; `is_fresh`: it has no contents yet. */
static inline char *trace_row_range(char *to, uint64_t base, uint64_t bytes, const char *name, bool is_fresh)
{
	to = trace_row_part(trace_row_text(to, "range,"), base, bytes) - 1;
	if (name[0] != '\0' || is_fresh) {
		*to++ = ',';
		to = trace_row_text(to, name);
	}
	return trace_row_text(to, is_fresh ? ",fresh\n" : "\n");
}

/* An access: TIME,AGENT,LETTER,ADDRESS[,BYTES]. */
struct trace_access {
	uint64_t time_ns, address;
	uint32_t agent; /* of the GPU */
	uint16_t bytes; /* 1..TRACE_ROW_BYTES_MOST; 0: not known, and always in a trace without bytes */
	bool has_time, is_cpu;
	uint8_t access; /* enum uvmp_access */
};

/* The letter of enum uvmp_access; NUL: the format has none. */
static inline char trace_row_letter(uint32_t access)
{
	switch (access) {
	case UVMP_ACCESS_PREFETCH:
		return 'p';
	case UVMP_ACCESS_READ:
		return 'r';
	case UVMP_ACCESS_WRITE:
		return 'w';
	case UVMP_ACCESS_ATOMIC_WEAK:
	case UVMP_ACCESS_ATOMIC_STRONG:
		return 'a';
	default:
		return '\0';
	}
}

static inline char *trace_row_access(char *to, const struct trace_access *access)
{
	if (access->has_time)
		to = trace_row_number(to, access->time_ns);
	*to++ = ',';
	to = access->is_cpu ? trace_row_text(to, "cpu") : trace_row_number(to, access->agent);
	*to++ = ',';
	*to++ = trace_row_letter(access->access);
	*to++ = ',';
	to = trace_row_address(to, access->address);
	if (access->bytes != 0) {
		*to++ = ',';
		to = trace_row_number(to, access->bytes);
	}
	*to++ = '\n';
	return to;
}

static inline char *trace_row_kernel(char *to, const char *name)
{
	return trace_row_text(trace_row_text(trace_row_text(to, "kernel,"), name), "\n");
}

/* A whole range is freed. */
static inline char *trace_row_free(char *to, uint64_t base)
{
	return trace_row_text(trace_row_address(trace_row_text(to, "free,"), base), "\n");
}

static inline char *trace_row_free_part(char *to, uint64_t address, uint64_t bytes)
{
	return trace_row_part(trace_row_text(to, "free,"), address, bytes);
}

/* `processor`: `gpu` or `cpu`. */
static inline char *trace_row_prefetch(char *to, const char *processor, uint64_t address, uint64_t bytes)
{
	to = trace_row_text(trace_row_text(to, "prefetch,"), processor);
	*to++ = ',';
	return trace_row_part(to, address, bytes);
}

#define TRACE_ROW_ADVICES 7u

/* The word for enum uvmp_advice, which is below TRACE_ROW_ADVICES. */
static inline const char *trace_row_advice(uint32_t advice)
{
	static const char *const words[TRACE_ROW_ADVICES] = {
		[UVMP_ADVISE_PREFERRED] = "preferred",
		[UVMP_ADVISE_ACCESSED_BY] = "accessed-by",
		[UVMP_ADVISE_NOT_ACCESSED_BY] = "not-accessed-by",
		[UVMP_ADVISE_READ_DUPLICATE] = "read-duplicate",
		[UVMP_ADVISE_NO_DUPLICATE] = "no-duplicate",
		[UVMP_ADVISE_UNSET_DUPLICATE] = "unset-duplicate",
		[UVMP_ADVISE_DISCARD] = "discard",
	};

	return words[advice];
}

/* `processor`: `gpu`, `cpu`, for the preferred location also `none`; ignored where the advice has none. */
static inline char *trace_row_advise(char *to, uint32_t advice, const char *processor, uint64_t address,
				     uint64_t bytes)
{
	to = trace_row_text(trace_row_text(to, "advise,"), trace_row_advice(advice));
	*to++ = ',';
	to = trace_row_text(to, advice <= UVMP_ADVISE_NOT_ACCESSED_BY ? processor : "");
	*to++ = ',';
	return trace_row_part(to, address, bytes);
}

#endif
