/* What the CPU of a benchmark does with managed memory: it writes the inputs, does its part between the
 * kernels and reads the results. */
#ifndef UVMSIM_CPU_H
#define UVMSIM_CPU_H

#include "workload.h"

/* The parameter, for programs whose CPU does anything. Without its writing the inputs are on the CPU from the
 * start, as other simulators take it. */
#define CPU_PARAM                                                                                            \
	{                                                                                                    \
		"cpu",                                                                                       \
		        "0: kernels only; 1: the CPU works between and after them, too; 2: and writes the "  \
		        "inputs first",                                                                      \
		        0, 2, CPU_WORKS, false                                                               \
	}
enum cpu_value { CPU_NONE, CPU_WORKS, CPU_WRITES_INPUTS };

/* The first `bytes` of a range, or (0) all of it. */
struct cpu_use {
	unsigned range;
	enum uvmp_access access;
	uint64_t bytes;
};

/* An array that the CPU writes before the first kernel. */
static inline void cpu_add_input(struct workload *workload, uint64_t cpu, const char *name, uint64_t bytes)
{
	if (cpu == CPU_WRITES_INPUTS)
		workload_add_fresh(workload, name, bytes);
	else
		workload_add_range(workload, name, bytes);
}

/* Is operation *at one of the next `count`? If not, *at goes behind them. */
static inline bool cpu_is_within(uint64_t *at, uint64_t count)
{
	if (*at < count)
		return true;
	*at -= count;
	return false;
}

/* The same for a list of uses, one of which is set. */
static inline bool cpu_uses(struct workload *workload, uint64_t *at, const struct cpu_use *use,
                            uint64_t count)
{
	const struct source_range *range;

	if (!cpu_is_within(at, count))
		return false;
	range = &workload->range[use[*at].range];
	workload_set_cpu(workload, range->base, use[*at].bytes != 0 ? use[*at].bytes : range->bytes,
	                 use[*at].access);
	return true;
}

/* The CPU writes the inputs, if it is to; *at is the number of the operation. */
static inline bool cpu_inputs(struct workload *workload, uint64_t cpu, uint64_t *at,
                              const struct cpu_use *use, uint64_t count)
{
	return cpu == CPU_WRITES_INPUTS && cpu_uses(workload, at, use, count);
}

/* The CPU reads a result at the end, if it is to. */
static inline bool cpu_result(struct workload *workload, uint64_t cpu, uint64_t at, unsigned range)
{
	const struct cpu_use use = {range, UVMP_ACCESS_READ, 0};

	return cpu != CPU_NONE && cpu_uses(workload, &at, &use, 1);
}

#endif
