/* The order of a batch of replayable faults, in place of the driver's two calls of the kernel's sort(): by
 * instance, and by VA space, GPU, page and access. Faults that are equal keep the order in which they arrived,
 * which sort() leaves open.
 *
 * One bottom half at a time services a parent GPU, under its service lock. */
#include "uvmp_nv.h"

_Static_assert((int)UVM_FAULT_ACCESS_TYPE_PREFETCH == (int)UVMP_ACCESS_PREFETCH &&
		       (int)UVM_FAULT_ACCESS_TYPE_READ == (int)UVMP_ACCESS_READ &&
		       (int)UVM_FAULT_ACCESS_TYPE_WRITE == (int)UVMP_ACCESS_WRITE &&
		       (int)UVM_FAULT_ACCESS_TYPE_ATOMIC_WEAK == (int)UVMP_ACCESS_ATOMIC_WEAK &&
		       (int)UVM_FAULT_ACCESS_TYPE_ATOMIC_STRONG == (int)UVMP_ACCESS_ATOMIC_STRONG,
	       "accesses have the same numbers");

/* Memory for a batch of one parent GPU. */
struct batch {
	uint32_t capacity;
	struct uvmp_fault *fault;
	uvm_fault_buffer_entry_t **arrived; /* [capacity]: in the order of arrival */
	uint64_t *scratch;
	uint32_t *order;
};

static struct batch batches[UVM_PARENT_ID_MAX_GPUS];

static void free_batch(struct batch *batch)
{
	uvm_kvfree(batch->fault);
	uvm_kvfree(batch->arrived);
	uvm_kvfree(batch->scratch);
	uvm_kvfree(batch->order);
	memset(batch, 0, sizeof(*batch));
}

static bool make_batch(struct batch *batch, uint32_t capacity)
{
	free_batch(batch);
	batch->fault = uvm_kvmalloc_zero(capacity * sizeof(*batch->fault));
	batch->arrived = uvm_kvmalloc(capacity * sizeof(*batch->arrived));
	batch->scratch = uvm_kvmalloc(UVMP_FAULT_ORDER_WORDS((size_t)capacity) * sizeof(*batch->scratch));
	batch->order = uvm_kvmalloc(capacity * sizeof(*batch->order));
	if (batch->fault == NULL || batch->arrived == NULL || batch->scratch == NULL ||
	    batch->order == NULL) {
		free_batch(batch);
		return false;
	}
	batch->capacity = capacity;
	return true;
}

void uvmp_nv_order_exit(void)
{
	for (uint32_t i = 0; i < UVM_PARENT_ID_MAX_GPUS; i++)
		free_batch(&batches[i]);
}

/* By name: numbers behind SYS may differ between versions of the driver. */
static uint32_t aperture_of(uvm_aperture_t aperture)
{
	switch (aperture) {
	case UVM_APERTURE_SYS:
		return UVMP_APERTURE_SYS;
	case UVM_APERTURE_SYS_NON_COHERENT:
		return UVMP_APERTURE_SYS_NON_COHERENT;
	case UVM_APERTURE_VID:
		return UVMP_APERTURE_VID;
	default: /* peers */
		return (uint32_t)aperture;
	}
}

static void read_fault(const uvm_fault_buffer_entry_t *entry, struct uvmp_fault *fault)
{
	fault->address = entry->fault_address;
	fault->instance = entry->instance_ptr.address;
	fault->aperture = aperture_of(entry->instance_ptr.aperture);
	fault->subcontext = entry->fault_source.ve_id;
	fault->access = (uint8_t)entry->fault_access_type;
	fault->va_space = (uintptr_t)entry->va_space;
	fault->gpu = entry->gpu != NULL ? uvm_id_value(entry->gpu->id) : 0;
}

static void order_batch(struct batch *batch, uvm_fault_buffer_entry_t **fault, uint32_t count,
			enum uvmp_nv_order order)
{
	for (uint32_t i = 0; i < count; i++) {
		batch->arrived[i] = fault[i];
		batch->order[i] = i;
		read_fault(fault[i], &batch->fault[i]);
	}
	if (order == UVMP_NV_BY_INSTANCE)
		uvmp_fault_order_by_instance(batch->fault, batch->order, count, batch->scratch);
	else
		uvmp_fault_order(batch->fault, batch->order, count, batch->scratch);
}

/* Ties may fall either way in the driver's order. */
static void compare_orders(const struct batch *batch, uvm_fault_buffer_entry_t **fault, uint32_t count,
			   int (*compare)(const void *, const void *))
{
	for (uint32_t i = 0; i < count; i++) {
		if (compare(&fault[i], &batch->arrived[batch->order[i]]) == 0)
			continue;
		uvmp_nv_differs(UVMP_NV_ORDER, "fault %u of %u: 0x%llx of the driver, 0x%llx of the library",
				i, count, (unsigned long long)fault[i]->fault_address,
				(unsigned long long)batch->arrived[batch->order[i]]->fault_address);
		return;
	}
}

void uvmp_nv_sort(uvm_parent_gpu_t *parent_gpu, uvm_fault_buffer_entry_t **fault, size_t count,
		  enum uvmp_nv_order order, int (*compare)(const void *, const void *))
{
	struct batch *batch = &batches[uvm_parent_id_gpu_index(parent_gpu->id)];
	uint32_t faults = (uint32_t)count;
	bool is_decided;

	is_decided = uvmp_nv.mode != UVMP_NV_OFF && (faults <= batch->capacity || make_batch(batch, faults));
	if (is_decided) {
		order_batch(batch, fault, faults, order);
		uvmp_nv_decided(UVMP_NV_ORDER);
	} else if (uvmp_nv.mode != UVMP_NV_OFF) {
		uvmp_nv_left(UVMP_NV_ORDER);
	}
	if (is_decided && uvmp_nv.mode == UVMP_NV_DECIDE) {
		for (uint32_t i = 0; i < faults; i++)
			fault[i] = batch->arrived[batch->order[i]];
		return;
	}
	sort(fault, count, sizeof(*fault), compare, NULL);
	if (is_decided)
		compare_orders(batch, fault, faults, compare);
}
