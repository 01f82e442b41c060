/* trace_binary.h: the rows of the binary trace format (docs/uvmsim.md), as bytes. Freestanding, like trace_row.h.
 *
 * A binary trace is a sequence of units of 16 bytes: two words of 64 bits, little-endian. Unit 0 is the header. A row is one
 * unit, whose first word begins with the kind of the row, and for some kinds further units. Each function writes one row at `to`
 * and returns its end. A row has at most two units, its text apart; the text of a comment has at most
 * TRACE_BINARY_COMMENT_MOST bytes. */
#ifndef UVMP_HOST_TRACE_BINARY_H
#define UVMP_HOST_TRACE_BINARY_H

#include "trace_row.h"

#define TRACE_BINARY_UNIT	  16u
#define TRACE_BINARY_COMMENT_MOST 4096u
#define TRACE_BINARY_VERSION	  1u	      /* accesses have no bytes */
#define TRACE_BINARY_SIZED	  2u	      /* the version in which accesses may have bytes */
#define TRACE_BINARY_ORDER	  0x01020304u /* reads 0x04030201 in the wrong byte order */
#define TRACE_BINARY_MAGIC	  UINT64_C(0x0a0d74706d7675f5) /* the bytes f5, "uvmpt", CR, LF */

/* The kind: bits 0 to 3 of a row's first word. */
enum trace_binary_kind {
	TRACE_BINARY_ACCESS = 1, /* second word: address */
	TRACE_BINARY_TIME = 2,	 /* second word: nanoseconds that the clock of the trace advances */
	TRACE_BINARY_RANGE = 3,	 /* second word: base; units: size, name */
	TRACE_BINARY_KERNEL = 4, /* units: name */
	TRACE_BINARY_SYNC = 5,
	TRACE_BINARY_BATCH = 6,
	TRACE_BINARY_FREE = 7,	    /* second word: base */
	TRACE_BINARY_FREE_PART = 8, /* second word: address; unit: size */
	TRACE_BINARY_PREFETCH = 9,  /* the same */
	TRACE_BINARY_ADVISE = 10,   /* the same */
	TRACE_BINARY_COMMENT = 11,  /* units: text */
	TRACE_BINARY_END = 15	    /* second word: offset of this row; unit: the two sums */
};

/* Further fields of a row's first word. All other bits are 0. */
#define TRACE_BINARY_LETTER_SHIFT 4		     /* ACCESS: 2 bits, r w a p */
#define TRACE_BINARY_CPU	  (UINT64_C(1) << 6) /* ACCESS: by the CPU; the agent is 0 */
#define TRACE_BINARY_TIMED                                                                                   \
	(UINT64_C(1) << 7) /* ACCESS: has a time: the clock, which first advances by the ns below */
#define TRACE_BINARY_AGENT_SHIFT    8  /* ACCESS: 20 bits */
#define TRACE_BINARY_NS_SHIFT	    28 /* ACCESS, version 1: 36 bits */
#define TRACE_BINARY_BYTES_SHIFT    28 /* ACCESS, version 2: 13 bits, 0 to 4096; 0: not known */
#define TRACE_BINARY_BYTES_MASK	    UINT64_C(0x1fff)
#define TRACE_BINARY_SIZED_NS_SHIFT 41		       /* ACCESS, version 2: 23 bits */
#define TRACE_BINARY_FRESH	    (UINT64_C(1) << 4) /* RANGE */
#define TRACE_BINARY_TO_GPU	    (UINT64_C(1) << 4) /* PREFETCH, ADVISE; else the CPU */
#define TRACE_BINARY_TO_NONE	    (UINT64_C(1) << 5) /* ADVISE: no processor */
#define TRACE_BINARY_VALUE_SHIFT                                                                             \
	8 /* RANGE, KERNEL, COMMENT: 16 bits, length of the text; ADVISE: enum uvmp_advice */

/* The writer: the clock of the trace, bytes written, and two sums over all words: of the words, and of the first sum after each
 * word. It starts as zeros. */
struct trace_binary {
	uint64_t time_ns, bytes, sum, sums;
	bool is_sized; /* version 2: accesses may have bytes */
};

static inline void trace_binary_add(struct trace_binary *b, uint64_t word)
{
	b->sum += word;
	b->sums += b->sum;
}

static inline char *trace_binary_word(struct trace_binary *b, char *to, uint64_t word)
{
	unsigned char *bytes = (unsigned char *)to;

	for (uint32_t i = 0; i < 8u; i++)
		bytes[i] = (unsigned char)(word >> 8u * i);
	trace_binary_add(b, word);
	b->bytes += 8u;
	return to + 8;
}

static inline uint64_t trace_binary_read(const void *from)
{
	const unsigned char *bytes = from;
	uint64_t word = 0;

	for (uint32_t i = 0; i < 8u; i++)
		word |= (uint64_t)bytes[i] << 8u * i;
	return word;
}

static inline char *trace_binary_unit(struct trace_binary *b, char *to, uint64_t first, uint64_t second)
{
	return trace_binary_word(b, trace_binary_word(b, to, first), second);
}

