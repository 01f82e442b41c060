/* Back-propagation of Rodinia: one training step of a network of `n` inputs, 16 hidden units and one output,
 * as a program of managed memory (UVM Smart; SAND2022-1528, table 4-1). Rodinia allocates 13 arrays, of
 * which the two kernels use six.
 *
 * Both kernels have n / 16 thread blocks of 16 x 16 threads: thread (x, y) has the weight of input y + 1 and
 * hidden unit x + 1 of its block's 16 inputs. A warp is two rows, 2 * 16 weights with the weight of the
 * threshold unit between them. Forward: multiply, add up the 16 inputs by halving, store the weights' sums
 * and one partial sum per hidden unit. Adjust: weight += rate * delta * input + momentum * old change; the
 * change is computed a second time to be stored, from memory, for the compiler cannot know that the arrays
 * are apart. What a formula needs is loaded without waiting in between; forward, the inputs are in shared
 * memory before the weights are loaded.
 *
 * The CPU draws the input weights and copies them (the first kernel has the one, the second the other), draws
 * or clears the rest, and draws the inputs. Between the kernels it adds up the partial sums; hidden units,
 * output, both errors and the new hidden weights are its work alone. At the end it prints the inputs and the
 * second input weights.
 *
 * n=131056 is the run of the published logs (6785 pages demanded) and of the GTX 1080 Ti, n=18000 that of the
 * published access stream (934 pages), n=65536 the one of SAND2022-1528. */
#include "cpu.h"
#include "runs.h"

enum { N, CPU };
enum {
	INPUT_UNITS,
	HIDDEN_UNITS,
	OUTPUT_UNITS,
	HIDDEN_DELTA,
	OUTPUT_DELTA,
	TARGET,
	INPUT_WEIGHTS,
	INPUT_WEIGHTS2,
	HIDDEN_WEIGHTS,
	INPUT_CHANGES,
	HIDDEN_CHANGES,
	OUTPUT_HIDDEN,
	PARTIAL_SUM
};

#define SIDE        16u /* of a thread block; also the number of hidden units */
#define HIDDEN      SIDE
#define FLOAT_BYTES 4u

/* Instructions of a warp, counted in what nvcc makes of the kernels (PTX), a remainder as twenty: up to the first load;
 * around the barriers of the first kernel; a halving. The factors 0.3 are doubles: so both formulas of the second kernel
 * are fp64, conversions counted. */
#define LOAD_CODE      14u
#define LINK_CODE      9u
#define HALVING_CODE   34u
#define HALVINGS       4u /* log2 of SIDE */
#define WEIGHT_CODE    9u
#define WEIGHT_DOUBLES 9u
#define CHANGE_CODE    4u
#define CHANGE_DOUBLES 7u

static const char *backprop_check(const struct workload *workload)
{
	return workload->value[N] % SIDE != 0 ? "n is not a multiple of 16" : NULL;
}

/* The CPU writes it between the kernels, or (it does not work) has written it. */
static void add_made_by_cpu(struct workload *workload, const char *name, uint64_t bytes)
{
	if (workload->value[CPU] == CPU_NONE)
		workload_add_range(workload, name, bytes);
	else
		workload_add_fresh(workload, name, bytes);
}

static bool backprop_open(struct workload *workload)
{
	uint64_t in = workload->value[N], hidden = HIDDEN, out = 1;
	uint64_t input_weights = (in + 1) * (hidden + 1) * FLOAT_BYTES;
	uint64_t hidden_weights = (hidden + 1) * (out + 1) * FLOAT_BYTES, cpu = workload->value[CPU];

	cpu_add_input(workload, cpu, "input_units", (in + 1) * FLOAT_BYTES);
	workload_add_fresh(workload, "hidden_units", (hidden + 1) * FLOAT_BYTES);
	workload_add_fresh(workload, "output_units", (out + 1) * FLOAT_BYTES);
	add_made_by_cpu(workload, "hidden_delta", (hidden + 1) * FLOAT_BYTES);
	workload_add_fresh(workload, "output_delta", (out + 1) * FLOAT_BYTES);
	cpu_add_input(workload, cpu, "target", (out + 1) * FLOAT_BYTES);
	cpu_add_input(workload, cpu, "input_weights", input_weights);
	cpu_add_input(workload, cpu, "input_weights2", input_weights);
	cpu_add_input(workload, cpu, "hidden_weights", hidden_weights);
	cpu_add_input(workload, cpu, "input_prev_weights", input_weights);
	cpu_add_input(workload, cpu, "hidden_prev_weights", hidden_weights);
	workload_add_fresh(workload, "output_hidden", (hidden + 1) * FLOAT_BYTES);
	workload_add_fresh(workload, "hidden_partial_sum", in / SIDE * hidden * FLOAT_BYTES);
	return true;
}

