/* adapters/nvidia-uvm: the victim among root chunks, and the order of a batch of faults, over the mock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uvmp_nv.h"

#define CHUNKS 8u
#define FAULTS 300u

static uvm_gpu_t gpu, other;
static uvm_gpu_root_chunk_t root[CHUNKS], other_root[CHUNKS];
static bool is_pinned[CHUNKS];
static uvm_va_block_t block;

static void make_empty(struct list_head *list)
{
	list->next = list->prev = list;
}

static void make_gpu(uvm_gpu_t *to, NvU32 id, uvm_gpu_root_chunk_t *array)
{
	memset(to, 0, sizeof(*to));
	to->id.val = id;
	to->pmm.root_chunks.count = CHUNKS;
	to->pmm.root_chunks.array = array;
	for (uint32_t i = 0; i < UVM_PMM_ALLOC_LIST_COUNT; i++)
		make_empty(&to->pmm.root_chunks.alloc_list[i]);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		memset(&array[i], 0, sizeof(array[i]));
		array[i].chunk.address = i * UVM_CHUNK_SIZE_MAX;
		array[i].chunk.state = UVM_PMM_GPU_CHUNK_STATE_ALLOCATED;
		array[i].chunk.list.next = &to->pmm.root_chunks.alloc_list[UVM_PMM_ALLOC_LIST_USED];
	}
}

static void begin(const char *policy, bool is_shadow)
{
	mock_reset();
	memset(is_pinned, 0, sizeof(is_pinned));
	make_gpu(&gpu, 65, root);
	make_gpu(&other, 1, other_root);
	if (mock_load(policy, is_shadow) != NV_OK)
		fail_msg("%s", mock.log);
	assert_int_equal(__wrap_uvm_pmm_gpu_init(&gpu.pmm), NV_OK);
	assert_int_equal(__wrap_uvm_pmm_gpu_init(&other.pmm), NV_OK);
}

static void finish(void)
{
	__wrap_uvm_pmm_gpu_deinit(&gpu.pmm);
	__wrap_uvm_pmm_gpu_deinit(&other.pmm);
	mock_exit();
}

static void allocate(uint32_t unit)
{
	__wrap_uvm_pmm_gpu_unpin_allocated(&gpu.pmm, &root[unit].chunk, &block);
}

static void use(uint32_t unit)
{
	__wrap_uvm_pmm_gpu_mark_root_chunk_used(&gpu.pmm, &root[unit].chunk);
}

static bool is_evictable(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	return pmm == &gpu.pmm && !is_pinned[chunk->address / UVM_CHUNK_SIZE_MAX];
}

/* The number of the victim where the driver has chosen `driver`. */
static uint32_t victim(uint32_t driver)
{
	return (uint32_t)(uvmp_nv_victim(&gpu.pmm, &root[driver].chunk, is_evictable)->address /
			  UVM_CHUNK_SIZE_MAX);
}

static struct uvmp_nv_count counted(enum uvmp_nv_kind kind)
{
	struct uvmp_nv_count count;

	uvmp_nv_counts_get(kind, &count);
	return count;
}

/* -- victims -- */

static void test_least_recently_used(void **state)
{
	(void)state;
	begin("evict=lru2m", false);
	for (uint32_t i = 0; i < 4; i++)
		allocate(i);
	use(0);
	__wrap_uvm_pmm_gpu_mark_root_chunk_used(&other.pmm, &other_root[1].chunk); /* each GPU has an order */
	assert_int_equal(victim(3), 1);
	assert_int_equal(victim(3), 2);
	assert_int_equal(victim(0), 3);
	assert_int_equal(victim(3), 0);
	assert_int_equal(counted(UVMP_NV_EVICT).decisions, 4);
	assert_int_equal(victim(5), 5); /* the order knows no more */
	assert_int_equal(counted(UVMP_NV_EVICT).left, 1);
	assert_int_equal(mock.real_marks, 6);
	finish();
}

