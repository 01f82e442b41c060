/* The keys of a result. Keys are only ever added. */
#include "report_internal.h"

#define FIELD(name, text, unit)                                                                              \
	{                                                                                                    \
#name, text, offsetof(struct report, result.name), unit                                      \
	}

const struct field report_fields[REPORT_FIELDS] = {
	FIELD(memory_bytes, "GPU memory", AS_BYTES),
	FIELD(footprint_bytes, "managed footprint", AS_BYTES),
	FIELD(accesses, "page accesses", AS_COUNT),
	FIELD(pages_touched, "distinct pages touched", AS_COUNT),
	FIELD(faults_raw, "faults fetched", AS_COUNT),
	FIELD(faults_coalesced, "after coalescing", AS_COUNT),
	FIELD(duplicates, "duplicates", AS_COUNT),
	FIELD(batches, "fault batches", AS_COUNT),
	FIELD(replays, "replays", AS_COUNT),
	FIELD(far_faults, "far faults", AS_COUNT),
	FIELD(refaults, "refaults (page evicted before)", AS_COUNT),
	FIELD(cpu_faults, "faults of the CPU", AS_COUNT),
	FIELD(pages_migrated, "pages migrated in", AS_COUNT),
	FIELD(pages_prefetched, "prefetched (copied or zeroed)", AS_COUNT),
	FIELD(pages_prefetched_unused, "prefetched and never touched", AS_COUNT),
	FIELD(h2d_bytes, "moved to the GPU", AS_BYTES),
	FIELD(h2d_copies, "in copies", AS_COUNT),
	FIELD(h2d_least_bytes, NULL, AS_BYTES),
	FIELD(h2d_most_bytes, NULL, AS_BYTES),
	FIELD(d2h_bytes, "moved to the CPU", AS_BYTES),
	FIELD(d2h_copies, "in copies", AS_COUNT),
	FIELD(d2h_least_bytes, NULL, AS_BYTES),
	FIELD(d2h_most_bytes, NULL, AS_BYTES),
	FIELD(evictions, "evictions", AS_COUNT),
	FIELD(pages_evicted, "pages evicted", AS_COUNT),
	FIELD(pages_thrashed, "  of them refaulted", AS_COUNT),
	FIELD(remote_accesses, "accesses across the link", AS_COUNT),
};

#define TIME(name, text, unit)                                                                               \
	{                                                                                                    \
#name, text, offsetof(struct report, times.name), unit                                       \
	}

const struct field report_times[REPORT_TIMES] = {
	TIME(time_ns, "time", AS_TIME),
	TIME(fetch_ns, "driver: fetch faults", AS_TIME),
	TIME(order_ns, "driver: order faults", AS_TIME),
	TIME(service_ns, "driver: service blocks", AS_TIME),
	TIME(migrate_ns, "driver: migrate", AS_TIME),
	TIME(map_ns, "driver: map", AS_TIME),
	TIME(evict_ns, "driver: evict", AS_TIME),
	TIME(replay_ns, "driver: flush, replay, wait", AS_TIME),
	TIME(compute_ns, "GPU: some warp could run", AS_TIME),
	TIME(idle_ns, "driver: idle during kernels", AS_TIME),
	TIME(kernel_ns, "kernels, from launch to end", AS_TIME),
	TIME(cpu_ns, "program: CPU faults and calls", AS_TIME),
	TIME(tlb_hits, NULL, AS_COUNT),
	TIME(tlb_misses, NULL, AS_COUNT),
	TIME(l2_tlb_hits, NULL, AS_COUNT),
	TIME(l2_tlb_misses, NULL, AS_COUNT),
	TIME(remote_h2d_bytes, "loads across the link", AS_BYTES),
	TIME(remote_d2h_bytes, "stores across the link", AS_BYTES),
	TIME(context_switches, NULL, AS_COUNT),
	TIME(mshr_merged, NULL, AS_COUNT),
	TIME(mshr_stalled, NULL, AS_COUNT),
	TIME(faults_serviced, NULL, AS_COUNT),
	TIME(link_end_ns, NULL, AS_TIME),
};

const struct field report_spreads[REPORT_SPREADS] = {
	TIME(batch_ns, "  time, us", AS_TIME),
	TIME(handling_ns, "  until the first copy, us", AS_TIME),
	TIME(batch_faults, "  faults fetched", AS_COUNT),
	TIME(batch_pages, "  pages moved to the GPU", AS_COUNT),
	TIME(group_ns, NULL, AS_TIME),
	TIME(group_handling_ns, NULL, AS_TIME),
};

const struct field report_seeded[REPORT_SEEDED] = {
	TIME(time_ns, NULL, AS_TIME),	   FIELD(h2d_bytes, NULL, AS_BYTES), FIELD(d2h_bytes, NULL, AS_BYTES),
	FIELD(far_faults, NULL, AS_COUNT), FIELD(refaults, NULL, AS_COUNT),
};

const char *const report_rank_keys[RANKS] = {"least", "median", "most"};
const char *const report_statistic_keys[STATISTICS] = {"least", "median", "p90", "most", "mean"};

uint64_t report_value(const struct report *report, const struct field *field)
{
	uint64_t value;

	memcpy(&value, (const char *)report + field->offset, sizeof(value));
	return value;
}

uint64_t report_statistic(const struct report *report, const struct field *field, enum statistic statistic)
{
	const struct spread *spread =
		(const struct spread *)(const void *)((const char *)report + field->offset);

	switch (statistic) {
	case LEAST:
		return spread->least;
	case MEDIAN:
		return spread_percentile(spread, 50);
	case P90:
		return spread_percentile(spread, 90);
	case MOST:
		return spread->most;
	default:
		return spread_mean(spread);
	}
}
