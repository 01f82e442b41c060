/* Unit tests of what programs do besides running kernels: the operations of the CPU's thread in their order,
 * with streams, events and addresses, for instances small enough to be written down. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "workloads/workload.h"

#define PAGE ((uint64_t)4096)

static char error[SOURCE_ERROR_MAX];

static struct workload *open_workload(const char *spec)
{
	struct source *source = workload_open(spec, 1, error);

	if (source == NULL)
		fail_msg("%s: %s", spec, error);
	return workload_of(source);
}

static void close_workload(struct workload *w)
{
	w->source.close(&w->source);
}

/* -- operations as text -- */

struct text {
	char at[8192];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->length +=
	        (size_t)vsnprintf(text->at + text->length, sizeof(text->at) - text->length, format, args);
	va_end(args);
	assert_true(text->length < sizeof(text->at));
}

/* `name` for all of a range, `name+OFFSET:BYTES` for a part of it. */
static void add_part(struct text *text, const struct workload *w, uint64_t at, uint64_t bytes)
{
	for (unsigned i = 0; i < w->ranges; i++) {
		const struct source_range *range = &w->range[i];

		if (at < range->base || at - range->base >= range->bytes)
			continue;
		assert_true(bytes > 0 && bytes <= range->bytes - (at - range->base));
		assert_false(range->is_device);
		add(text, "%s", range->name);
		if (bytes < range->bytes)
			add(text, "+%u:%u", (unsigned)(at - range->base), (unsigned)bytes);
		return;
	}
	fail_msg("0x%llx is in no range", (unsigned long long)at);
}

/* Kernels: `name`, queued: `name#TAG@STREAM`; the CPU: `r(part)`, `w(part)`; prefetches: `part>@STREAM` to
 * the GPU, `part<@STREAM` to the CPU, copies the same with a number; `eN=STREAM` and `eN?`, `sN?`, `all?`. */
static void add_op(struct text *text, const struct workload *w)
{
	const struct workload_op *op = &w->op;

	assert_true(op->stream < WORKLOAD_STREAMS && op->event < WORKLOAD_EVENTS);
	switch (op->kind) {
	case WORKLOAD_KERNEL:
		assert_true(w->blocks > 0 && w->warps >= 1 && w->warps <= 32);
		add(text, "%s", w->kernel);
		if (op->is_queued)
			add(text, "#%u@%u", (unsigned)w->tag, op->stream);
		break;
	case WORKLOAD_CPU:
		add(text, "%c(", op->access == UVMP_ACCESS_WRITE ? 'w' : 'r');
		add_part(text, w, op->at, op->bytes);
		add(text, ")");
		break;
	case WORKLOAD_PREFETCH:
		assert_true(op->at % PAGE == 0);
		add_part(text, w, op->at, op->bytes);
		add(text, "%c@%u", op->to_gpu ? '>' : '<', op->stream);
		break;
	case WORKLOAD_COPY:
		add(text, "%u%c@%u", (unsigned)op->bytes, op->to_gpu ? '>' : '<', op->stream);
		break;
	case WORKLOAD_RECORD:
		add(text, "e%u=%u", op->event, op->stream);
		break;
	case WORKLOAD_WAIT_EVENT:
		add(text, "e%u?", op->event);
		break;
	case WORKLOAD_WAIT_STREAM:
		add(text, "s%u?", op->stream);
		break;
	case WORKLOAD_WAIT_ALL:
		add(text, "all?");
		break;
	default:
		fail_msg("operation %d", (int)op->kind);
	}
}

/* All operations. Queued kernels end some time later; others at once. */
static struct text operations_of(const char *spec)
{
	struct workload *w = open_workload(spec);
	struct text text = {.length = 0};

	text.at[0] = '\0';
	while (workload_launch(w)) {
		if (text.length > 0)
			add(&text, " ");
		add_op(&text, w);
		if (w->op.kind == WORKLOAD_KERNEL && !w->op.is_queued)
			workload_end_kernel(w);
	}
	assert_false(workload_launch(w)); /* and it stays so */
	close_workload(w);
	return text;
}