static void test_least_often_used(void **state)
{
	(void)state;
	begin("evict=lfu2m", false);
	for (uint32_t i = 0; i < 3; i++)
		allocate(i);
	use(0);
	use(0);
	use(1);
	assert_int_equal(victim(0), 2);
	allocate(2);
	use(2);
	use(2);
	assert_int_equal(victim(0), 1);
	/* other data in chunk 0, which was freed: its former uses do not count */
	allocate(1);
	use(1);
	allocate(0);
	assert_int_equal(victim(2), 0);
	allocate(0);
	assert_int_equal(victim(2), 0);
	allocate(0);
	use(0);
	use(0);
	assert_int_equal(victim(2), 1);
	/* a smaller chunk leaves the uses of its root */
	allocate(1);
	use(1);
	use(1);
	root[1].chunk.bytes = 0x10000;
	allocate(1);
	assert_int_equal(victim(0), 2);
	finish();
}

static void test_reserve(void **state)
{
	(void)state;
	begin("evict=lru2m reserve=50", false);
	for (uint32_t i = 0; i < 8; i++)
		allocate(i);
	assert_int_equal(victim(0), 4);
	finish();
}

/* Chunks change without the order: such victims are passed over. */
static void test_chunks_that_may_not_go(void **state)
{
	(void)state;
	begin("evict=lru2m", false);
	for (uint32_t i = 0; i < 8; i++)
		allocate(i);
	is_pinned[0] = true;
	root[1].chunk.state = UVM_PMM_GPU_CHUNK_STATE_PMA_OWNED;
	root[2].chunk.state = UVM_PMM_GPU_CHUNK_STATE_FREE;
	root[3].chunk.is_kernel = true;
	make_empty(&root[4].chunk.list);
	root[5].chunk.state = UVM_PMM_GPU_CHUNK_STATE_IS_SPLIT;
	assert_int_equal(victim(7), 5);
	is_pinned[0] = false;
	use(0); /* in the order again */
	assert_int_equal(victim(7), 6);
	assert_int_equal(victim(7), 7);
	assert_int_equal(victim(7), 0);
	finish();
}

/* The driver's unused and discarded chunks go first; they leave the order. */
static void test_unused_chunks(void **state)
{
	struct list_head *unused, *discarded;

	(void)state;
	begin("evict=lru2m", false);
	unused = &gpu.pmm.root_chunks.alloc_list[UVM_PMM_ALLOC_LIST_UNUSED];
	discarded = &gpu.pmm.root_chunks.alloc_list[UVM_PMM_ALLOC_LIST_DISCARDED];
	for (uint32_t i = 0; i < 4; i++)
		allocate(i);
	__wrap_uvm_pmm_gpu_mark_root_chunk_unused(&gpu.pmm, &root[2].chunk);
	unused->next = &root[2].chunk.list;
	assert_int_equal(victim(2), 2);
	make_empty(unused);
	__wrap_uvm_pmm_gpu_mark_root_chunk_discarded(&gpu.pmm, &root[0].chunk);
	discarded->next = &root[3].chunk.list;
	assert_int_equal(victim(3), 3);
	make_empty(discarded);
	assert_int_equal(counted(UVMP_NV_EVICT).decisions, 0);
	assert_int_equal(victim(0), 1);
	assert_int_equal(victim(0), 0); /* discarded: not in the order */
	assert_null(uvmp_nv_victim(&gpu.pmm, NULL, is_evictable));
	finish();
}

static void test_the_drivers_order(void **state)
{
	(void)state;
	begin("evict=lru", false);
	allocate(1);
	allocate(2);
	__wrap_uvm_pmm_gpu_mark_root_chunk_unused(&gpu.pmm, &root[2].chunk);
	assert_int_equal(victim(2), 2);
	assert_int_equal(counted(UVMP_NV_EVICT).decisions + counted(UVMP_NV_EVICT).left, 0);
	finish();
	begin("", false);
	allocate(1);
	assert_int_equal(victim(2), 2);
	finish();
}

