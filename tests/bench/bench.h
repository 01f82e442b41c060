/* The frame of the bench: a case is a function of the library on inputs that a seed determines.
 *
 * A file bench_AREA.c holds the cases of one area in a table that ends with an empty entry; bench.c lists the
 * tables. A case prepares inputs, and calls the function that it measures in loops between bench_begin and
 * bench_end. bench.sh counts the instructions inside the function by callgrind; the frame measures the time of
 * the loops. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

struct bench_case {
	const char *name;     /* of the row; the instructions of the row are gated by baseline.csv */
	const char *function; /* counted by callgrind, callees included; exported or noinline */
	uint32_t units;	      /* that one call of `function` handles: figures are per unit */
	uint32_t original;    /* instructions per unit of the original code (docs/performance.md); 0: not known */
	uint32_t budget;      /* instructions per unit; 0: none */
	uint32_t budget_ns;   /* per unit; 0: none */
	uint32_t calls;	      /* of `function` in a run; 0: 2000 */
	/* Lower bound: a function that reads the same inputs and writes the same outputs once, called by `run`
	 * as often as `function`, outside of bench_begin and bench_end; NULL: none. */
	const char *floor;
	const char *unit; /* "decision", "fault", ... */
	const char *text; /* what is measured; without '|' and ',' */
	void (*run)(unsigned long calls);
};

/* Tables of cases: the last entry has no name. */
extern const struct bench_case bench_prefetch_cases[], bench_faults_cases[], bench_thrash_cases[],
        bench_evict_cases[], bench_engine_cases[], bench_batches_cases[];

/* Around each loop of measured calls. The inputs are prepared before bench_begin. The instructions before the
 * first bench_begin of a run are executed without callgrind's counting, which is four times as fast. */
void bench_begin(void);
void bench_end(void);

/* A random number below `bound`; the seed of the run determines the sequence. */
uint32_t bench_draw(uint32_t bound);
uint64_t bench_draw_long(uint64_t bound);

/* Ends the program with status 1 and names the case, if a call failed. */
void bench_check(int is_ok);

/* Aligned memory; ends the program if malloc fails. free() releases it. */
void *bench_memory(size_t bytes);

/* bench_zipf.c: writes the cache trace; the program's exit status. */
int bench_write_zipf(const char *name);

/* bench_engine.c: memory that engines need. */
void bench_print_arena(void);
void bench_print_state(void);

/* bench_orders.c: so many rounds of four touches and one eviction, with that much memory full. Exit status. */
int bench_orders(const char *name, unsigned long reserve, uint64_t bytes, unsigned long times);

#endif