/* Whole units; the last one ends with zeros. */
static inline char *trace_binary_text(struct trace_binary *b, char *to, const char *text, uint32_t length)
{
	for (uint32_t at = 0; at < length; at += TRACE_BINARY_UNIT) {
		unsigned char unit[TRACE_BINARY_UNIT] = {0};

		for (uint32_t i = 0; i < TRACE_BINARY_UNIT && at + i < length; i++)
			unit[i] = (unsigned char)text[at + i];
		to = trace_binary_unit(b, to, trace_binary_read(unit), trace_binary_read(unit + 8));
	}
	return to;
}

static inline uint32_t trace_binary_length(const char *text)
{
	uint32_t length = 0;

	while (text[length] != '\0')
		length++;
	return length;
}

/* `is_sized`: accesses may have bytes; version 2 instead of 1. */
static inline char *trace_binary_header(struct trace_binary *b, char *to, bool is_sized)
{
	uint64_t version = is_sized ? TRACE_BINARY_SIZED : TRACE_BINARY_VERSION;

	b->is_sized = is_sized;
	return trace_binary_unit(b, to, TRACE_BINARY_MAGIC, version | (uint64_t)TRACE_BINARY_ORDER << 32);
}

/* The letter of an access as its number; the access has a letter (trace_row_letter). */
static inline uint64_t trace_binary_letter(uint32_t access)
{
	switch (access) {
	case UVMP_ACCESS_READ:
		return 0;
	case UVMP_ACCESS_WRITE:
		return 1;
	case UVMP_ACCESS_PREFETCH:
		return 3;
	default:
		return 2;
	}
}

/* Times never go back; an agent is below 2^20. The bytes are ignored in version 1. */
static inline char *trace_binary_access(struct trace_binary *b, char *to, const struct trace_access *access)
{
	uint64_t first = TRACE_BINARY_ACCESS | trace_binary_letter(access->access)
						       << TRACE_BINARY_LETTER_SHIFT;
	uint64_t ns = access->has_time ? access->time_ns - b->time_ns : 0;
	uint32_t ns_shift = b->is_sized ? TRACE_BINARY_SIZED_NS_SHIFT : TRACE_BINARY_NS_SHIFT;

	if (ns >> (64u - ns_shift) != 0) {
		to = trace_binary_unit(b, to, TRACE_BINARY_TIME, ns);
		ns = 0;
	}
	if (access->has_time) {
		first |= TRACE_BINARY_TIMED | ns << ns_shift;
		b->time_ns = access->time_ns;
	}
	if (b->is_sized)
		first |= (uint64_t)access->bytes << TRACE_BINARY_BYTES_SHIFT;
	first |= access->is_cpu ? TRACE_BINARY_CPU : (uint64_t)access->agent << TRACE_BINARY_AGENT_SHIFT;
	return trace_binary_unit(b, to, first, access->address);
}

/* A range. `name` has less than 32 bytes, and may be empty. */
static inline char *trace_binary_range(struct trace_binary *b, char *to, uint64_t base, uint64_t bytes,
				       const char *name, bool is_fresh)
{
	uint32_t length = trace_binary_length(name);

	to = trace_binary_unit(b, to,
			       TRACE_BINARY_RANGE | (is_fresh ? TRACE_BINARY_FRESH : 0) |
				       (uint64_t)length << TRACE_BINARY_VALUE_SHIFT,
			       base);
	return trace_binary_text(b, trace_binary_unit(b, to, bytes, 0), name, length);
}

/* `name` has 1 to 63 bytes. */
static inline char *trace_binary_kernel(struct trace_binary *b, char *to, const char *name)
{
	uint32_t length = trace_binary_length(name);

	to = trace_binary_unit(b, to, TRACE_BINARY_KERNEL | (uint64_t)length << TRACE_BINARY_VALUE_SHIFT, 0);
	return trace_binary_text(b, to, name, length);
}

/* A comment of at most TRACE_BINARY_COMMENT_MOST bytes. */
static inline char *trace_binary_comment(struct trace_binary *b, char *to, const char *text, uint32_t length)
{
	to = trace_binary_unit(b, to, TRACE_BINARY_COMMENT | (uint64_t)length << TRACE_BINARY_VALUE_SHIFT, 0);
	return trace_binary_text(b, to, text, length);
}

/* TRACE_BINARY_SYNC or TRACE_BINARY_BATCH: 0; TRACE_BINARY_FREE: the base. */
static inline char *trace_binary_single(struct trace_binary *b, char *to, enum trace_binary_kind kind,
					uint64_t base)
{
	return trace_binary_unit(b, to, (uint64_t)kind, base);
}

/* TRACE_BINARY_FREE_PART, PREFETCH or ADVISE with its further fields. */
static inline char *trace_binary_part(struct trace_binary *b, char *to, uint64_t first, uint64_t address,
				      uint64_t bytes)
{
	return trace_binary_unit(b, trace_binary_unit(b, to, first, address), bytes, 0);
}

/* The end of the trace. */
static inline char *trace_binary_end(struct trace_binary *b, char *to)
{
	uint64_t sum = b->sum, sums = b->sums;

	to = trace_binary_unit(b, to, TRACE_BINARY_END, b->bytes);
	return trace_binary_unit(b, to, sum, sums);
}

#endif