static const struct cpu_use inputs[] = {
        {INPUT_WEIGHTS, UVMP_ACCESS_WRITE, 0},  {INPUT_WEIGHTS, UVMP_ACCESS_READ, 0},
        {INPUT_WEIGHTS2, UVMP_ACCESS_WRITE, 0}, {HIDDEN_WEIGHTS, UVMP_ACCESS_WRITE, 0},
        {INPUT_CHANGES, UVMP_ACCESS_WRITE, 0},  {HIDDEN_CHANGES, UVMP_ACCESS_WRITE, 0},
        {TARGET, UVMP_ACCESS_WRITE, 0},         {INPUT_UNITS, UVMP_ACCESS_WRITE, 0},
};

/* Between the kernels. */
static const struct cpu_use middle[] = {
        /* a hidden unit: its partial sums and the threshold unit's weight */
        {PARTIAL_SUM, UVMP_ACCESS_READ, 0},
        {INPUT_WEIGHTS, UVMP_ACCESS_READ, (HIDDEN + 1) * FLOAT_BYTES},
        {HIDDEN_UNITS, UVMP_ACCESS_WRITE, 0},
        /* the output from those */
        {HIDDEN_WEIGHTS, UVMP_ACCESS_READ, 0},
        {HIDDEN_UNITS, UVMP_ACCESS_READ, 0},
        {OUTPUT_UNITS, UVMP_ACCESS_WRITE, 0},
        /* its error, and that of the hidden units */
        {TARGET, UVMP_ACCESS_READ, 0},
        {OUTPUT_DELTA, UVMP_ACCESS_WRITE, 0},
        {HIDDEN_DELTA, UVMP_ACCESS_WRITE, 0},
        /* the hidden weights */
        {HIDDEN_CHANGES, UVMP_ACCESS_READ, 0},
        {HIDDEN_WEIGHTS, UVMP_ACCESS_WRITE, 0},
        {HIDDEN_CHANGES, UVMP_ACCESS_WRITE, 0},
};

static const struct cpu_use results[] = {{INPUT_UNITS, UVMP_ACCESS_READ, 0},
                                         {INPUT_WEIGHTS2, UVMP_ACCESS_READ, 0}};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool backprop_launch(struct workload *workload)
{
	uint64_t at = workload->ops, cpu = workload->value[CPU];
	bool is_working = cpu != CPU_NONE;

	if (cpu_inputs(workload, cpu, &at, inputs, COUNT(inputs)))
		return true;
	if (!cpu_is_within(&at, 1)) {
		if (is_working && cpu_uses(workload, &at, middle, COUNT(middle)))
			return true;
		if (!cpu_is_within(&at, 1))
			return is_working && cpu_uses(workload, &at, results, COUNT(results));
	}
	workload->kernel = workload->kernels_done == 0 ? "layerforward" : "adjust_weights";
	workload->blocks = workload->value[N] / SIDE;
	workload->warps = SIDE * SIDE / WORKLOAD_LANES;
	return true;
}

/* Floats [at, at + count) of an array. */
static void set_floats(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t at,
                       uint64_t count, enum uvmp_access access)
{
	runs_set_one(slot, workload->range[range].base, at, at + count, access);
}

/* The weights of the warp's two rows; between them lies one that is not asked for, on no page of its own. */
static void set_weights(struct workload *workload, struct workload_slot *slot, unsigned range, uint64_t input,
                        enum uvmp_access access)
{
	set_floats(workload, slot, range, input * (HIDDEN + 1) + 1, 2 * HIDDEN + 1, access);
}

static bool forward(struct workload *workload, struct workload_slot *slot, uint64_t input)
{
	switch (slot->step++) {
	case 0:
		return workload_set_code(slot, LOAD_CODE, 0, false);
	case 1: /* the first thread of each row */
		set_floats(workload, slot, INPUT_UNITS, input, 2, UVMP_ACCESS_READ);
		return true;
	case 2:
	case 4:
	case 7:
		return workload_set_code(slot, LINK_CODE, 0, true);
	case 3:
		set_weights(workload, slot, INPUT_WEIGHTS, input, UVMP_ACCESS_READ);
		slot->flops = WORKLOAD_LANES * (1 + 4); /* a product, four halvings */
		return true;
	case 5: /* the halvings */
		slot->step = slot->row + 1u < HALVINGS ? 5 : 6;
		slot->row++;
		return workload_set_code(slot, HALVING_CODE, 0, true);
	case 6:
		set_weights(workload, slot, INPUT_WEIGHTS, input, UVMP_ACCESS_WRITE);
		return workload_go_on_to_code(workload, slot);
	case 8:
		set_floats(workload, slot, PARTIAL_SUM, input - 1, 2, UVMP_ACCESS_WRITE);
		return true;
	default:
		return false;
	}
}

