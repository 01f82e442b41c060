/* Bit arithmetic of several modules. */
#ifndef UVMPOLICY_BITS_INTERNAL_H
#define UVMPOLICY_BITS_INTERNAL_H

#include "uvmpolicy/base.h"

/* A rare way of a function that is called often: out of line, the common way saves no registers for it. */
#define UVMPI_NOINLINE __attribute__((__noinline__))

/* Inlined for the constants of each caller. Without optimisation a plain function, so that all branches are in one copy. */
#ifdef __OPTIMIZE__
#define UVMPI_INLINE static inline __attribute__((__always_inline__))
#else
#define UVMPI_INLINE static inline
#endif

/* Functions on whole masks that fit a caller's 1 KiB of stack with 64-bit registers only. */
#if __SIZEOF_POINTER__ >= 8
#define UVMPI_NOINLINE_32
#else
#define UVMPI_NOINLINE_32 UVMPI_NOINLINE
#endif

/* A set that holds one processor. */
#define BIT(processor) ((uint64_t)1 << (processor))

static inline uint32_t minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Have the two parts of memory a byte in common? */
static inline bool is_overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
	return (uintptr_t)a - (uintptr_t)b < b_bytes || (uintptr_t)b - (uintptr_t)a < a_bytes;
}

/* Is a processor that facts need not name in range? It is one of 0..count-1, or left at 0 or UVMP_PROC_NONE. */
static inline bool is_optional_proc(bool has_it, uint32_t processor, uint32_t count)
{
	return has_it ? processor < count : processor == 0 || processor == UVMP_PROC_NONE;
}

static inline uint32_t optional_proc(bool has_it, uint32_t processor)
{
	return has_it ? processor : UVMP_PROC_NONE;
}

static inline bool is_power_of_two(uint64_t x)
{
	return x != 0 && (x & (x - 1u)) == 0;
}

/* Number of bits that are set. Without the compiler's builtin, which may call a library that is not linked. */
static inline uint32_t popcount(uint64_t x)
{
	x -= (x >> 1) & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (uint32_t)((x * 0x0101010101010101u) >> 56);
}

/* Number of the lowest bit that is set; 64 if none is. The builtin is one or two instructions where it is used. */
static inline uint32_t lowest_bit(uint64_t x)
{
#if defined(__x86_64__) || defined(__aarch64__)
	uint32_t is_none = x == 0;

	return (uint32_t)__builtin_ctzll(x | is_none) + is_none * 64u;
#else
	return popcount((x & (~x + 1u)) - 1u);
#endif
}

/* Number of the highest bit that is set. x is not 0. */
static inline uint32_t highest_bit(uint64_t x)
{
#if defined(__x86_64__) || defined(__aarch64__)
	return 63u - (uint32_t)__builtin_clzll(x);
#else
	for (uint32_t shift = 1; shift < 64u; shift *= 2u)
		x |= x >> shift;
	return popcount(x) - 1u;
#endif
}

/* Page sizes that a host may have: 4, 16 and 64 KiB, and 2 MiB. */
static inline bool is_page_size(uint64_t bytes)
{
	return bytes == 4096u || bytes == 16384u || bytes == 65536u || bytes == 2097152u;
}

/* The page size of facts and parameters, where 0 means 4096. */
static inline uint32_t page_bytes_or_default(uint32_t bytes)
{
	return bytes != 0 ? bytes : 4096u;
}

/* x as a 32-bit float holds it: 24 bits, rounded to nearest, ties to even. x below 2^63. */
static inline uint64_t float_of(uint64_t x)
{
	uint32_t drop = highest_bit(x | 0xffffffu) - 23u; /* the least for which x >> drop has at most 24 bits */
	uint64_t kept = x >> drop, twice = (x - (kept << drop)) * 2u;

	if (twice + (kept & 1u) > (uint64_t)1 << drop)
		kept++;
	return kept << drop;
}

/* `percent` percent of x, the size of a reserve: UVM Smart multiplies, divides by 100 and truncates, in
 * 32-bit floats [uvmsmart: integer-forms]. Above 2^17 or so that can be one more than in integers. The
 * quotient is taken with 28 bits of fraction. What that cuts off cannot make a tie: a fraction with
 * denominator 25 is at least 2^-5, so no more than four zeros follow a one, and from 2 on the quotient is at
 * least five bits longer than a float and the bit that decides. */
static inline uint32_t percent_in_floats(uint32_t x, uint32_t percent)
{
	uint64_t product = float_of(float_of(x) * percent) << 28;

	return (uint32_t)(float_of(product / 100u) >> 28);
}

/* The same, in integers where the product has at most 24 bits: the product is a float, and floats below 2^18 are at most 1/64
 * apart, so that a quotient whose fraction is 0.99 is not rounded up. */
static inline uint32_t percent_as_float(uint32_t x, uint32_t percent)
{
	uint64_t product = (uint64_t)x * percent;

	return product < 1u << 24 ? (uint32_t)product / 100u : percent_in_floats(x, percent);
}

#endif
