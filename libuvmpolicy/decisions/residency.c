/* Where a page resides and which processors may access it there [driver: read-duplication, residency-choice,
 * other-mappings, block-service].
 *
 * The destination comes from a table whose first matching row decides. The rows are tested here in their
 * order, in three parts: those that do not depend on the present residency of the page (1 to 6), the page
 * that is resident nowhere (7), and those that may leave the page where it is (8 to 12).
 *
 * Rights follow from the access. The requester gets more rights than it needs where that costs nothing: a
 * page that is read may also be mapped for writing if no processor loses atomics by it. A processor that
 * could then see a write or an atomic that its own hardware does not order with this access loses the right
 * to it. */
#include "uvmpolicy/residency.h"

#include "../base/bits_internal.h"
#include "../base/processor_internal.h"
#include "residency_internal.h"
#include "uvmpolicy/fault.h"

#define HAS(set, processor) (((set) >> (processor)&1u) != 0)

#define ACCESS_LIMIT    (1u << UVMP_ACCESS_NONE)
#define READ_ACCESSES   (1u << UVMP_ACCESS_PREFETCH | 1u << UVMP_ACCESS_READ)
#define ATOMIC_ACCESSES (1u << UVMP_ACCESS_ATOMIC_WEAK | 1u << UVMP_ACCESS_ATOMIC_STRONG)

static bool all_exist(const struct uvmp_processors *processors, uint64_t set)
{
	return (set & ~(~(uint64_t)0 >> (UVMP_PROCS_MAX - processors->count))) == 0;
}

bool uvmp_residency_can_duplicate(enum uvmp_read_duplication policy, bool is_duplicated, bool is_pinned)
{
	if (policy == UVMP_DUPLICATION_UNSET)
		return is_duplicated && !is_pinned;
	return policy == UVMP_DUPLICATION_ENABLED;
}

static bool facts_in_range(const struct uvmp_processors *processors, const struct uvmp_residency_facts *facts)
{
	return facts->requester < processors->count &&
	       is_optional_proc(facts->has_preferred, facts->preferred, processors->count) &&
	       is_optional_proc(facts->has_pin, facts->pin, processors->count) &&
	       all_exist(processors, facts->resident | facts->accessed_by) && facts->accesses != 0 &&
	       facts->accesses < ACCESS_LIMIT && facts->operation <= UVMP_OPERATION_ACCESS_COUNTER &&
	       facts->duplication <= UVMP_DUPLICATION_DISABLED;
}

static void decide(struct uvmp_residency_place *place, uint8_t row, uint32_t to)
{
	place->row = row;
	place->to = to;
}

static bool is_bound_to_system(const struct uvmp_residency_facts *facts)
{
	return facts->is_system_forced || (facts->is_hmm && (facts->is_hmm_system || facts->is_hmm_fixed));
}

/* Rows 1 to 6. False if none of them matches. */
static bool decide_by_policy(const struct uvmp_residency_facts *facts, struct uvmp_residency_place *place)
{
	if (is_bound_to_system(facts)) {
		decide(place, 1, UVMP_CPU);
	} else if (uvmp_residency_can_duplicate((enum uvmp_read_duplication)facts->duplication,
	                                        facts->is_duplicated, facts->has_pin)) {
		place->is_duplicate = (facts->accesses & ~READ_ACCESSES) == 0;
		decide(place, place->is_duplicate ? 2 : 3, facts->requester);
	} else if (facts->has_preferred && facts->requester == facts->preferred) {
		decide(place, 4, facts->requester);
	} else if (facts->is_hmm && facts->requester == UVMP_CPU) {
		decide(place, 5, UVMP_CPU);
	} else if (facts->has_pin) {
		decide(place, 6, facts->pin);
	} else {
		return false;
	}
	return true;
}

/* Atomics may go over the link: none of the accesses is weaker, and the holder's memory takes them. */
static bool stays_for_atomics(const struct uvmp_processors *processors,
                              const struct uvmp_residency_facts *facts, uint32_t nearest)
{
	return facts->maps_on_atomics && (facts->accesses & ~ATOMIC_ACCESSES) == 0 &&
	       facts->requester != UVMP_CPU && nearest != UVMP_CPU &&
	       HAS(processors->native_atomics[nearest], facts->requester);
}

