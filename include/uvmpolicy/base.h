/* libuvmpolicy: the decisions of a unified-memory (UVM) driver, as pure functions.
 *
 * base.h: version, status codes, addresses, processors and access types, for every other header.
 *
 * Rules of the whole library
 *  - A decision is `out = f(facts, parameters, state)`. Facts and parameters are const. State is a plain
 *    struct that belongs to the caller. Time (nanoseconds) and randomness (a state that the caller seeds) are
 *    arguments.
 *  - The library allocates nothing. Arrays come from the caller; if their size depends on parameters, a
 *    function returns it.
 *  - Functions that can fail return an enum uvmp_status. On error the caller's data is unchanged, unless the
 *    function's comment says otherwise.
 *  - `quirks`: true reproduces the behaviour of the driver (or simulator), false the corrected rule. Each
 *    header lists its quirks: [driver: NAME] is a heading of docs/driver-rules.md, [uvmsmart: NAME] a heading
 *    of docs/uvmsmart-rules.md.
 *  - No function keeps global state; any two calls on different objects may run at the same time.
 */
#ifndef UVMPOLICY_BASE_H
#define UVMPOLICY_BASE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
/* The kernel has the types of <stdint.h>, not its limits. */
#ifndef UINT16_MAX
#define UINT16_MAX 0xffff
#endif
#ifndef UINT32_MAX
#define UINT32_MAX 0xffffffffu
#endif
#ifndef UINT64_MAX
#define UINT64_MAX 0xffffffffffffffffull
#endif
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What declares a public function. A host that includes the sources may define it first: static. */
#if defined(UVMP_API)
#elif defined(__GNUC__) && !defined(__KERNEL__)
#define UVMP_API __attribute__((visibility("default")))
#else
#define UVMP_API
#endif

#define UVMP_VERSION_MAJOR  1
#define UVMP_VERSION_MINOR  0
#define UVMP_VERSION_PATCH  0
#define UVMP_VERSION_STRING "1.0.0"
/* The version of these headers as a number that #if can compare: 1002003 is 1.2.3. */
#define UVMP_VERSION_NUMBER (UVMP_VERSION_MAJOR * 1000000 + UVMP_VERSION_MINOR * 1000 + UVMP_VERSION_PATCH)

/* Version of the library that is linked, "MAJOR.MINOR.PATCH"; never NULL. */
UVMP_API const char *uvmp_version(void);
/* The same as a number, to be compared with UVMP_VERSION_NUMBER. docs/abi.md says what versions may
 * change. */
UVMP_API uint32_t uvmp_version_number(void);

/* Structures of the basic set that may get further fields begin with `uint32_t size`. The host sets it to the
 * sizeof of the structure, so that programs and libraries of different versions understand each other:
 *
 *   struct uvmp_page_state state = {.size = sizeof(state)};
 *
 *  - New fields go to the end. Their 0 means what the version without the field did.
 *  - A structure that the library reads: fields behind the host's size count as 0. A field that the library
 *    does not know must be 0, otherwise UVMP_ERR_RANGE. The comment of the structure names the field up to
 *    which it must reach, otherwise UVMP_ERR_ARGUMENT.
 *  - A structure that the library writes: only `size` bytes are written. Fields that the library does not
 *    know become 0. UVMP_ERR_ARGUMENT: the size is below 4.
 *  - A size above UVMP_SIZE_MAX is UVMP_ERR_ARGUMENT: `size` was not set.
 *
 * All other structures keep their layout within a major version. */
#define UVMP_SIZE_MAX 4096u

/* Result of a call. 0 is success, negative is an error. The comment of a function lists its errors. */
enum uvmp_status {
	UVMP_OK = 0,
	UVMP_ERR_ARGUMENT = -1,	    /* a required pointer is NULL, or an _is_valid is false */
	UVMP_ERR_RANGE = -2,	    /* a value lies outside its documented range */
	UVMP_ERR_SPACE = -3,	    /* the caller's array is too small for the result */
	UVMP_ERR_STATE = -4,	    /* the call does not fit the present state (freed twice, out of order) */
	UVMP_ERR_NO_MEMORY = -5,    /* no GPU memory and nothing that may be evicted */
	UVMP_ERR_RETRY = -6,	    /* no result now: work is in flight, or none is left; try later */
	UVMP_ERR_SYNTAX = -7,	    /* text that does not parse */
	UVMP_ERR_UNKNOWN = -8,	    /* an unknown name, or an address in no range */
	UVMP_ERR_CONFLICT = -9,	    /* each value is valid, but the values contradict each other */
	UVMP_ERR_UNSUPPORTED = -10, /* known, but not supported by this policy or geometry */
	UVMP_ERR_ARENA = -11	    /* the engine's arena is too full: call uvmp_service_grow, then repeat the
				    * call */
};

/* One line of English for a status, without final dot; "unknown status" for any other value; never NULL. */
UVMP_API const char *uvmp_status_text(enum uvmp_status status);

/* A virtual address, in bytes. */
typedef uint64_t uvmp_addr;

/* Processors: 0 is the CPU, 1..63 are GPUs. A set of processors is a uint64_t with bit p for processor p. */
#define UVMP_CPU       0u
#define UVMP_PROCS_MAX 64u
#define UVMP_PROC_NONE 64u /* "no processor": one past the last id */

/* How memory is touched, least intrusive first: a larger value needs at least the rights of a smaller one.
 * A set of accesses is a uint8_t with bit `1 << access`. */
enum uvmp_access {
	UVMP_ACCESS_PREFETCH = 0,
	UVMP_ACCESS_READ = 1,
	UVMP_ACCESS_WRITE = 2,
	UVMP_ACCESS_ATOMIC_WEAK = 3,
	UVMP_ACCESS_ATOMIC_STRONG = 4,
	UVMP_ACCESS_NONE = 5 /* "no access"; also the number of accesses */
};

/* Rights on a page, each including those before it. */
enum uvmp_right {
	UVMP_RIGHT_NONE = 0,
	UVMP_RIGHT_READ = 1,
	UVMP_RIGHT_READ_WRITE = 2,
	UVMP_RIGHT_READ_WRITE_ATOMIC = 3
};

/* Parameters of one plugin, at most (plugin.h). */
#define UVMP_PLUGIN_VALUES_MAX 8u

/* Deterministic pseudo-random generator (xorshift64*, Vigna 2016). Returns the next 64 bits. `*state` belongs
 * to the caller; any value may seed it (a constant replaces 0). */
UVMP_API uint64_t uvmp_random_next(uint64_t *state);

/* A number in 0..bound-1 from the same generator, by remainder: the bias is below bound / 2^64. One draw per
 * call. If bound is 0, the result is 0, without a draw. */
UVMP_API uint64_t uvmp_random_below(uint64_t *state, uint64_t bound);

#ifdef __cplusplus
}
#endif
#endif
