/* The driver's answers to generated cases, through adapters/nvidia-uvm: each case becomes a block, a VA space or a
 * batch of the mock, the adapter's seams answer, and the answers are compared by their hashes (tests/model/oracle.h,
 * as in test_oracle). The worked cases need nothing else; the files ../shared/oracle/KIND.hash are not part of the
 * repository. Where they are absent that part is skipped, visibly. Of each file every UVMP_ORACLE_STEPth line of 1,000
 * cases is replayed (default 100; 1: all). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

#include "model/oracle.h"
#include "uvmp_nv.h"

#define CASES_A_LINE 1000u
#define NOW_NS	     1000000u

static uvm_va_space_t va_space;
static uvm_va_range_managed_t range[ORACLE_BLOCKS];
static uvm_va_block_t block[ORACLE_BLOCKS];
static uvm_va_block_context_t context = {.hmm = {.vma = (struct vm_area_struct *)(void *)&mock}};
static NvU32 id_of[UVMP_PROCS_MAX + 1u]; /* of processor n of the case; its last is no processor */

static uvm_processor_id_t id(uint32_t processor)
{
	return (uvm_processor_id_t){id_of[processor]};
}

static uint32_t number_of(uvm_processor_id_t wanted)
{
	uint32_t number = 0;

	while (id_of[number] != wanted.val)
		number++;
	return number;
}

static void start(void)
{
	mock_reset();
	if (mock_load("nvidia-595", false) != NV_OK)
		fail_msg("%s", mock.log);
	for (uint32_t i = 0; i <= UVMP_PROCS_MAX; i++)
		id_of[i] = UVM_ID_MAX_PROCESSORS;
	id_of[0] = 0;
}

static void copy_mask(uvm_page_mask_t *to, const uvmp_mask *from)
{
	if (from != NULL)
		memcpy(to, from, sizeof(*to));
	else
		memset(to, 0, sizeof(*to));
}

/* -- prefetch: all 63 GPUs, ids 1, 5, ... 249 -- */

static void open_space_of_63(void)
{
	const NvU32 none = 0;

	start();
	mock_space_open(&va_space, &none);
	for (uint32_t i = 1; i < UVMP_PROCS_MAX; i++) {
		id_of[i] = 4u * i - 3u;
		mock_register(&va_space, id_of[i]);
	}
}

/* Whether no page of the block is resident: also where the case says otherwise, the destination may hold none. */
static void fill_block(const struct uvmp_prefetch_facts *facts, uvm_page_mask_t *on_gpu)
{
	mock_block(&block[0], &va_space, facts->is_hmm ? NULL : &range[0], facts->block.start,
		   facts->block.pages);
	(facts->is_hmm ? &block[0].policy : &range[0].policy)->preferred_location = id(facts->preferred);
	block[0].prefetchable = (uvm_va_block_region_t){(uvm_page_index_t)facts->max_region.first,
							(uvm_page_index_t)facts->max_region.end};
	if (!facts->is_first_touch)
		uvm_processor_mask_set(&block[0].resident, UVM_ID_CPU);
	g_uvm_global.conf_computing_enabled = facts->is_confidential;
	if (facts->to == UVMP_CPU) {
		copy_mask(&block[0].cpu.resident, facts->resident);
		copy_mask(&block[0].cpu.pte_bits[UVM_PTE_BITS_CPU_READ], facts->cpu_read_mapped);
	} else {
		copy_mask(&block[0].cpu.resident, facts->cpu_resident);
		copy_mask(on_gpu, facts->resident);
		block[0].gpus[id_of[facts->to] - 1u] = facts->resident != NULL ? (void *)on_gpu : NULL;
	}
	va_space.groups = facts->range_groups;
	for (uint32_t i = 0; i < facts->range_groups; i++) {
		va_space.group[i].node.start = facts->block.start + facts->range_group[i].first * PAGE_SIZE;
		va_space.group[i].node.end = facts->block.start + facts->range_group[i].end * PAGE_SIZE - 1u;
	}
}

/* The detector's mask of the block: what the case says. */
static void fill_thrashing(const uvmp_mask *thrashing)
{
	struct uvmp_nv_block *state;

	uvmp_nv_block_drop(uvmp_nv_space_of(&va_space), &block[0]);
	if (thrashing == NULL)
		return;
	state = uvmp_nv_block_get(uvmp_nv_space_of(&va_space), &block[0]);
	state->thrash.thrashing = *thrashing;
}