/* The weights of the threshold unit, behind the others. */
static bool adjust_threshold(struct workload *workload, struct workload_slot *slot)
{
	switch (slot->row++) {
	case 0:
	case 5:
		set_floats(workload, slot, HIDDEN_DELTA, 1, HIDDEN, UVMP_ACCESS_READ);
		return workload_go_on(slot);
	case 1:
		set_floats(workload, slot, INPUT_CHANGES, 1, HIDDEN, UVMP_ACCESS_READ);
		return workload_go_on(slot);
	case 2:
		set_floats(workload, slot, INPUT_WEIGHTS2, 1, HIDDEN, UVMP_ACCESS_READ);
		slot->flops = WORKLOAD_LANES * 4;
		return true;
	case 3:
		return workload_set_code(slot, WEIGHT_CODE, WEIGHT_DOUBLES, false);
	case 4:
		set_floats(workload, slot, INPUT_WEIGHTS2, 1, HIDDEN, UVMP_ACCESS_WRITE);
		return true;
	case 6:
		set_floats(workload, slot, INPUT_CHANGES, 1, HIDDEN, UVMP_ACCESS_READ);
		return true;
	case 7:
		return workload_set_code(slot, CHANGE_CODE, CHANGE_DOUBLES, false);
	case 8:
		set_floats(workload, slot, INPUT_CHANGES, 1, HIDDEN, UVMP_ACCESS_WRITE);
		return true;
	default:
		return false;
	}
}

/* The formula of the weights is computed a second time, for the change. */
static bool adjust_change(struct workload *workload, struct workload_slot *slot, uint64_t input, uint64_t step)
{
	switch (step) {
	case 0:
		set_weights(workload, slot, INPUT_CHANGES, input, UVMP_ACCESS_READ);
		slot->flops = WORKLOAD_LANES * 4;
		return true;
	case 1:
		return workload_set_code(slot, CHANGE_CODE, CHANGE_DOUBLES, false);
	case 2:
		set_weights(workload, slot, INPUT_CHANGES, input, UVMP_ACCESS_WRITE);
		return true;
	case 3:
		return workload_set_code(slot, 0, 0, true);
	default: /* the first row of all adjusts the threshold unit's weights */
		return slot->block == 0 && slot->warp == 0 && adjust_threshold(workload, slot);
	}
}

static bool adjust(struct workload *workload, struct workload_slot *slot, uint64_t input)
{
	uint64_t step = slot->step++;

	switch (step) {
	case 0:
		return workload_set_code(slot, LOAD_CODE, 0, false);
	case 1:
	case 7:
		set_floats(workload, slot, HIDDEN_DELTA, 1, HIDDEN, UVMP_ACCESS_READ);
		return workload_go_on(slot);
	case 2:
	case 8:
		set_floats(workload, slot, INPUT_UNITS, input, 2, UVMP_ACCESS_READ);
		return workload_go_on(slot);
	case 3:
		set_weights(workload, slot, INPUT_CHANGES, input, UVMP_ACCESS_READ);
		return workload_go_on(slot);
	case 4:
		set_weights(workload, slot, INPUT_WEIGHTS2, input, UVMP_ACCESS_READ);
		slot->flops = WORKLOAD_LANES * 5;
		return true;
	case 5:
		return workload_set_code(slot, WEIGHT_CODE, WEIGHT_DOUBLES, false);
	case 6:
		set_weights(workload, slot, INPUT_WEIGHTS2, input, UVMP_ACCESS_WRITE);
		return true;
	default:
		return adjust_change(workload, slot, input, step - 9);
	}
}

static bool backprop_span(struct workload *workload, struct workload_slot *slot)
{
	uint64_t input = slot->block * SIDE + slot->warp * 2u + 1;

	return workload->kernels_done == 0 ? forward(workload, slot, input) : adjust(workload, slot, input);
}

const struct workload_type workload_backprop = {
        .name = "backprop",
        .summary = "Rodinia: one training step of a neural network; published runs: n=131056, 65536, 18000",
        .param = {{"n", "input units, a multiple of 16", 16, 1 << 28, 1245184, false},
                  CPU_PARAM,
                  WORKLOAD_AGENTS},
        .check = backprop_check,
        .open = backprop_open,
        .launch = backprop_launch,
        .span = backprop_span,
};
