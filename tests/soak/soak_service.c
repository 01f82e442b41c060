/* The engine beside its naive model for as long as is asked for: soak EVENTS [SEED [LEVELS]]. Prints what was
 * done; status 1 if the two differ. With UVMP_TRACE=FILE in the environment a failing case is told there.
 * `soak case SEED LEVEL` repeats one case as a failure names it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/service_case.h"

#define CASE_EVENTS 4000u

static int report_failure(uint64_t seed, enum service_case_level level, const char *error)
{
	const char *name = getenv("UVMP_TRACE");

	printf("seed 0x%" PRIx64 " level %d: %s\n", seed, (int)level, error);
	if (name != NULL) {
		static char again[8192];
		struct service_case_stats stats = {0};
		FILE *trace = fopen(name, "w");

		if (trace != NULL) {
			(void)service_case_run(seed, CASE_EVENTS, level, &stats, trace, again, sizeof(again));
			fprintf(trace, "%s\n", again);
			fclose(trace);
		}
	}
	return 1;
}

/* One kind: how often, and by cause. */
static void report_action(const struct service_case_stats *stats, enum uvmp_action_kind kind)
{
	uint64_t sum = 0;

	for (int cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
		sum += stats->action[kind][cause];
	printf("  %-9s %9" PRIu64, uvmp_action_name(kind), sum);
	for (int cause = 1; cause < UVMP_CAUSE_COUNT; cause++)
		if (stats->action[kind][cause] != 0)
			printf("  %s %" PRIu64, uvmp_cause_name((enum uvmp_cause)cause),
			       stats->action[kind][cause]);
	printf("\n");
}

static void report(const struct service_case_stats *stats, uint64_t cases, double seconds)
{
	printf("%" PRIu64 " events in %" PRIu64 " cases, %" PRIu64 " actions (%" PRIu64 " failed), %.1f s\n",
	       stats->events, cases, stats->actions, stats->failed, seconds);
	for (int i = 0; i < SERVICE_CASE_EVENTS; i++)
		printf("  %-11s %10" PRIu64 "  %4.1f %%\n",
		       service_case_event_name((enum service_case_event)i), stats->event[i],
		       100.0 * (double)stats->event[i] / (double)stats->events);
	printf("batches %" PRIu64
	       ", %.1f faults each; %.1f %% of them in bottom halves that evict; at most %" PRIu64
	       " groups without a DONE\n",
	       stats->batches, (double)stats->faults / (double)stats->batches,
	       100.0 * (double)stats->batches_evicting / (double)stats->batches, stats->groups_most);
	printf("withdrawn victims %" PRIu64 ": %" PRIu64 " stayed, %" PRIu64 " left as no other unit could\n", stats->withdrawn,
	       stats->returned, stats->refused);
	for (int i = 0; i < UVMP_ACTION_COMPLETE; i++)
		report_action(stats, (enum uvmp_action_kind)i);
}

int main(int argc, char **argv)
{
	static char error[8192];
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000u;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, cases = 0;
	int levels = argc > 3 ? atoi(argv[3]) : SERVICE_CASE_LEVELS;
	struct service_case_stats stats = {0};
	struct timespec begin, end;

	if (argc == 4 && strcmp(argv[1], "case") == 0) {
		enum service_case_level level = (enum service_case_level)atoi(argv[3]);

		return service_case_run(seed, CASE_EVENTS, level, &stats, NULL, error, sizeof(error))
		               ? 0
		               : report_failure(seed, level, error);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (; stats.events < events; cases++, seed++) {
		enum service_case_level level = (enum service_case_level)(cases % (uint64_t)levels);

		if (!service_case_run(seed * 0x9e3779b97f4a7c15u, CASE_EVENTS, level, &stats, NULL, error,
		                      sizeof(error))) {
			printf("after %" PRIu64 " events\n", stats.events);
			return report_failure(seed * 0x9e3779b97f4a7c15u, level, error);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	report(&stats, cases,
	       (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
	return 0;
}
