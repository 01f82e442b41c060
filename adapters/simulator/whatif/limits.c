/* Which facts about other policies an input lacks. Each sentence says what is assumed instead, or which way the error goes. */
#include "whatif/whatif.h"

static bool lists_faults(const struct whatif_runs *runs)
{
	return runs->run[0].has_faults_only;
}

static bool has_both(const struct whatif_runs *runs)
{
	return lists_faults(runs) && runs->input->readings == 2;
}

static bool has_one(const struct whatif_runs *runs)
{
	return lists_faults(runs) && runs->input->readings == 1;
}

static bool has_no_memory(const struct whatif_runs *runs)
{
	return !runs->request->has_model && runs->request->memory.bytes == 0 &&
	       runs->request->memory.oversub_percent == 100;
}

static bool has_no_model(const struct whatif_runs *runs)
{
	return !runs->request->has_model;
}

static bool has_model_of_profile(const struct whatif_runs *runs)
{
	return runs->request->has_model && lists_faults(runs);
}

static bool is_profile(const struct whatif_runs *runs)
{
	return runs->input->told.is_profile;
}

static bool has_unknown_causes(const struct whatif_runs *runs)
{
	return runs->input->told.moved[IMPORT_TO_CPU][IMPORT_CAUSE_UNKNOWN].bytes > 0;
}

static const struct {
	bool (*applies)(const struct whatif_runs *runs);
	const char *text;
} limits[] = {
	{has_both, "Accesses to resident or prefetched pages are not in a profile. Each policy was run on "
		   "two readings: with the "
		   "pages that faulted (the least) and with all that migrated (the most)."},
	{has_one, "Accesses to resident or prefetched pages are not in it: hits, refaults and eviction by "
		  "use are not those of "
		  "the program, and policies that prefetch look better the more they bring."},
	{lists_faults, "How often a page was used while it was resident is not known: orders that count uses "
		       "see one for each "
		       "fault."},
	{is_profile, "Writes to pages that had faulted for a read, and allocations that were never touched, "
		     "are not known."},
	{has_unknown_causes,
	 "Copies to the CPU have no cause in it: they may be evictions, and count as no access of the CPU."},
	{has_model_of_profile,
	 "The time of computing is not in it: differences of the whole program are smaller than those "
	 "of the times here."},
	{has_no_model,
	 "Without --gpu cost is bytes that move; how long faults and copies take is not counted."},
	{has_no_memory,
	 "The size of GPU memory is not in it, and everything fits; --memory says how much there is."},
};

const char *whatif_limit(const struct whatif_runs *runs, size_t index)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].applies(runs) && index-- == 0)
			return limits[i].text;
	index = index < runs->input->told.notes ? index : SIZE_MAX;
	return index == SIZE_MAX ? NULL : runs->input->told.note[index];
}