struct program {
	const char *spec, *operations;
};

static void expect_operations(const struct program *program, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_string_equal(operations_of(program[i].spec).at, program[i].operations);
}
#define EXPECT_OPERATIONS(programs) expect_operations(programs, sizeof(programs) / sizeof((programs)[0]))

/* -- streams and tiles -- */

static void streaming(void **state)
{
	static const struct program programs[] = {
	        {"stream_thread:bytes=1m", "stream_thread"},
	        {"stream_thread:bytes=1m,move=demand", "stream_thread"},
	        {"stream_thread:bytes=1m,move=prefetch", "ptr>@0 stream_thread"},
	        {"stream_thread:bytes=1m,move=copy", "1048576>@0 stream_thread"},
	        {"stream_warp:bytes=1m,move=demand", "stream_warp"},
	        {"stream_warp:bytes=5000,move=prefetch", "ptr>@0 stream_warp"},
	        {"stream_warp:bytes=1m,move=copy,output=1", "1048576>@0 stream_warp"},
	};
	struct workload *w;
	struct source_row row;
	unsigned stores = 0;

	(void)state;
	EXPECT_OPERATIONS(programs);
	/* memory of the GPU is not in rows; output is, and is fresh */
	w = open_workload("stream_warp:bytes=1m,move=copy,output=1,grid=2");
	assert_true(w->range[0].is_device && !w->range[1].is_device && w->range[1].is_fresh);
	for (w->source.next(&w->source, &row); row.kind != SOURCE_END; w->source.next(&w->source, &row)) {
		assert_false(row.kind == SOURCE_PREFETCH || row.kind == SOURCE_ADVISE);
		if (row.kind == SOURCE_RANGE)
			assert_string_equal(row.range.name, "output");
		if (row.kind != SOURCE_ACCESS)
			continue;
		assert_true(row.address - w->range[1].base < w->range[1].bytes);
		stores++;
	}
	assert_int_equal(stores, 64); /* a warp's are on one page */
	close_workload(w);
	w = open_workload("stream_warp:bytes=1m,output=1");
	assert_true(!w->range[0].is_device && !w->range[0].is_fresh && w->range[1].is_fresh);
	close_workload(w);
}

static void tile_orders(void **state)
{
	static const struct program programs[] = {
	        {"tiles:tiles=2,tile=4096,kernels=2",
	         "a+0:4096>@1 kernel#0@1 kernel#0@1 a+0:4096<@1 "
	         "a+4096:4096>@1 kernel#1@1 kernel#1@1 a+4096:4096<@1 all?"},
	        {"tiles:tiles=1,tile=8192,order=single", "a>@1 kernel#0@1 a<@1 all?"},
	        {"tiles:tiles=2,tile=4096,kernels=2,order=compute",
	         "kernel#0@1 kernel#0@1 kernel#1@1 kernel#1@1 all?"},
	        {"tiles:tiles=2,tile=4096,kernels=2,order=move",
	         "a+0:4096>@1 a+0:4096<@1 a+4096:4096>@1 a+4096:4096<@1 all?"},
	        {"tiles:tiles=3,tile=4096,order=naive", "kernel#0@2 a+4096:4096>@3 all? "
	                                                "a+0:4096<@1 kernel#1@2 a+8192:4096>@3 all? "
	                                                "a+4096:4096<@1 kernel#2@2 all?"},
	        {"tiles:tiles=1,tile=4096,order=naive,kernels=2", "kernel#0@2 kernel#0@2 all?"},
	        {"tiles:tiles=4,tile=4096,order=optimized",
	         "a+0:4096>@2 e0=2 "
	         "e0? e1? kernel#0@1 e0=1 s2? a+4096:4096>@2 e1=2 a+0:4096<@1 "
	         "e1? e0? kernel#1@2 e1=2 s3? a+8192:4096>@3 e0=3 a+4096:4096<@2 "
	         "e0? e1? kernel#2@3 e0=3 s1? a+12288:4096>@1 e1=1 a+8192:4096<@3 "
	         "e1? e0? kernel#3@1 e1=1 a+12288:4096<@1 all?"},
	        {"tiles:tiles=1,tile=4096,order=optimized,kernels=2",
	         "a>@2 e0=2 e0? e1? kernel#0@1 kernel#0@1 e0=1 a<@1 all?"},
	};
	struct workload *w = open_workload("tiles");

	(void)state;
	EXPECT_OPERATIONS(programs);
	assert_true(w->range[0].bytes == (uint64_t)4 << 30 && !w->range[0].is_fresh &&
	            !w->range[0].is_device);
	close_workload(w);
	w = open_workload("tiles:order=compute");
	assert_true(w->range[0].is_device);
	close_workload(w);
	assert_null(workload_open("tiles:order=random", 1, error));
	assert_string_equal(error, "workload tiles: order is not single, naive, optimized, compute or move");
	assert_null(workload_open("tiles:tile=10000", 1, error));
	assert_string_equal(error, "workload tiles: tile is not a multiple of 4096");
	assert_null(workload_open("tiles:tiles=1000,tile=2g", 1, error));
	assert_string_equal(error, "workload tiles: all tiles together are larger than 1 TiB");
	assert_null(workload_open("tiles:tile=1000", 1, error));
	assert_null(workload_open("tiles:weight=10000001", 1, error));
}

