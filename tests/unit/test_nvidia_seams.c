/* adapters/nvidia-uvm/uvmp_nv_seams.h: what its macros make of code in the driver's files. The functions here have the
 * names that the macros look for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UVMP_NV_SEAM_PMM
#define UVMP_NV_SEAM_FAULTS
#include "uvmp_nv_seams.h"

static uvm_gpu_t gpu;
static uvm_gpu_root_chunk_t root[3];

static void begin(const char *policy, bool is_shadow)
{
	mock_reset();
	assert_int_equal(mock_load(policy, is_shadow), NV_OK);
}

/* -- the choice of a victim -- */

static bool chunk_is_evictable(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	assert_ptr_equal(pmm, &gpu.pmm);
	return chunk != &root[1].chunk;
}

static uvm_gpu_chunk_t *get_first_allocated_chunk(uvm_pmm_gpu_t *pmm)
{
	return &pmm->root_chunks.array[0].chunk;
}

static uvm_gpu_chunk_t *pick(uvm_pmm_gpu_t *pmm)
{
	uvm_gpu_chunk_t *chunk = NULL;

	if (!chunk)
		chunk = get_first_allocated_chunk(pmm);
	return chunk;
}

static void test_victim(void **state)
{
	(void)state;
	for (int is_shadow = 0; is_shadow < 2; is_shadow++) {
		begin("evict=lru2m", is_shadow);
		gpu.id.val = 9;
		gpu.pmm.root_chunks.count = ARRAY_SIZE(root);
		gpu.pmm.root_chunks.array = root;
		for (uint32_t i = 0; i < UVM_PMM_ALLOC_LIST_COUNT; i++)
			gpu.pmm.root_chunks.alloc_list[i].next = &gpu.pmm.root_chunks.alloc_list[i];
		assert_int_equal(__wrap_uvm_pmm_gpu_init(&gpu.pmm), NV_OK);
		for (uint32_t i = 1; i <= 3; i++) {
			uvm_gpu_chunk_t *chunk = &root[i % 3].chunk;

			*chunk = (uvm_gpu_chunk_t){.address = i % 3 * UVM_CHUNK_SIZE_MAX,
						   .state = UVM_PMM_GPU_CHUNK_STATE_ALLOCATED,
						   .list = {&gpu.pmm.root_chunks.alloc_list[0], NULL}};
			__wrap_uvm_pmm_gpu_unpin_allocated(&gpu.pmm, chunk, NULL);
		}
		/* chunk 1 is the oldest, but may not be evicted */
		assert_ptr_equal(pick(&gpu.pmm), is_shadow ? &root[0].chunk : &root[2].chunk);
		__wrap_uvm_pmm_gpu_deinit(&gpu.pmm);
		mock_exit();
	}
}

/* -- the sorts of a batch -- */

static int cmp_sort_fault_entry_by_instance_ptr(const void *a, const void *b)
{
	const uvm_fault_buffer_entry_t *x = *(uvm_fault_buffer_entry_t *const *)a;
	const uvm_fault_buffer_entry_t *y = *(uvm_fault_buffer_entry_t *const *)b;

	return (x->instance_ptr.address > y->instance_ptr.address) -
	       (x->instance_ptr.address < y->instance_ptr.address);
}

static int cmp_sort_fault_entry_by_va_space_gpu_address_access_type(const void *a, const void *b)
{
	const uvm_fault_buffer_entry_t *x = *(uvm_fault_buffer_entry_t *const *)a;
	const uvm_fault_buffer_entry_t *y = *(uvm_fault_buffer_entry_t *const *)b;

	return (x->fault_address > y->fault_address) - (x->fault_address < y->fault_address);
}

static void order(uvm_parent_gpu_t *parent_gpu, uvm_fault_buffer_entry_t **faults, size_t count, bool is_by_instance)
{
	if (is_by_instance)
		sort(faults, count, sizeof(*faults), cmp_sort_fault_entry_by_instance_ptr, NULL);
	else
		sort(faults, count, sizeof(*faults), cmp_sort_fault_entry_by_va_space_gpu_address_access_type, NULL);
}

static void test_sorts(void **state)
{
	uvm_fault_buffer_entry_t entry[2] = {{.fault_address = 4096, .instance_ptr = {.address = 8192}},
					     {.fault_address = 8192, .instance_ptr = {.address = 4096}}};
	uvm_fault_buffer_entry_t *faults[2] = {&entry[0], &entry[1]};
	uvm_parent_gpu_t parent = {{1}};
	struct uvmp_nv_count count;

	(void)state;
	for (int is_shadow = 0; is_shadow < 2; is_shadow++) {
		begin("nvidia-595", is_shadow);
		order(&parent, faults, 2, true);
		assert_ptr_equal(faults[0], &entry[1]);
		order(&parent, faults, 2, false);
		assert_ptr_equal(faults[0], &entry[0]);
		uvmp_nv_counts_get(UVMP_NV_ORDER, &count);
		assert_int_equal(count.decisions, 2);
		assert_int_equal(count.different, 0);
		mock_exit();
	}
}

/* -- the detector's clock -- */

#define UVMP_NV_SEAM_CLOCK
#undef NV_GETTIME
#include "uvmp_nv_seams.h"

static NvU64 read_time(uvm_va_space_t *va_space)
{
	return NV_GETTIME();
}

static void test_clock(void **state)
{
	static uvm_va_space_t va_space;
	const NvU32 none = 0;

	(void)state;
	begin("nvidia-595", true);
	mock_space_open(&va_space, &none);
	(void)uvmp_nv_read_clock(uvmp_nv_space_of(&va_space));
	mock.now_ns += 7;
	assert_int_equal(read_time(&va_space), mock.now_ns - 7);
	assert_int_equal(read_time(&va_space), mock.now_ns);
	mock_space_close(&va_space);
	mock_exit();
}

/* -- the names that the linker wraps -- */

static uint32_t find(const char *const *name, uint32_t names, const char *wanted)
{
	uint32_t i = 0;

	while (i < names && strcmp(name[i], wanted) != 0)
		i++;
	return i;
}

/* Each name once. */
static void test_names(void **state)
{
#define NAME(name) #name,
	static const char *const names[] = {UVMP_NV_SEAMS(NAME)};

	(void)state;
	assert_int_equal(ARRAY_SIZE(names), 20);
	for (uint32_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(find(names, ARRAY_SIZE(names), names[i]), i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_victim),
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