static void test_gpus_without_an_order(void **state)
{
	(void)state;
	begin("evict=lru2m", false);
	__wrap_uvm_pmm_gpu_deinit(&gpu.pmm);
	mock.fail_allocation = 1;
	assert_int_equal(__wrap_uvm_pmm_gpu_init(&gpu.pmm), NV_OK); /* no memory: the driver's order */
	allocate(1);
	assert_int_equal(victim(2), 2);
	mock.real_status = NV_ERR_NO_MEMORY;
	assert_int_equal(__wrap_uvm_pmm_gpu_init(&gpu.pmm), NV_ERR_NO_MEMORY);
	mock.real_status = NV_OK;
	gpu.pmm.root_chunks.count = 0; /* a GPU without memory */
	assert_int_equal(__wrap_uvm_pmm_gpu_init(&gpu.pmm), NV_OK);
	finish();
}

static void test_shadow_of_victims(void **state)
{
	struct seq_file file = {.length = 0};

	(void)state;
	begin("evict=lru2m", true);
	for (uint32_t i = 0; i < 4; i++)
		allocate(i);
	assert_int_equal(victim(0), 0);
	assert_int_equal(counted(UVMP_NV_EVICT).different, 0);
	assert_int_equal(victim(3), 3); /* the driver's stands, and leaves the order */
	assert_int_equal(counted(UVMP_NV_EVICT).different, 1);
	assert_int_equal(victim(1), 1);
	assert_int_equal(victim(2), 2);
	assert_int_equal(counted(UVMP_NV_EVICT).different, 1);
	assert_int_equal(counted(UVMP_NV_EVICT).decisions, 4);
	mock.counts->show(&file, NULL);
	assert_non_null(strstr(file.text, "chunk 0x600000 of the driver, 0x200000 of the library"));
	finish();
}

/* -- order of faults -- */

static uvm_parent_gpu_t parent = {{9}}; /* the ninth */
static uvm_va_space_t spaces[2];
static uvm_fault_buffer_entry_t entry[FAULTS];
static uvm_fault_buffer_entry_t *fault[FAULTS];

static int by_page(const void *a, const void *b)
{
	const uvm_fault_buffer_entry_t *x = *(uvm_fault_buffer_entry_t *const *)a;
	const uvm_fault_buffer_entry_t *y = *(uvm_fault_buffer_entry_t *const *)b;
	const NvU64 key[2][4] = {{(uintptr_t)x->va_space, x->gpu != NULL ? x->gpu->id.val : 0,
				  x->fault_address, 5u - x->fault_access_type},
				 {(uintptr_t)y->va_space, y->gpu != NULL ? y->gpu->id.val : 0,
				  y->fault_address, 5u - y->fault_access_type}};

	for (uint32_t i = 0; i < 4; i++)
		if (key[0][i] != key[1][i])
			return key[0][i] < key[1][i] ? -1 : 1;
	return 0;
}

static int by_instance(const void *a, const void *b)
{
	const uvm_fault_buffer_entry_t *x = *(uvm_fault_buffer_entry_t *const *)a;
	const uvm_fault_buffer_entry_t *y = *(uvm_fault_buffer_entry_t *const *)b;

	if (x->instance_ptr.aperture != y->instance_ptr.aperture)
		return x->instance_ptr.aperture < y->instance_ptr.aperture ? -1 : 1;
	if (x->instance_ptr.address != y->instance_ptr.address)
		return x->instance_ptr.address < y->instance_ptr.address ? -1 : 1;
	return x->fault_source.ve_id - y->fault_source.ve_id;
}

static int backwards(const void *a, const void *b)
{
	return by_page(b, a);
}

static void draw_faults(uint64_t seed)
{
	static const uvm_aperture_t apertures[] = {UVM_APERTURE_PEER_0, UVM_APERTURE_PEER_7, UVM_APERTURE_SYS,
						   UVM_APERTURE_SYS_NON_COHERENT, UVM_APERTURE_VID};

	for (uint32_t i = 0; i < FAULTS; i++) {
		uvm_fault_buffer_entry_t *e = &entry[i];

		memset(e, 0, sizeof(*e));
		e->fault_address = 0x7f0000000000u + PAGE_SIZE * uvmp_random_below(&seed, 60);
		e->instance_ptr.address = 4096 * uvmp_random_below(&seed, 3);
		e->instance_ptr.aperture = apertures[uvmp_random_below(&seed, 5)];
		e->fault_source.ve_id = (NvU8)uvmp_random_below(&seed, 3);
		e->fault_access_type = (uvm_fault_access_type_t)uvmp_random_below(&seed, 5);
		e->va_space = &spaces[uvmp_random_below(&seed, 2)];
		e->gpu = uvmp_random_below(&seed, 3) == 0   ? NULL
			 : uvmp_random_below(&seed, 2) == 0 ? &gpu
							    : &other;
		e->mark = i;
		fault[i] = e;
	}
}