/* The listing of the blog for the second version, with variables as there, against the operations. */
static void optimized_listing(void **state)
{
	struct text text = {.length = 0};
	unsigned s1 = 1, s2 = 2, s3 = 3, e1 = 0, e2 = 1, swap;

	(void)state;
	add(&text, "a+0:8192>@%u e%u=%u ", s2, e1, s2);
	for (unsigned i = 0; i < 20; i++) {
		add(&text, "e%u? e%u? ", e1, e2);
		for (unsigned j = 0; j < 3; j++)
			add(&text, "kernel#%u@%u ", i, s1);
		add(&text, "e%u=%u ", e1, s1);
		if (i < 19) {
			add(&text, "s%u? ", s2);
			add(&text, "a+%u:8192>@%u ", 8192 * (i + 1), s2);
			add(&text, "e%u=%u ", e2, s2);
		}
		add(&text, "a+%u:8192<@%u ", 8192 * i, s1);
		swap = s1, s1 = s2, s2 = swap;
		swap = s2, s2 = s3, s3 = swap;
		swap = e1, e1 = e2, e2 = swap;
	}
	add(&text, "all?");
	assert_string_equal(operations_of("tiles:tiles=20,tile=8192,kernels=3,order=optimized").at, text.at);
}

/* The kernel with the tag loads, then stores every element of that tile once, and no other. */
static void tile_kernel(struct workload *w, uint64_t tag, uint64_t weight)
{
	static bool is_touched[2][36864]; /* loaded, stored: pieces of 256 bytes of a tile of up to 9 MiB */
	uint64_t tile = w->value[1], pieces = tile / 256, flops = 0;
	struct workload_slot slot = {0};

	assert_true(pieces <= sizeof(is_touched[0]));
	memset(is_touched, 0, sizeof(is_touched));
	for (uint64_t block = 0; block < w->blocks; block++)
		for (uint32_t warp = 0; warp < w->warps; warp++) {
			bool is_store = false;

			workload_start_warp(w, &slot, block, warp);
			for (; workload_step(w, &slot); is_store = !is_store) {
				uint64_t at = slot.at - w->range[0].base - tag * tile;

				assert_true(slot.lanes == 0 && slot.at_once && slot.end - slot.at == 256);
				assert_true(at % 256 == 0 && at / 256 < pieces);
				assert_int_equal(slot.access,
				                 is_store ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
				assert_false(is_touched[is_store][at / 256]);
				is_touched[is_store][at / 256] = true;
				assert_true(is_touched[0][at / 256]);
				flops += slot.flops;
			}
			assert_false(is_store);
		}
	for (uint64_t i = 0; i < pieces; i++)
		assert_true(is_touched[0][i] && is_touched[1][i]);
	assert_true(flops == tile / 8 * weight);
}

static void tile_kernels(void **state)
{
	struct workload_kernel kept[3];
	struct workload *w = open_workload("tiles:tiles=3,tile=4096,weight=5,order=compute");

	(void)state;
	for (unsigned i = 0; i < 3; i++) { /* all are queued before the first one runs */
		assert_true(workload_launch(w));
		assert_true(w->op.is_queued);
		kept[i] = workload_keep_kernel(w);
	}
	assert_true(workload_launch(w));
	assert_int_equal(w->op.kind, WORKLOAD_WAIT_ALL);
	for (unsigned i = 0; i < 3; i++) {
		workload_restore_kernel(w, &kept[i]);
		assert_true(w->blocks == 1024 && w->warps == 32);
		tile_kernel(w, i, 5);
		workload_end_kernel(w);
	}
	close_workload(w);
	/* the grid has 2^20 threads, for 8 MiB: some of them have two elements */
	w = open_workload("tiles:tiles=2,tile=9m,weight=2");
	while (workload_launch(w))
		if (w->op.kind == WORKLOAD_KERNEL)
			tile_kernel(w, w->tag, 2);
	close_workload(w);
}

/* -- what the CPU does -- */

/* The programs that leave out what the CPU does run the same kernels. */
static void benchmarks(void **state)
{
	static const struct program programs[] = {
	        {"hotspot:n=16,pyramid_height=2,sim_time=5,cpu=0",
	         "calculate_temp calculate_temp calculate_temp"},
	        {"hotspot:n=16,pyramid_height=2,sim_time=5",
	         "calculate_temp calculate_temp calculate_temp r(temperature1)"},
	        {"hotspot:n=16,pyramid_height=2,sim_time=8,cpu=2",
	         "w(temperature0) w(power) calculate_temp calculate_temp calculate_temp calculate_temp "
	         "r(temperature0)"},
	        {"pathfinder:cols=10,rows=6,pyramid_height=2,cpu=0",
	         "dynproc_kernel dynproc_kernel dynproc_kernel"},
	        {"pathfinder:cols=10,rows=6,pyramid_height=2,cpu=2",
	         "w(result0) w(wall) dynproc_kernel dynproc_kernel dynproc_kernel r(result1)"},
	        {"pathfinder:cols=10,rows=5,pyramid_height=2", "dynproc_kernel dynproc_kernel r(result0)"},
	        {"ra:n=16,cpu=0", "kernel"},
	        {"ra:n=16,cpu=2", "w(input) w(table) kernel r(output)"},
	        {"atax:nx=4,ny=6,cpu=0", "atax_kernel1 atax_kernel2"},
	        {"atax:nx=4,ny=6,cpu=2", "w(x) w(a) atax_kernel1 atax_kernel2 r(y)"},
	        {"conv2d:ni=3,nj=3,cpu=0", "convolution2d"},
	        {"conv2d:ni=100,nj=300,cpu=2", "w(a) convolution2d r(b+0:4) r(b+40000:4) r(b+80000:4)"},
	        {"conv2d:ni=100,nj=301", "convolution2d r(b+0:4) r(b+40000:4) r(b+80000:4) r(b+120000:4)"},
	        {"fdtd2d:nx=2,ny=3,tmax=1,cpu=0", "fdtd_step1 fdtd_step2 fdtd_step3"},
	        {"fdtd2d:nx=2,ny=3,tmax=2,cpu=2",
	         "w(fict) w(ex+0:24) w(ey+0:24) w(hz) fdtd_step1 fdtd_step2 fdtd_step3 "
	         "fdtd_step1 fdtd_step2 fdtd_step3 r(hz)"},
	        {"srad:rows=16,cols=16,iterations=1,cpu=0", "srad_cuda_1 srad_cuda_2"},
	        {"rodinia_bfs:nodes=1,edges=1,cpu=0", "Kernel Kernel2"},
	        {"rodinia_bfs:nodes=1,edges=1,cpu=2", "w(graph_nodes) w(graph_mask) w(updating_graph_mask) "
	                                              "w(graph_visited) w(graph_edges) w(cost) "
	                                              "1>@0 Kernel Kernel2 1<@0 r(cost)"},
	        {"sssp:nodes=2,degree=1,rounds=1,cpu=0",
	         "initializeArrays Kernel1 Kernel2 Kernel1 Kernel2 Kernel1 Kernel2 Kernel1 Kernel2 Kernel1 "
	         "Kernel2"},
	        {"sssp:nodes=2,degree=1,rounds=1,cpu=2",
	         "w(vertices) w(edges) w(weights) initializeArrays 2<@0 "
	         "Kernel1 Kernel2 Kernel1 Kernel2 Kernel1 Kernel2 Kernel1 Kernel2 Kernel1 Kernel2 2<@0 "
	         "r(distances)"},
	        {"nw:n=16,cpu=0", "needle_cuda_shared_1"},
	        {"backprop:n=16,cpu=0", "layerforward adjust_weights"},
	        {"backprop:n=16,cpu=2", "w(input_weights) r(input_weights) w(input_weights2) "
	                                "w(hidden_weights) w(input_prev_weights) "
	                                "w(hidden_prev_weights) w(target) w(input_units) "
	                                "layerforward "
	                                "r(hidden_partial_sum) r(input_weights+0:68) w(hidden_units) "
	                                "r(hidden_weights) r(hidden_units) w(output_units) "
	                                "r(target) w(output_delta) w(hidden_delta) "
	                                "r(hidden_prev_weights) w(hidden_weights) w(hidden_prev_weights) "
	                                "adjust_weights "
	                                "r(input_units) r(input_weights2)"},
	};

	(void)state;
	EXPECT_OPERATIONS(programs);
	assert_null(workload_open("hotspot:cpu=3", 1, error));
	assert_string_equal(error, "workload hotspot: cpu=3 is not accepted; 0..2");
}

/* Rows of 16 cells, of 64 bytes each: the CPU reads all of them before each iteration. */
static void srad_corner(void **state)
{
	struct text text = {.length = 0};

	(void)state;
	add(&text, "w(image)");
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned row = 0; row < 16; row++)
			add(&text, " r(image+%u:64)", row * 64);
		add(&text, " srad_cuda_1 srad_cuda_2");
	}
	add(&text, " r(image)");
	assert_string_equal(operations_of("srad:rows=16,cols=16,iterations=2,cpu=2").at, text.at);
	/* 128 of 160 rows and 128 of 144 columns */
	text = operations_of("srad:rows=160,cols=144,iterations=1");
	assert_non_null(strstr(text.at, "r(image+0:512) r(image+576:512)"));
	assert_non_null(strstr(text.at, "r(image+73152:512) srad_cuda_1 srad_cuda_2 r(image)"));
}

