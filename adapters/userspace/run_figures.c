/* Consistent copies of what the processes of a run publish in shared memory, and their sums. */
#include "run_figures.h"

#include <inttypes.h>
#include <string.h>

#define COLUMN(name)                                                                                         \
	{                                                                                                    \
#name, offsetof(struct uvmp_pager_stats, name), false                                        \
	}
const struct run_column run_columns[] = {
	{"peak_managed_bytes", offsetof(struct uvmp_pager_stats, peak_managed_bytes), true},
	COLUMN(faults),
	COLUMN(duplicates),
	COLUMN(write_faults),
	COLUMN(batches),
	COLUMN(replays),
	COLUMN(bytes_in),
	COLUMN(copies_in),
	COLUMN(bytes_zeroed),
	COLUMN(bytes_out),
	COLUMN(copies_out),
	COLUMN(bytes_dropped),
	COLUMN(evictions),
	COLUMN(managed_bytes),
	COLUMN(resident_bytes),
	COLUMN(store_bytes),
	COLUMN(stall_ns),
	COLUMN(service_ns),
	COLUMN(waited_ns),
	COLUMN(thrash_ns),
	COLUMN(thrash_waited_ns),
	COLUMN(thrash_bytes),
	{"peak_resident_bytes", offsetof(struct uvmp_pager_stats, peak_resident_bytes), true},
	{"peak_store_bytes", offsetof(struct uvmp_pager_stats, peak_store_bytes), true},
};
const size_t run_columns_count = sizeof(run_columns) / sizeof(run_columns[0]);

uint64_t run_figure(const struct run_column *column, const struct uvmp_pager_stats *stats)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)stats + column->offset, sizeof(value));
	return value;
}

uint32_t run_slots(const struct run_shared *shared)
{
	uint32_t slots = __atomic_load_n(&shared->slots, __ATOMIC_ACQUIRE);

	return slots < RUN_PROCESSES ? slots : RUN_PROCESSES;
}

uint32_t run_slots_beyond(const struct run_shared *shared)
{
	return shared->slots > RUN_PROCESSES ? shared->slots - RUN_PROCESSES : 0;
}

bool run_has_used(const struct uvmp_pager_stats *stats)
{
	return stats->faults != 0;
}

uint32_t run_read(const struct run_shared *shared, struct uvmp_pager_stats stats[RUN_PROCESSES], bool is_last)
{
	uint32_t slots = run_slots(shared);

	for (uint32_t i = 0; i < slots; i++) {
		struct uvmp_pager_stats now;

		if (uvmp_pager_read_stats(&shared->slot[i].stats, &now) || is_last)
			stats[i] = now;
	}
	return slots;
}

static void add(struct uvmp_pager_stats *sum, const struct uvmp_pager_stats *one)
{
	for (size_t c = 0; c < run_columns_count; c++) {
		uint64_t value = run_figure(&run_columns[c], sum), more = run_figure(&run_columns[c], one);

		if (!run_columns[c].is_greatest)
			value += more;
		else if (value < more)
			value = more;
		memcpy((uint8_t *)sum + run_columns[c].offset, &value, sizeof(value));
	}
	if (sum->store_error == 0)
		sum->store_error = one->store_error;
}

uint32_t run_sum(const struct uvmp_pager_stats *stats, uint32_t slots, struct uvmp_pager_stats *sum)
{
	uint32_t used = 0;

	*sum = (struct uvmp_pager_stats){0};
	for (uint32_t i = 0; i < slots; i++) {
		used += run_has_used(&stats[i]);
		add(sum, &stats[i]);
	}
	return used;
}

struct run_size_text run_size(uint64_t bytes)
{
	static const char unit[][4] = {"B", "KiB", "MiB", "GiB", "TiB"};
	uint64_t tenths = bytes * 10u;
	struct run_size_text to;
	unsigned i = 0;

	for (; i < 4 && tenths >= 10240u; i++)
		tenths /= 1024u;
	if (i == 0)
		snprintf(to.text, sizeof(to.text), "%" PRIu64 " B", bytes);
	else
		snprintf(to.text, sizeof(to.text), "%" PRIu64 ".%" PRIu64 " %s", tenths / 10u, tenths % 10u,
			 unit[i]);
	return to;
}
