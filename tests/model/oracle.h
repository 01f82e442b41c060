/* Generated cases whose answers by driver 595.45.04 are known as hashes.
 *
 * Each case is made from (seed, kind, number) by a fixed generator: splitmix64 for the draws, FNV-1a (64
 * bits) over the serialised answers. The library answers each case; equal hashes mean equal answers. The hash
 * files themselves are not part of this repository; tests/unit/test_oracle.c reads them where they lie beside
 * it. */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include <uvmpolicy/uvmpolicy.h>

/* Generator and hash of one run of cases. */
struct oracle {
	uint64_t state; /* of the generator */
	uint64_t sum;	/* hash of the answers so far */
};

#define ORACLE_EMPTY_SUM 0xCBF29CE484222325u /* FNV-1a of nothing */

/* -- draws -- */

/* Starts case `number` of kind `kind` (1..6) of `seed`; the hash is left alone. */
void oracle_begin(struct oracle *oracle, uint64_t seed, uint64_t kind, uint64_t number);
uint64_t oracle_next(struct oracle *oracle);
/* 0..bound-1. */
uint32_t oracle_below(struct oracle *oracle, uint32_t bound);
/* True with a probability of 1 in `bound`. */
bool oracle_one_in(struct oracle *oracle, uint32_t bound);
/* A set of pages of [first, end), in one of seven styles; it may be empty. */
void oracle_fill(struct oracle *oracle, uint32_t first, uint32_t end, uvmp_mask *mask);
void oracle_fill_not_empty(struct oracle *oracle, uint32_t first, uint32_t end, uvmp_mask *mask);
/* Two to eight processors and how they reach each other. */
void oracle_processors(struct oracle *oracle, struct uvmp_processors *processors);

/* -- answers -- */

/* Adds the low `bytes` bytes of value to the hash, least significant first. */
void oracle_put(struct oracle *oracle, uint64_t value, uint32_t bytes);
void oracle_put_mask(struct oracle *oracle, const uvmp_mask *mask);

/* -- what is asked -- */

/* The detector of one address space with ORACLE_BLOCKS blocks. */
#define ORACLE_BLOCKS 2u
struct oracle_detector {
	void (*begin)(const struct uvmp_thrash_params *params, const struct uvmp_processors *processors,
		      bool is_hmm, const uint32_t pages[ORACLE_BLOCKS]);
	void (*end)(void);
	enum uvmp_status (*migrate)(uint32_t block, const struct uvmp_thrash_migration *migration);
	enum uvmp_status (*revoke)(uint32_t block, struct uvmp_region region, uint32_t processor,
				   uint64_t now_ns);
	enum uvmp_status (*reset)(uint32_t block, struct uvmp_region region);
	enum uvmp_status (*unpin)(uint64_t now_ns); /* every page that is due */
	enum uvmp_status (*decide)(uint32_t block, const struct uvmp_thrash_facts *facts,
				   struct uvmp_thrash_hint *hint);
	const uvmp_mask *(*thrashing)(uint32_t block);
};

/* What answers the cases: the library, unless a test sets another one. */
struct oracle_subject {
	enum uvmp_status (*prefetch)(const struct uvmp_prefetch_params *params,
				     const struct uvmp_prefetch_facts *facts,
				     struct uvmp_prefetch_state *state, struct uvmp_prefetch_hint *hint);
	/* Sorts the indices 0..count-1 in order[]. */
	void (*order)(const struct uvmp_fault *fault, uint32_t *order, uint32_t count, bool is_by_instance);
	const struct oracle_detector *detector;
};
extern const struct oracle_subject *oracle_subject;
extern const struct oracle_subject oracle_library;
extern const struct oracle_detector oracle_library_detector;
void oracle_library_order(const struct uvmp_fault *fault, uint32_t *order, uint32_t count,
			  bool is_by_instance);

/* -- kinds: each draws one case, asks the subject and adds the answer to the hash; ats and residency always ask the
 * library -- */

struct oracle_kind {
	const char *name;
	uint64_t number;
	void (*answer)(struct oracle *oracle);
};

extern const struct oracle_kind oracle_kinds[]; /* up to a name that is NULL */

/* Hash over the answers to cases [first, first + count) of one seed. */
uint64_t oracle_hash(const struct oracle_kind *kind, uint64_t seed, uint64_t first, uint64_t count);

void oracle_density(struct oracle *oracle);
void oracle_hmm(struct oracle *oracle);
void oracle_ats(struct oracle *oracle);
void oracle_thrash(struct oracle *oracle);
void oracle_residency(struct oracle *oracle);
void oracle_order(struct oracle *oracle);

#endif