/* 17 x 17 integers: 15 steps up the diagonal from the last score but one. */
static void nw_trace_back(void **state)
{
	struct text text = {.length = 0};

	(void)state;
	add(&text, "w(itemsets) w(reference+72:1084) needle_cuda_shared_1");
	for (unsigned i = 15; i > 0; i--)
		add(&text, " r(itemsets+%u:8) r(itemsets+%u:4) r(reference+%u:4)", ((i - 1) * 17 + i - 1) * 4,
		    (i * 17 + i - 1) * 4, (i * 17 + i) * 4);
	assert_string_equal(operations_of("nw:n=16,cpu=2").at, text.at);
}

/* Pages that were not written before the GPU or the program's CPU writes them. */
static void fresh_ranges(void **state)
{
	static const struct {
		const char *spec, *fresh; /* names, each in spaces */
	} programs[] = {
	        {"hotspot:n=16", " temperature1 "},
	        {"hotspot:n=16,cpu=2", " temperature0 temperature1 power "},
	        {"pathfinder:cols=10", " result1 "},
	        {"ra:n=16", " output "},
	        {"atax:nx=4,ny=4", " y tmp "},
	        {"conv2d:ni=3,nj=3", " b "},
	        {"fdtd2d:nx=2,ny=2", " "},
	        {"srad:rows=16,cols=16,coefficients=1", " c east west south north "},
	        {"nw:n=16", " "},
	        {"sssp:nodes=9", " distances updating_distances "},
	        {"rodinia_bfs:nodes=9", " "},
	        {"backprop:n=16,cpu=0",
	         " hidden_units output_units output_delta output_hidden hidden_partial_sum "},
	        {"backprop:n=16",
	         " hidden_units output_units hidden_delta output_delta output_hidden hidden_partial_sum "},
	        {"sgemm:n=16", " C "},
	        {"stream:bytes=4096", " "},
	        {"cufft:scale=10,out=1", " spectrum "},
	        {"cusparse:n=64", " C nnzPerRow csrVal csrRowPtr csrColInd "},
	        {"tealeaf:n=16,clear=0", " reduce_buf "},
	        {"bfs:scale=4", " frontier1 "},
	        {"bfs_ta:scale=4", " levels "},
	        {"bfs_ttc:scale=4", " levels "},
	        {"bfs_twc:scale=4", " levels "},
	        {"bfs_tf:scale=4", " levels frontier updating visited "},
	        {"bfs_dwc:scale=4", " levels worklist1 "},
	        {"bc:scale=4", " parts distances paths "},
	        {"gc_ttc:scale=4", " colours "},
	        {"gc_dtc:scale=4", " colours worklist1 "},
	        {"kcore:scale=4", " degrees removed flags "},
	        {"pr:scale=4", " ranks sums "},
	        {"sssp_twc:scale=4", " distances mask updates "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct workload *w = open_workload(programs[i].spec);
		struct text fresh = {.length = 0};

		add(&fresh, " ");
		for (unsigned r = 0; r < w->ranges; r++)
			if (w->range[r].is_fresh)
				add(&fresh, "%s ", w->range[r].name);
		assert_string_equal(fresh.at, programs[i].fresh);
		close_workload(w);
	}
}

/* As rows: what the CPU walks through comes page by page, in the order of the program. */
static void cpu_rows(void **state)
{
	struct workload *w = open_workload("hotspot:n=64,pyramid_height=2,sim_time=2,cpu=2");
	struct source_row row;
	uint64_t page[3] = {0};
	bool has_kernel = false;

	(void)state;
	for (w->source.next(&w->source, &row); row.kind != SOURCE_END; w->source.next(&w->source, &row)) {
		unsigned r = 0;

		has_kernel |= row.kind == SOURCE_KERNEL;
		if (row.kind != SOURCE_ACCESS || !row.is_cpu)
			continue;
		while (row.address - w->range[r].base >= w->range[r].bytes)
			r++;
		assert_int_equal(row.access, has_kernel ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE);
		assert_int_equal(has_kernel, r == 1);
		assert_true(row.address == w->range[r].base + page[r]++ * PAGE);
	}
	assert_true(page[0] == 4 && page[1] == 4 && page[2] == 4);
	close_workload(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(streaming),         cmocka_unit_test(tile_orders),
	        cmocka_unit_test(optimized_listing), cmocka_unit_test(tile_kernels),
	        cmocka_unit_test(benchmarks),        cmocka_unit_test(srad_corner),
	        cmocka_unit_test(nw_trace_back),     cmocka_unit_test(fresh_ranges),
	        cmocka_unit_test(cpu_rows),
	};

	return cmocka_run_group_tests_name("workload_program", tests, NULL, NULL);
}
