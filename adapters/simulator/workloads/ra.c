/* Random access, after the random updates of the HPC Challenge (GUPS), as UVM Smart's `ra` does them with
 * managed memory: arrays input, output and table of n floats. One kernel with a thread per element, 256 to a
 * block; every 100th thread (`stride`) reads its input, which is a random number, and with it selects the
 * element of the table that it reads and that of the output that it writes.
 *
 * The CPU writes input and table and prints output.
 *
 * The random number of a thread is computed from the seed and its number. n=1048576 are the published logs.
 */
#include "uvmpolicy/base.h"
#include "cpu.h"
#include "runs.h"

enum { ELEMENTS, STRIDE, CPU };
enum { INPUT, OUTPUT, TABLE };

#define THREADS     256u
#define FLOAT_BYTES 4u

static bool ra_open(struct workload *workload)
{
	uint64_t bytes = workload->value[ELEMENTS] * FLOAT_BYTES, cpu = workload->value[CPU];

	cpu_add_input(workload, cpu, "input", bytes);
	workload_add_fresh(workload, "output", bytes);
	cpu_add_input(workload, cpu, "table", bytes);
	return true;
}

static bool ra_launch(struct workload *workload)
{
	static const struct cpu_use inputs[] = {{INPUT, UVMP_ACCESS_WRITE, 0}, {TABLE, UVMP_ACCESS_WRITE, 0}};
	uint64_t at = workload->ops, cpu = workload->value[CPU];

	if (cpu_inputs(workload, cpu, &at, inputs, 2))
		return true;
	if (!cpu_is_within(&at, 1))
		return cpu_result(workload, cpu, at, OUTPUT);
	workload->kernel = "kernel";
	workload->blocks = workload_ceil_div(workload->value[ELEMENTS], THREADS);
	workload->warps = THREADS / WORKLOAD_LANES;
	return true;
}

static uint64_t index_of(const struct workload *workload, uint64_t thread)
{
	uint64_t state = workload->random ^ (thread + 1) * 0x9e3779b97f4a7c15u;

	return uvmp_random_below(&state, workload->value[ELEMENTS]);
}

static bool ra_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t stride = workload->value[STRIDE], elements = workload->value[ELEMENTS];
	uint64_t thread = slot->block * THREADS + slot->warp * WORKLOAD_LANES, end = thread + WORKLOAD_LANES;
	uint64_t array = workload->range[slot->step == 1 ? TABLE : OUTPUT].base, step = slot->step++;
	uint32_t lanes = 0;

	if (end > elements)
		end = elements;
	thread = workload_ceil_div(thread, stride) * stride;
	if (thread >= end || step == 3)
		return false;
	if (step == 0) {
		runs_set_one(slot, workload->range[INPUT].base, thread,
		             thread + (end - 1 - thread) / stride * stride + 1, UVMP_ACCESS_READ);
		return true;
	}
	for (; thread < end; thread += stride)
		slot->lane[lanes++] = array + index_of(workload, thread) * FLOAT_BYTES;
	workload_set_lanes(slot, lanes, FLOAT_BYTES, step == 1 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE);
	slot->flops = step == 1 ? 4 * WORKLOAD_LANES : 0;
	return true;
}

const struct workload_type workload_ra = {
        .name = "ra",
        .summary = "random access (HPC Challenge) as in UVM Smart; published run: n=1048576",
        .param = {{"n", "elements of each array", 1, (uint64_t)1 << 36, 21 << 20, false},
                  {"stride", "only every N-th thread works; 1: all", 1, 1000000, 100, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .open = ra_open,
        .launch = ra_launch,
        .span = ra_span,
};
