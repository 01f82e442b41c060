/* Verdicts: each run of a policy is compared with the run of the first policy that has the same reading, and the same
 * seed or constants. */
#include "whatif/whatif.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Sorts the values. */
static struct whatif_spread spread_of(uint64_t *value, size_t count)
{
	if (count == 0)
		return (struct whatif_spread){0, 0, 0};
	qsort(value, count, sizeof(*value), by_value);
	return (struct whatif_spread){value[0], value[(count - 1u) / 2u], value[count - 1u]};
}

enum value { COST = 0, TO_GPU, TO_CPU, FAR_FAULTS, ABOVE, VALUES };

/* a / b in thousandths. */
static uint64_t permille(uint64_t a, uint64_t b)
{
	if (b == 0)
		return a == 0 ? 1000 : UINT64_MAX;
	return a > UINT64_MAX / 1000u ? a / (b / 1000u + (b < 1000u)) : a * 1000u / b;
}

static uint64_t cost(const struct whatif_runs *runs, const struct whatif_run *run)
{
	return runs->request->has_model ? run->time_ns : run->result.h2d_bytes + run->result.d2h_bytes;
}

/* Bytes to the GPU above Belady's optimum, if they are. */
static uint64_t above(const struct whatif_run *run, const struct whatif_run *bound)
{
	uint64_t least = bound->bound.level[0].h2d_bytes;

	return permille(run->result.h2d_bytes > least ? run->result.h2d_bytes - least : 0, least);
}

static uint64_t value_of(const struct whatif_runs *runs, enum value which, size_t reading,
			 const struct whatif_run *run)
{
	switch (which) {
	case COST:
		return cost(runs, run);
	case TO_GPU:
		return run->result.h2d_bytes;
	case TO_CPU:
		return run->result.d2h_bytes;
	case FAR_FAULTS:
		return run->result.far_faults;
	case ABOVE:
	case VALUES:
		break;
	}
	return above(run, whatif_bound_of(runs, reading));
}

static struct whatif_spread spread_of_value(const struct whatif_runs *runs, size_t policy, enum value which,
					    uint64_t *room)
{
	size_t count = 0;

	for (size_t reading = 0; reading < runs->input->readings; reading++)
		for (size_t repeat = 0; repeat < runs->repeats; repeat++)
			room[count++] =
				value_of(runs, which, reading, whatif_run_of(runs, reading, policy, repeat));
	return spread_of(room, count);
}

static void compare(const struct whatif_runs *runs, struct whatif_verdict *verdict, uint64_t *room)
{
	for (size_t reading = 0; reading < runs->input->readings; reading++) {
		for (size_t repeat = 0; repeat < runs->repeats; repeat++) {
			uint64_t mine = cost(runs, whatif_run_of(runs, reading, verdict->policy, repeat));
			uint64_t base = cost(runs, whatif_run_of(runs, reading, 0, repeat));

			verdict->better += mine < base;
			verdict->worse += mine > base;
			room[verdict->pairs++] = permille(mine, base);
		}
	}
	verdict->permille = spread_of(room, verdict->pairs);
}

static const char *error_of(const struct whatif_runs *runs, size_t policy)
{
	for (size_t reading = 0; reading < runs->input->readings; reading++) {
		for (size_t repeat = 0; repeat < runs->repeats; repeat++) {
			const struct whatif_run *run = whatif_run_of(runs, reading, policy, repeat);

			if (!run->is_complete)
				return run->error[0] != '\0' ? run->error : "was not run";
		}
	}
	return NULL;
}

const char *whatif_judgement(const struct whatif_verdict *verdict)
{
	if (verdict->better == verdict->pairs)
		return "better";
	if (verdict->worse == verdict->pairs)
		return "worse";
	return verdict->better == 0 && verdict->worse == 0 ? "equal" : "not certain";
}

/* The best first: by the median against the baseline, then in the order of the policies. Those that failed come last. */
static int by_rank(const void *a, const void *b)
{
	const struct whatif_verdict *left = a, *right = b;

	if ((left->error != NULL) != (right->error != NULL))
		return left->error ? 1 : -1;
	if (left->permille.median != right->permille.median)
		return left->permille.median < right->permille.median ? -1 : 1;
	return left->policy < right->policy ? -1 : left->policy > right->policy;
}

struct whatif_verdict *whatif_judge(const struct whatif_runs *runs)
{
	size_t policies = runs->request->policies.count;
	struct whatif_verdict *verdict = calloc(policies, sizeof(*verdict));
	uint64_t *room = calloc(runs->input->readings * runs->repeats, sizeof(*room));

	for (size_t i = 0; verdict && room && i < policies; i++) {
		verdict[i].policy = i;
		verdict[i].error = error_of(runs, i);
		if (verdict[i].error)
			continue;
		compare(runs, &verdict[i], room);
		verdict[i].cost = spread_of_value(runs, i, COST, room);
		verdict[i].to_gpu = spread_of_value(runs, i, TO_GPU, room);
		verdict[i].to_cpu = spread_of_value(runs, i, TO_CPU, room);
		verdict[i].far_faults = spread_of_value(runs, i, FAR_FAULTS, room);
		verdict[i].above = spread_of_value(runs, i, ABOVE, room);
	}
	if (verdict && room)
		qsort(verdict, policies, sizeof(*verdict), by_rank);
	if (!room) {
		free(verdict);
		verdict = NULL;
	}
	free(room);
	return verdict;
}