static bool is_sorted(uint32_t count, int (*compare)(const void *, const void *), bool is_stable)
{
	for (uint32_t i = 1; i < count; i++) {
		int result = compare(&fault[i - 1], &fault[i]);

		if (result > 0 || (result == 0 && is_stable && fault[i - 1]->mark > fault[i]->mark))
			return false;
	}
	return true;
}

static void test_order(void **state)
{
	(void)state;
	begin("nvidia-595", false);
	for (uint64_t seed = 1; seed < 6; seed++) {
		draw_faults(seed);
		uvmp_nv_sort(&parent, fault, FAULTS, UVMP_NV_BY_INSTANCE, by_instance);
		assert_true(is_sorted(FAULTS, by_instance, true));
		draw_faults(seed);
		uvmp_nv_sort(&parent, fault, FAULTS, UVMP_NV_BY_PAGE, by_page);
		assert_true(is_sorted(FAULTS, by_page, true));
	}
	assert_int_equal(counted(UVMP_NV_ORDER).decisions, 10);
	finish();
}

/* Memory for a batch grows; without it the driver's sort orders. */
static void test_order_and_memory(void **state)
{
	int allocations;

	(void)state;
	begin("nvidia-595", false);
	allocations = mock.allocations;
	for (int i = 1; i <= 4; i++) {
		mock.fail_allocation = i;
		draw_faults(7);
		uvmp_nv_sort(&parent, fault, 10, UVMP_NV_BY_PAGE, by_page);
		assert_true(is_sorted(10, by_page, false));
		assert_int_equal(mock.allocations, allocations);
	}
	assert_int_equal(counted(UVMP_NV_ORDER).left, 4);
	mock.fail_allocation = 0;
	uvmp_nv_sort(&parent, fault, 10, UVMP_NV_BY_PAGE, by_page);
	uvmp_nv_sort(&parent, fault, 9, UVMP_NV_BY_PAGE, by_page);
	assert_int_equal(mock.allocations, allocations + 4);
	uvmp_nv_sort(&parent, fault, FAULTS, UVMP_NV_BY_PAGE, by_page);
	assert_int_equal(mock.allocations, allocations + 4);
	assert_true(is_sorted(FAULTS, by_page, false));
	finish();
	begin("", false);
	draw_faults(7);
	uvmp_nv_sort(&parent, fault, FAULTS, UVMP_NV_BY_PAGE, backwards);
	assert_true(is_sorted(FAULTS, backwards, false));
	finish();
}

static void test_shadow_of_order(void **state)
{
	(void)state;
	begin("nvidia-595", true);
	draw_faults(8);
	uvmp_nv_sort(&parent, fault, FAULTS, UVMP_NV_BY_PAGE, by_page);
	assert_true(is_sorted(FAULTS, by_page, false));
	assert_int_equal(counted(UVMP_NV_ORDER).different, 0);
	uvmp_nv_sort(&parent, fault, FAULTS, UVMP_NV_BY_INSTANCE, by_instance);
	assert_int_equal(counted(UVMP_NV_ORDER).different, 0);
	uvmp_nv_sort(&parent, fault, FAULTS, UVMP_NV_BY_PAGE, backwards); /* a driver with another order */
	assert_true(is_sorted(FAULTS, backwards, false));
	assert_int_equal(counted(UVMP_NV_ORDER).different, 1);
	assert_int_equal(counted(UVMP_NV_ORDER).decisions, 3);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_recently_used),
		cmocka_unit_test(test_least_often_used),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_chunks_that_may_not_go),
		cmocka_unit_test(test_unused_chunks),
		cmocka_unit_test(test_the_drivers_order),
		cmocka_unit_test(test_gpus_without_an_order),
		cmocka_unit_test(test_shadow_of_victims),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_and_memory),
		cmocka_unit_test(test_shadow_of_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