/* Rows 7 to 12. */
static void decide_by_holder(const struct uvmp_processors *processors,
                             const struct uvmp_residency_facts *facts, struct uvmp_residency_place *place)
{
	uint32_t requester = facts->requester, nearest = place->nearest;
	uint64_t reach = processors->can_access[requester];
	bool reaches_preferred = facts->has_preferred && HAS(reach, facts->preferred);

	if (nearest == UVMP_PROC_NONE)
		decide(place, 7, reaches_preferred ? facts->preferred : requester);
	else if (HAS(facts->accessed_by, requester) && HAS(reach, nearest) &&
	         facts->operation != UVMP_OPERATION_ACCESS_COUNTER)
		decide(place, 8, nearest);
	else if (stays_for_atomics(processors, facts, nearest))
		decide(place, 9, nearest);
	else if (nearest != requester && reaches_preferred)
		decide(place, 10, facts->preferred);
	else if (facts->is_foreign && requester == UVMP_CPU && HAS(reach, nearest))
		decide(place, 11, nearest);
	else
		decide(place, 12, requester);
}

void uvmpi_residency_select(const struct uvmp_processors *processors, const struct uvmp_residency_facts *facts,
			    struct uvmp_residency_place *place)
{
	place->nearest = uvmpi_closest_processor(processors, facts->requester, facts->resident);
	place->is_duplicate = false;
	if (!decide_by_policy(facts, place))
		decide_by_holder(processors, facts, place);
	if (HAS(processors->no_memory, place->to)) {
		place->to = UVMP_CPU;
		place->is_duplicate = false;
	}
}

enum uvmp_status uvmp_residency_select(const struct uvmp_processors *processors,
				       const struct uvmp_residency_facts *facts,
				       struct uvmp_residency_place *place)
{
	if (facts == NULL || place == NULL || !uvmp_processors_is_valid(processors))
		return UVMP_ERR_ARGUMENT;
	if (!facts_in_range(processors, facts))
		return UVMP_ERR_RANGE;
	uvmpi_residency_select(processors, facts, place);
	return UVMP_OK;
}

int32_t uvmp_residency_node(const struct uvmp_residency_facts *facts, uint32_t to,
                            int32_t preferred_node, int32_t current_node)
{
	if (facts == NULL || facts->is_hmm)
		return UVMP_NODE_NONE;
	if (to != UVMP_CPU || (facts->has_preferred && facts->preferred == UVMP_CPU))
		return preferred_node;
	return HAS(facts->resident, UVMP_CPU) ? UVMP_NODE_NONE : current_node;
}

/* -- rights ---------------------------------------------------------------------------------- */

static bool map_facts_in_range(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts)
{
	return facts->requester < processors->count && facts->to < processors->count &&
	       is_optional_proc(facts->has_preferred, facts->preferred, processors->count) &&
	       all_exist(processors, facts->read | facts->accessed_by | facts->thrashing) &&
	       (facts->write & ~facts->read) == 0 && (facts->atomic & ~facts->write) == 0 &&
	       facts->access < UVMP_ACCESS_NONE && facts->right <= UVMP_RIGHT_READ_WRITE_ATOMIC &&
	       facts->duplication <= UVMP_DUPLICATION_DISABLED;
}

/* The right of the requester [driver: block-service]. */
static enum uvmp_right right_of_requester(const struct uvmp_processors *processors,
                                         const struct uvmp_map_facts *facts)
{
	uint64_t native = processors->native_atomics[facts->to];
	enum uvmp_right right = uvmp_access_right((enum uvmp_access)facts->access);
	bool may_duplicate =
	        !facts->is_hmm && uvmp_residency_can_duplicate((enum uvmp_read_duplication)facts->duplication,
	                                                       facts->is_duplicated, false);

	if (facts->right > UVMP_RIGHT_READ && right == UVMP_RIGHT_READ && !may_duplicate &&
	    (facts->atomic & ~native) == 0)
		right = UVMP_RIGHT_READ_WRITE;
	if (facts->right == UVMP_RIGHT_READ_WRITE_ATOMIC && right == UVMP_RIGHT_READ_WRITE &&
	    HAS(native, facts->requester))
		right = UVMP_RIGHT_READ_WRITE_ATOMIC;
	if (facts->access <= UVMP_ACCESS_READ && facts->is_discarded)
		right = UVMP_RIGHT_READ; /* a read does not end the discarded state */
	return right;
}