static enum uvmp_status prefetch(const struct uvmp_prefetch_params *params,
				 const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
				 struct uvmp_prefetch_hint *hint)
{
	uvm_va_block_region_t region = {(uvm_page_index_t)facts->faulted_region.first,
					(uvm_page_index_t)facts->faulted_region.end};
	uvm_page_mask_t faulted, on_gpu;
	uvm_perf_prefetch_bitmap_tree_t tree;
	uvm_perf_prefetch_hint_t answer;

	uvmp_nv.policy.prefetch = *params;
	fill_block(facts, &on_gpu);
	fill_thrashing(facts->thrashing);
	block[0].prefetch_info.last_migration_proc_id = id(state->last_proc);
	block[0].prefetch_info.fault_migrations_to_last_proc = state->faults;
	copy_mask(&faulted, facts->faulted);
	__wrap_uvm_perf_prefetch_get_hint_va_block(&block[0], &context, id(facts->to), &faulted, region,
						   &tree, &answer);
	memcpy(&hint->pages, &answer.prefetch_pages_mask, sizeof(hint->pages));
	hint->to = number_of(answer.residency);
	state->last_proc = number_of(block[0].prefetch_info.last_migration_proc_id);
	state->faults = block[0].prefetch_info.fault_migrations_to_last_proc;
	fill_thrashing(NULL);
	return mock.real_hints == 0 ? UVMP_OK : UVMP_ERR_STATE;
}

/* -- thrashing: parts of one GPU have ids of one GPU -- */

static void number_processors(const struct uvmp_processors *p)
{
	NvU32 gpu = 0, part = 0;

	for (uint32_t i = 1; i < p->count; i++) {
		if (i > 1 && (p->smc[i] >> (i - 1u) & 1u) != 0) {
			part++;
		} else {
			gpu++;
			part = 0;
		}
		id_of[i] = UVM_PARENT_ID_MAX_SUB_PROCESSORS * (gpu - 1u) + 1u + part;
		mock_register(&va_space, id_of[i]);
	}
}

static void fill_row(uvm_processor_mask_t *row, uint64_t set)
{
	for (uint32_t i = 0; i < UVMP_PROCS_MAX; i++)
		if (set >> i & 1u)
			uvm_processor_mask_set(row, id(i));
}

static void fill_relations(const struct uvmp_processors *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		fill_row(&va_space.can_access[id_of[i]], p->can_access[i]);
		fill_row(&va_space.has_fast_link[id_of[i]], p->fast_link[i]);
		fill_row(&va_space.has_native_atomics[id_of[i]], p->native_atomics[i]);
	}
	fill_row(&mock.without_memory, p->no_memory);
}

static void begin(const struct uvmp_thrash_params *params, const struct uvmp_processors *processors,
		  bool is_hmm, const uint32_t pages[ORACLE_BLOCKS])
{
	const NvU32 none = 0;

	start();
	uvmp_nv.policy.thrash = *params;
	mock_space_open(&va_space, &none);
	number_processors(processors);
	fill_relations(processors);
	for (uint32_t i = 0; i < ORACLE_BLOCKS; i++)
		mock_block(&block[i], &va_space, is_hmm ? NULL : &range[i],
			   0x7f0000000000u + i * UVM_VA_BLOCK_SIZE, pages[i]);
}

static void end(void)
{
	mock_space_close(&va_space);
	mock_exit();
}

static enum uvmp_status move(uint32_t which, const struct uvmp_thrash_migration *migration)
{
	struct uvm_make_resident_context_struct whole = {id(migration->final_to)};
	uvm_perf_event_data_t data = {
		.migration = {.block = &block[which],
			      .dst = id(migration->to),
			      .address = block[which].start + migration->region.first * PAGE_SIZE,
			      .bytes = (migration->region.end - migration->region.first) * PAGE_SIZE,
			      .transfer_mode = migration->is_copy ? UVM_VA_BLOCK_TRANSFER_MODE_COPY
								  : UVM_VA_BLOCK_TRANSFER_MODE_MOVE,
			      .cause = (uvm_make_resident_cause_t)migration->cause,
			      .make_resident_context = &whole}};

