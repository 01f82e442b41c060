/* The numeric keys of models of GPUs, with their limits; model_internal.h. */
#include "model_internal.h"

#include <string.h>

#define ANY_FIELD(key, min, max, is_optional)                                                                \
	{                                                                                                    \
#key, offsetof(struct model, key), sizeof(((struct model *)0)->key) == 8, min, max,          \
			is_optional                                                                          \
	}
#define FIELD(key, min, max) ANY_FIELD(key, min, max, false)
#define COST(key)	     FIELD(key, 0, 1000000000)

const struct model_field model_field[] = {
	FIELD(sms, 1, 1024),
	FIELD(warps_per_sm, 1, 256),
	FIELD(blocks_per_sm, 1, 256),
	FIELD(context_bytes, 0, 65536),
	FIELD(sms_per_utlb, 1, 64),
	FIELD(utlb_entries, 1, MODEL_UTLB_ENTRIES_MAX),
	FIELD(utlb_faults, 1, 65536),
	FIELD(l2_tlb_entries, 1, 1048576),
	FIELD(tlb_entry_bytes, 4096, 2097152),
	FIELD(walk_ns, 0, 1000000),
	FIELD(l2_tlb_ns, 0, 1000000),
	FIELD(tlb_shootdown, MODEL_SHOOTDOWN_ENTRY, MODEL_SHOOTDOWN_WHOLE),
	FIELD(clock_mhz, 1, 100000),
	FIELD(gflops, 1, 100000000),
	ANY_FIELD(gflops_64, 0, 100000000, true),
	ANY_FIELD(executes_code, 0, 1, true),
	FIELD(memory_bytes, 2097152, UINT64_C(1) << 44),
	FIELD(memory_mb_s, 1024, 1000000000),
	FIELD(memory_latency_ns, 1, 1000000),
	ANY_FIELD(memory_spread_ns, 0, 1000000, true),
	FIELD(remote_latency_ns, 0, 1000000),
	FIELD(page_bytes, 4096, 65536),
	FIELD(fault_entries, 32, 65536),
	FIELD(fault_write_ns, 0, 1000000),
	FIELD(fault_burst_ns, 1, 1000),
	FIELD(mshr_entries, 0, 1048576),
	ANY_FIELD(lock_holds, 0, 1, true),
	ANY_FIELD(utlb_merges, 0, 1, true),
	COST(replay_ns),
	COST(launch_ns),
	COST(interrupt_ns),
	COST(wakeup_ns),
	COST(batch_ns),
	COST(fetch_ns),
	COST(order_ns),
	COST(fault_ns),
	ANY_FIELD(skip_ns, 0, 1000000000, true),
	COST(block_ns),
	COST(page_ns),
	COST(alloc_ns),
	FIELD(alloc_roots, 1, 65536),
	FIELD(zero_mb_s, 1, 1000000000),
	COST(unmap_ns),
	COST(unmap_page_ns),
	COST(copy_ns),
	COST(map_ns),
	COST(map_page_ns),
	COST(evict_ns),
	COST(replay_push_ns),
	COST(flush_ns),
	COST(flush_entry_ns),
	COST(cpu_fault_ns),
	COST(prefetch_call_ns),
	COST(prefetch_defer_ns),
	FIELD(sync_frees, 0, 1),
	ANY_FIELD(counts_units, 0, 1, true),
	ANY_FIELD(has_ats, 0, 1, true),
	ANY_FIELD(lacks_counters, 0, 1, true),
	ANY_FIELD(range_bytes, 0, 2097152, true),
	ANY_FIELD(remote_miss_ns, 0, 1000000, true),
	ANY_FIELD(coalesces, 0, 1, true),
	ANY_FIELD(maps_copies, 0, 1, true),
	ANY_FIELD(pipelines_copies, 0, 1, true),
	ANY_FIELD(cycle_batches, 0, 1, true),
	ANY_FIELD(waits_to_evict, 0, 1, true),
	ANY_FIELD(frees_at_start, 0, 1, true),
	ANY_FIELD(queues_copies, 0, 1, true),
	ANY_FIELD(holds_memory, 0, 1, true),
	ANY_FIELD(lists_arrivals, 0, 1, true),
	ANY_FIELD(retires_idle, 0, 1, true),
	ANY_FIELD(keeps_faults, 0, 1, true),
	ANY_FIELD(data_on_cpu, 0, 1, true),
	ANY_FIELD(rounds_ranges, 0, 1, true),
};

const size_t model_fields = sizeof(model_field) / sizeof(model_field[0]);
_Static_assert(sizeof(model_field) / sizeof(model_field[0]) <= MODEL_FIELDS_MAX, "a parse has a line for each key");

const struct model_field *model_find_field(const char *key)
{
	for (size_t i = 0; i < model_fields; i++)
		if (strcmp(model_field[i].key, key) == 0)
			return &model_field[i];
	return NULL;
}

uint32_t *model_value(struct model *model, const struct model_field *field)
{
	return (uint32_t *)(void *)((char *)model + field->at);
}

bool model_field_has_range(const struct model_field *field)
{
	return !field->is_wide && field->max > 1 && field->at != offsetof(struct model, tlb_shootdown) &&
	       field->at != offsetof(struct model, page_bytes) &&
	       field->at != offsetof(struct model, tlb_entry_bytes);
}
