/* How one fault may be serviced: the first steps of the walk over a block and the permission table [driver:
 * batch-walk, block-walk, permission-check].
 *
 * A verdict depends on the entry before it in the walk. The most intrusive access of a page precedes the
 * others, so once it is serviced, the other faults of the page need no service. If it was cancelled, the next
 * one is judged separately. */
#include "fault_internal.h"

#define ACCESS_MASK_ALL ((1u << UVMP_ACCESS_NONE) - 1u)

enum uvmp_right uvmp_access_right(enum uvmp_access access)
{
	return (uint32_t)access < UVMP_ACCESS_NONE ? uvmpi_access_right(access) : UVMP_RIGHT_NONE;
}

static void refuse(struct uvmp_fault_verdict *verdict, enum uvmp_cancel_mode mode)
{
	verdict->is_fatal = true;
	verdict->cancel_mode = mode;
}

/* Accesses that a representative stands for. A host that does not fetch leaves 0: its own alone. */
static uint32_t accesses_of(const struct uvmp_fault *fault)
{
	return fault->access_mask != 0 ? fault->access_mask : 1u << fault->access;
}

/* The permission table [driver: permission-check]: what the entry is serviced as, UVMP_ACCESS_NONE for
 * nothing. Marks the verdict. An address that no range holds [driver: batch-walk] grants no access,
 * independent of merged accesses. */
static enum uvmp_access check_permission(const struct uvmp_fault *fault, const struct uvmp_fault_facts *facts,
                                         struct uvmp_fault_verdict *verdict)
{
	enum uvmp_access access = (enum uvmp_access)fault->access;
	enum uvmp_right right = facts->is_unmapped ? UVMP_RIGHT_NONE : facts->right;
	bool has_read = (accesses_of(fault) & 1u << UVMP_ACCESS_READ) != 0;

	if (uvmpi_access_right(access) <= right)
		return access;
	if (access == UVMP_ACCESS_PREFETCH) {
		if (!facts->is_retry) {
			verdict->is_invalid_prefetch = true;
			verdict->invalid_prefetches = uvmpi_fault_instances(fault);
		}
		return UVMP_ACCESS_NONE;
	}
	/* A page that may not even be read refuses reads and all that came merged with them. */
	if (facts->is_unmapped || (has_read && right < UVMP_RIGHT_READ)) {
		refuse(verdict, UVMP_CANCEL_ALL);
		return UVMP_ACCESS_NONE;
	}
	refuse(verdict, UVMP_CANCEL_WRITE_AND_ATOMIC);
	return has_read ? UVMP_ACCESS_READ : UVMP_ACCESS_NONE;
}

static void judge(const struct uvmp_fault *fault, const struct uvmp_fault_facts *facts,
                  struct uvmp_fault_verdict *verdict)
{
	enum uvmp_access access = check_permission(fault, facts, verdict);

	if (access == UVMP_ACCESS_NONE)
		return;
	if (uvmpi_access_right(access) <= facts->mapped) {
		verdict->is_already_mapped = true;
		return;
	}
	verdict->service_access = access;
	verdict->service_mask = (uint8_t)(access == fault->access ? accesses_of(fault) : 1u << access);
}

/* A representative's set of accesses holds its own. */
static bool fault_is_in_range(const struct uvmp_fault *fault)
{
	return fault->access < UVMP_ACCESS_NONE && fault->access_mask <= ACCESS_MASK_ALL &&
	       (accesses_of(fault) >> fault->access & 1u) != 0;
}

enum uvmp_status uvmp_fault_classify(const struct uvmp_fault *fault, const struct uvmp_fault_facts *facts,
                                     const struct uvmp_fault *previous,
                                     const struct uvmp_fault_verdict *previous_verdict,
                                     struct uvmp_fault_verdict *verdict)
{
	struct uvmp_fault_verdict v = {.cancel_mode = UVMP_CANCEL_ALL, .service_access = UVMP_ACCESS_NONE};

	if (fault == NULL || facts == NULL || verdict == NULL ||
	    (previous == NULL) != (previous_verdict == NULL))
		return UVMP_ERR_ARGUMENT;
	if (!fault_is_in_range(fault) || (uint32_t)facts->right > UVMP_RIGHT_READ_WRITE_ATOMIC ||
	    (uint32_t)facts->mapped > UVMP_RIGHT_READ_WRITE_ATOMIC)
		return UVMP_ERR_RANGE;

	v.is_fatal = fault->is_fatal;
	v.is_duplicate = previous != NULL && uvmpi_fault_is_same_page(previous, fault);
	if (v.is_duplicate) {
		v.is_invalid_prefetch = previous_verdict->is_invalid_prefetch;
		v.is_throttled = previous_verdict->is_throttled;
	}
	if (!v.is_duplicate || previous_verdict->is_fatal)
		judge(fault, facts, &v);
	*verdict = v;
	return UVMP_OK;
}