	range[which].policy.read_duplication =
		migration->is_read_duplicated ? UVM_READ_DUPLICATION_ENABLED : UVM_READ_DUPLICATION_UNSET;
	mock.now_ns = migration->now_ns;
	mock_notify(&va_space, UVM_PERF_EVENT_MIGRATION, &data);
	return UVMP_OK;
}

static enum uvmp_status revoke(uint32_t which, struct uvmp_region region, uint32_t processor, uint64_t now_ns)
{
	uvm_perf_event_data_t data = {.revocation = {&block[which], id(processor),
						     block[which].start + region.first * PAGE_SIZE,
						     (region.end - region.first) * PAGE_SIZE}};

	mock.now_ns = now_ns;
	mock_notify(&va_space, UVM_PERF_EVENT_REVOCATION, &data);
	return UVMP_OK;
}

static enum uvmp_status reset(uint32_t which, struct uvmp_region region)
{
	uvm_perf_event_data_t data = {
		.block_munmap = {&block[which],
				 {(uvm_page_index_t)region.first, (uvm_page_index_t)region.end}}};

	mock_notify(&va_space, UVM_PERF_EVENT_BLOCK_MUNMAP, &data);
	return UVMP_OK;
}

static enum uvmp_status unpin(uint64_t now_ns)
{
	struct delayed_work *work = &uvmp_nv_space_of(&va_space)->unpin;

	mock.now_ns = now_ns;
	work->is_pending = true;
	mock_work(work);
	return UVMP_OK;
}

static enum uvmp_status decide(uint32_t which, const struct uvmp_thrash_facts *facts,
			       struct uvmp_thrash_hint *hint)
{
	uvm_va_block_t *va_block = &block[which];
	uvm_perf_thrashing_hint_t answer;

	mock.now_ns = facts->now_ns;
	(facts->is_hmm ? &va_block->policy : &range[which].policy)->preferred_location = id(facts->preferred);
	uvm_processor_mask_zero(&va_block->holders);
	fill_row(&va_block->holders, facts->residents);
	answer = __wrap_uvm_perf_thrashing_get_hint(
		va_block, &context, va_block->start + facts->page * PAGE_SIZE, id(facts->requester));
	*hint = (struct uvmp_thrash_hint){(enum uvmp_thrash_hint_kind)answer.type, UVMP_PROC_NONE, 0, 0};
	if (answer.type == UVM_PERF_THRASHING_HINT_TYPE_PIN) {
		hint->pin_to = number_of(answer.pin.residency);
		for (uint32_t i = 0; id_of[i] != UVM_ID_MAX_PROCESSORS; i++)
			if (uvm_processor_mask_test(&answer.pin.processors, id(i)))
				hint->procs |= (uint64_t)1 << i;
	} else if (answer.type == UVM_PERF_THRASHING_HINT_TYPE_THROTTLE) {
		hint->until_ns = answer.throttle.end_time_stamp;
	}
	return UVMP_OK;
}

static const uvmp_mask *thrashing(uint32_t which)
{
	static uvmp_mask pages;
	const uvm_page_mask_t *mask = __wrap_uvm_perf_thrashing_get_thrashing_pages(&block[which]);

	uvmp_mask_zero(&pages);
	if (mask != NULL)
		memcpy(&pages, mask, sizeof(pages));
	return &pages;
}

/* -- order -- */

static int never(const void *a, const void *b)
{
	(void)a, (void)b;
	fail();
	return 0;
}

static void order(const struct uvmp_fault *fault, uint32_t *indices, uint32_t count, bool is_by_instance)
{
	static uvm_va_space_t spaces[4]; /* ascending addresses */
	static uvm_gpu_t gpu[5];
	static uvm_fault_buffer_entry_t entry[256], *sorted[256];
	uvm_parent_gpu_t parent = {{1}};

	for (uint32_t i = 0; i < 5; i++)
		gpu[i].id.val = 8u * i;
	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_fault *f = &fault[indices[i]];

		entry[i] =
			(uvm_fault_buffer_entry_t){.fault_address = f->address,
						   .instance_ptr = {f->instance, (uvm_aperture_t)f->aperture},
						   .fault_source = {(NvU8)f->subcontext},
						   .fault_access_type = (uvm_fault_access_type_t)f->access,
						   .va_space = &spaces[f->va_space],
						   .gpu = f->gpu != 0 ? &gpu[f->gpu] : NULL,
						   .mark = indices[i]};
		sorted[i] = &entry[i];
	}
	uvmp_nv_sort(&parent, sorted, count, is_by_instance ? UVMP_NV_BY_INSTANCE : UVMP_NV_BY_PAGE, never);
	for (uint32_t i = 0; i < count; i++)
		indices[i] = sorted[i]->mark;
}