/* The processors that lose a right because the requester gets `right` [driver: block-service]. */
static void revoke(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts,
                   struct uvmp_map *map)
{
	uint64_t native = processors->native_atomics[facts->to];
	uint64_t spared = BIT(facts->requester);
	bool stops_writes = map->right == UVMP_RIGHT_READ_WRITE_ATOMIC && facts->requester != UVMP_CPU;

	map->victims = 0;
	map->left = UVMP_RIGHT_NONE;
	if (facts->has_migrated || map->right < UVMP_RIGHT_READ_WRITE)
		return;
	if (map->right == UVMP_RIGHT_READ_WRITE || HAS(native, facts->requester))
		spared |= native;
	map->victims = (stops_writes ? facts->write : facts->atomic) & ~spared;
	if (map->victims != 0)
		map->left = stops_writes ? UVMP_RIGHT_READ : UVMP_RIGHT_READ_WRITE;
}

/* [driver: other-mappings]: the processors that are mapped along with the requester. */
static uint64_t others_to_map(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts)
{
	uint64_t others = facts->is_integrated ? ~(uint64_t)0 : facts->accessed_by | facts->thrashing;

	if (facts->duplication == UVMP_DUPLICATION_ENABLED ||
	    (facts->duplication == UVMP_DUPLICATION_UNSET && facts->is_duplicated))
		return 0;
	others &= ~BIT(facts->requester);
	if (others == 0)
		return 0;
	others &= uvmpi_accessible_from(processors, facts->to);
	if (facts->has_preferred && facts->preferred != facts->to &&
	    !HAS(processors->no_memory, facts->preferred))
		others &= ~BIT(facts->preferred);
	return facts->is_cpu_barred ? others & ~BIT(UVMP_CPU) : others;
}

/* [driver: other-mappings]: the right. If the requester has no native atomics on the memory, its atomics
 * require that others lose their rights to the page; they must not get them back here. */
static void map_others(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts,
                       struct uvmp_map *map)
{
	uint64_t native = processors->native_atomics[facts->to];
	uint64_t others = others_to_map(processors, facts);
	uint8_t right = map->right;

	map->others_atomic = 0;
	if (right == UVMP_RIGHT_READ_WRITE_ATOMIC) {
		right = UVMP_RIGHT_READ_WRITE;
		if (HAS(native, facts->requester))
			map->others_atomic = others & native;
		else if (facts->requester != UVMP_CPU)
			right = UVMP_RIGHT_READ;
	}
	map->others = others & ~map->others_atomic;
	map->others_right = map->others != 0 ? right : (uint32_t)UVMP_RIGHT_NONE;
}

void uvmpi_residency_rights(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts,
			    struct uvmp_map *map)
{
	map->right = (uint8_t)right_of_requester(processors, facts);
	map->leaves_discarded = map->right >= UVMP_RIGHT_READ_WRITE;
	revoke(processors, facts, map);
	map_others(processors, facts, map);
}

enum uvmp_status uvmp_residency_map(const struct uvmp_processors *processors,
                                    const struct uvmp_map_facts *facts, struct uvmp_map *map)
{
	if (facts == NULL || map == NULL || !uvmp_processors_is_valid(processors))
		return UVMP_ERR_ARGUMENT;
	if (!map_facts_in_range(processors, facts))
		return UVMP_ERR_RANGE;
	if (uvmp_access_right((enum uvmp_access)facts->access) > (enum uvmp_right)facts->right)
		return UVMP_ERR_CONFLICT;
	uvmpi_residency_rights(processors, facts, map);
	return UVMP_OK;
}

enum uvmp_right uvmp_residency_map_levels(const uvmp_mask level[3], const uvmp_mask *pinned, bool quirks)
{
	if (level == NULL || pinned == NULL || !quirks)
		return UVMP_RIGHT_READ_WRITE_ATOMIC;
	for (uint32_t i = 0; i < 2; i++)
		if (!uvmp_mask_is_empty(&level[i]) && uvmp_mask_is_subset(&level[i], pinned))
			return (enum uvmp_right)(UVMP_RIGHT_READ + i); /* [driver: pinned-stops-mapping] */
	return UVMP_RIGHT_READ_WRITE_ATOMIC;
}