/* -- replay -- */

static const struct oracle_detector detector = {begin, end, move, revoke, reset, unpin, decide, thrashing};
static const struct oracle_subject adapter = {prefetch, order, &detector};

/* A VA space for prefetch and order; each thrash case has its own. */
static void open_world(const char *kind)
{
	oracle_subject = &adapter;
	if (strcmp(kind, "thrash") != 0)
		open_space_of_63();
}

static void close_world(const char *kind)
{
	if (strcmp(kind, "thrash") != 0)
		end();
	oracle_subject = &oracle_library;
}

static const struct oracle_kind *kind_by_name(const char *name)
{
	const struct oracle_kind *kind = oracle_kinds;

	while (strcmp(kind->name, name) != 0)
		kind++;
	return kind;
}

static void test_worked_cases(void **state)
{
	static const struct {
		const char *kind;
		uint64_t number, hash;
	} row[] = {
		{"density", 689, 0x0515c030cd2e02cd}, {"density", 1038, 0xf873a2cfb1a4428c},
		{"density", 146, 0x230b4468071f86b5}, {"hmm", 1415, 0x1e74b0b6ae5835bc},
		{"hmm", 767, 0x976583b779223bcd},     {"hmm", 1243, 0x6b0b6b7ab5ffdb7b},
		{"thrash", 1349, 0xa202f29125b3724f}, {"thrash", 732, 0x2ebab6b32a6f015b},
		{"thrash", 3344, 0x6329277c0857be43}, {"order", 0, 0x832401fa80e858ea},
		{"order", 1, 0x73ba281fc14d8333},     {"order", 2, 0x25b7c9e679bc9788},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		open_world(row[i].kind);
		assert_int_equal(oracle_hash(kind_by_name(row[i].kind), 1, row[i].number, 1), row[i].hash);
		close_world(row[i].kind);
	}
}

static unsigned long step_of_lines(void)
{
	const char *given = getenv("UVMP_ORACLE_STEP");
	unsigned long step = given != NULL ? strtoul(given, NULL, 10) : 100;

	return step > 0 ? step : 1;
}

static void replay(const char *name)
{
	unsigned long step = step_of_lines(), line = 0, replayed = 0;
	uint64_t seed, first, hash;
	char path[64], word[16];
	FILE *file;

	snprintf(path, sizeof(path), "../shared/oracle/%s.hash", name);
	file = fopen(path, "r");
	if (file == NULL) {
		printf("skipped: %s is absent\n", path);
		skip();
	}
	open_world(name);
	while (fscanf(file, "%" SCNu64 " %15s %" SCNu64 " %" SCNx64, &seed, word, &first, &hash) == 4) {
		if (line++ % step != 0)
			continue;
		if (oracle_hash(kind_by_name(name), seed, first, CASES_A_LINE) != hash)
			fail_msg("%s: line %lu: another answer in cases %" PRIu64 " to %" PRIu64, path, line,
				 first, first + CASES_A_LINE - 1u);
		replayed++;
	}
	close_world(name);
	assert_true(feof(file) && replayed > 0);
	fclose(file);
	printf("%s: %lu cases of %lu through the adapter\n", name, replayed * CASES_A_LINE,
	       line * CASES_A_LINE);
}

#define REPLAY(name)                                                                                         \
	static void test_##name(void **state)                                                                \
	{                                                                                                    \
		(void)state;                                                                                 \
		replay(#name);                                                                               \
	}

REPLAY(density)
REPLAY(hmm)
REPLAY(thrash)
REPLAY(order)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worked_cases), cmocka_unit_test(test_density),
		cmocka_unit_test(test_hmm),	     cmocka_unit_test(test_thrash),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
