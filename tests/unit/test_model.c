/* Unit tests of GPU models: every one that is built in, every error of a file, and the time of a transfer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "model.h"

static char error[MODEL_ERROR_MAX];
static char folder[] = "/tmp/test_model.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[2][128];
	static unsigned turn;

	turn ^= 1u;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void write_file(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, strlen(text), out), strlen(text));
	assert_int_equal(fclose(out), 0);
}

static void assert_error(const char *text)
{
	if (strstr(error, text) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", text, error);
}

static const struct model_file *built_in(const char *name)
{
	const struct model_file *file = model_files;

	while (file->name && strcmp(file->name, name) != 0)
		file++;
	assert_non_null(file->name);
	return file;
}

/* The name without its ending. */
static const char *stem(const char *name, const char *ending)
{
	static char text[MODEL_NAME_MAX];
	size_t length = strlen(name);

	if (length <= strlen(ending) || strcmp(name + length - strlen(ending), ending) != 0)
		return NULL;
	snprintf(text, sizeof(text), "%.*s", (int)(length - strlen(ending)), name);
	return text;
}

/* -- what is built in -- */

static void every_model_loads(void **state)
{
	unsigned gpus = 0;

	(void)state;
	for (const struct model_file *file = model_files; file->name; file++) {
		const char *name = stem(file->name, ".gpu");
		struct model model;

		if (!name)
			continue;
		if (!model_open(name, NULL, &model, error))
			fail_msg("%s", error);
		assert_string_equal(model.name, name);
		assert_true(strlen(model.title) > 0 && strlen(model.source) > 0);
		/* cores, clock and flops are of one GPU: two operations a cycle on 28 to 140 lanes */
		assert_in_range((uint64_t)model.gflops * 1000 / model.clock_mhz / model.sms, 2 * 28, 2 * 140);
		gpus++;
	}
	assert_true(gpus >= 18);
}

static void every_link_loads(void **state)
{
	(void)state;
	for (const struct model_file *file = model_files; file->name; file++) {
		const char *name = stem(file->name, ".link");
		struct model_link link;

		if (name && !model_open_link(name, &link, error))
			fail_msg("%s", error);
	}
}

static void every_number_has_a_source(void **state)
{
	(void)state;
	for (const struct model_file *file = model_files; file->name; file++) {
		char line[512];
		unsigned number = 0;
		FILE *in = fmemopen((void *)(uintptr_t)file->bytes, file->length, "r");

		assert_non_null(in);
		while (fgets(line, sizeof(line), in)) {
			const char *value = strstr(line, "= ");

			number++;
			if (line[0] == '#' || !value || value[2] < '0' || value[2] > '9')
				continue;
			if (!strchr(value, '#'))
				fail_msg("%s:%u: no source: %s", file->name, number, line);
		}
		fclose(in);
	}
}

static void names_are_sorted(void **state)
{
	(void)state;
	for (const struct model_file *file = model_files; file->name && file[1].name; file++)
		assert_true(strcmp(file->name, file[1].name) < 0);
}

static void published_numbers(void **state)
{
	struct model model;

	(void)state;
	/* Kim et al. ASPLOS'20 table 1 */
	assert_true(model_open("asplos20", NULL, &model, error));
	assert_int_equal(model.sms, 16);
	assert_int_equal(model.warps_per_sm * 32, 1024);
	assert_int_equal(model.fault_entries, 1024);
	assert_int_equal(model.page_bytes, 65536);
	assert_int_equal(model.batch_ns, 20000);
	assert_int_equal(model.link.point[MODEL_TO_GPU][0].mb_s, 15750);
	assert_int_equal(model.mshr_entries, 1024);
	assert_int_equal(model.context_bytes * 64, 85 * 1024); /* footnote 5: 2048 threads */
	/* SAND2022-1528 table 4-2 */
	assert_true(model_open("v100-sand", NULL, &model, error));
	assert_int_equal(model.clock_mhz, 1312);
	assert_int_equal(model.sms, 84);
	assert_int_equal(model.memory_bytes, UINT64_C(16384) << 20);
	/* UVM Smart: 66,645 cycles of 1481 MHz */
	assert_true(model_open("uvmsmart", NULL, &model, error));
	assert_int_equal(model.block_ns, UINT64_C(66645) * 1000 / 1481);
	/* NVIDIA blog 2017: 64 KiB pages, pairs of SMs */
	assert_true(model_open("p100-nvlink", NULL, &model, error));
	assert_int_equal(model.page_bytes, 65536);
	assert_int_equal(model.sms_per_utlb, 2);
	/* Allen & Ge 2021: 400 to 600 us; what the GPU's file sets itself stands before the host's */
	assert_true(model_open("titan-v", NULL, &model, error));
	assert_in_range(model.alloc_ns, 400000, 600000);
	assert_true(model_open("gtx-1080-ti", NULL, &model, error));
	assert_int_equal(model.alloc_ns, 159000);
	assert_int_equal(model.memory_bytes, 11544297472);
}

static void another_link(void **state)
{
	struct model model;

	(void)state;
	assert_true(model_open("titan-v", "pcie5", &model, error));
	assert_string_equal(model.link.name, "pcie5");
	assert_false(model_open("titan-v", "pcie9", &model, error));
	assert_error("there is no link \"pcie9\"");
}

/* Files of before these keys mean what they meant: no limit. */
static void requests(void **state)
{
	struct model_link link;

	(void)state;
	assert_true(model_open_link("pcie3", &link, error));
	assert_int_equal(link.request_bytes[MODEL_TO_GPU], 78);
	assert_int_equal(link.request_bytes[MODEL_TO_CPU], 46);
	/* 256 reads of 1.7 us; 32 + 24 bytes at 15.75 GB/s */
	assert_in_range(78u * 1000000u / model_link_mb_s(&link, MODEL_TO_GPU), 1700000 / 256, 1700000 / 256 + 100);
	assert_in_range(46u * 1000000u / model_link_mb_s(&link, MODEL_TO_CPU), 56u * 1000000u / 15750 - 50,
	                56u * 1000000u / 15750);
	write_file("old.link", "title = t\nsource = s\nlatency_ns = 0\nh2d = 1 1\nd2h = 1 1\n");
	assert_true(model_open_link(path_of("old.link"), &link, error));
	assert_int_equal(link.request_bytes[MODEL_TO_GPU], 0);
	assert_int_equal(link.request_bytes[MODEL_TO_CPU], 0);
}

static void list_names_all(void **state)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	assert_non_null(out);
	assert_true(model_list(out, error));
	fclose(out);
	for (const struct model_file *file = model_files; file->name; file++) {
		char line[MODEL_NAME_MAX + 8];

		if (!stem(file->name, ".gpu"))
			continue;
		snprintf(line, sizeof(line), "%s\n", stem(file->name, ".gpu"));
		assert_non_null(strstr(text, line));
		/* what the model is worth stands below its name, before the next one */
		assert_non_null(strstr(strstr(text, line), "\n    validated by "));
	}
	free(text);
}

/* -- transfers -- */

/* SAND2022-1528 table 3-2, GB/s. */
static void sand_table(void **state)
{
	static const struct {
		uint64_t kib, mb_s_times_10;
	} row[] = {{4, 32219}, {16, 64437}, {64, 84771}, {256, 105080}, {1024, 112230}};
	struct model_link link;

	(void)state;
	assert_true(model_open_link("sand2022", &link, error));
	for (int direction = 0; direction < MODEL_DIRECTIONS; direction++) {
		for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
			uint64_t bytes = row[i].kib * 1024;
			uint64_t ns = model_link_time(&link, (enum model_direction)direction, bytes);
			uint64_t wanted = bytes * 10000 / row[i].mb_s_times_10;

			assert_in_range(ns, wanted - wanted / 1000 - 1, wanted + wanted / 1000 + 1);
		}
	}
}

/* The logs of UVM Smart: cycles of 1481 MHz. */
static void uvmsmart_cycles(void **state)
{
	static const struct {
		uint64_t bytes, cycles;
	} row[] = {{4096, 2605},    {16384, 3430},   {61440, 8240},     {65536, 8702},
	           {258048, 30723}, {524288, 61307}, {1044480, 121089}, {2097152, 242080}};
	struct model_link link;

	(void)state;
	assert_true(model_open_link("uvmsmart", &link, error));
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (int k = 0; k < MODEL_DIRECTIONS; k++) {
			uint64_t ns = model_link_time(&link, (enum model_direction)k, row[i].bytes);

			assert_int_equal(ns, (row[i].cycles * 1000 + 1480) / 1481);
		}
	}
	/* endless ones: 12 * 2^30 bytes a second; sizes beyond the formula continue at that rate */
	assert_int_equal(model_link_mb_s(&link, MODEL_TO_CPU), 12884);
	assert_int_equal(model_link_time(&link, MODEL_TO_CPU, UINT64_C(12884) * 6000000), 6000000000);
	assert_true(model_link_time(&link, MODEL_TO_CPU, PCIE_BYTES_MAX) <
	            model_link_time(&link, MODEL_TO_CPU, PCIE_BYTES_MAX + 1u));
}

/* nvprof on a GTX 1080 Ti (UVM Smart artifact): copies, their MiB in all, and their time in us. The size that
 * is used is the mean: exact as long as the time is a straight line. */
static void measured_means(void **state)
{
	static const struct {
		const char *program;
		double count, mib, us;
	} to_gpu[] = {{"backprop 100", 383, 26.6875, 2715.744},   {"backprop 150", 658, 30.6875, 3289.6},
	              {"bfs 100", 317270, 6397.2424, 817509.4},   {"bfs 125", 1607551, 28407.0093, 3912569},
	              {"bfs 150", 5476412, 91267.5942, 12956106}, {"hotspot 100", 350, 44, 4248.576},
	              {"hotspot 125", 1034, 56.1875, 5939.808},   {"hotspot 150", 1319, 63.3125, 6790.464}},
	  to_cpu[] = {{"backprop 100", 57, 22.625, 1845.6},     {"backprop 150", 58, 30.5, 2476.128},
	              {"bfs 100", 14751, 6478.6872, 527731.4},  {"bfs 125", 89268, 28259.2461, 2317905},
	              {"bfs 150", 342462, 90791.9462, 7476827}, {"hotspot 100", 43, 42, 3371.552},
	              {"hotspot 125", 152, 56.1875, 4566.304},  {"hotspot 150", 194, 63.3125, 5167.296}};
	struct model_link link;

	(void)state;
	assert_true(model_open_link("pcie3", &link, error));
	for (int i = 0; i < 8; i++) {
		uint64_t in = model_link_time(&link, MODEL_TO_GPU,
		                              (uint64_t)(to_gpu[i].mib * 1048576 / to_gpu[i].count));
		uint64_t back = model_link_time(&link, MODEL_TO_CPU,
		                                (uint64_t)(to_cpu[i].mib * 1048576 / to_cpu[i].count));
		double in_share = (double)in * to_gpu[i].count / to_gpu[i].us / 1000;
		double back_share = (double)back * to_cpu[i].count / to_cpu[i].us / 1000;

		if (in_share < 0.96 || in_share > 1.04)
			fail_msg("%s: to the GPU %.3f of what was measured", to_gpu[i].program, in_share);
		if (back_share < 0.98 || back_share > 1.02)
			fail_msg("%s: to the CPU %.3f of what was measured", to_cpu[i].program, back_share);
	}
}

/* NVIDIA blog 2017: 349 copies of 187.78 KiB in 2.56864 ms. */
static void minsky_copies(void **state)
{
	struct model model;
	uint64_t ns;

	(void)state;
	assert_true(model_open("p100-nvlink", NULL, &model, error));
	ns = 349 * model_link_ns(&model, MODEL_TO_GPU, 192287);
	assert_in_range(ns, 2568640 - 2568640 / 50, 2568640 + 2568640 / 50);
}

static void times_never_fall(void **state)
{
	(void)state;
	for (const struct model_file *file = model_files; file->name; file++) {
		const char *name = stem(file->name, ".link");
		struct model_link link;

		if (!name)
			continue;
		assert_true(model_open_link(name, &link, error));
		for (int i = 0; i < MODEL_DIRECTIONS; i++) {
			enum model_direction direction = (enum model_direction)i;
			uint64_t before = 0;

			assert_int_equal(model_link_time(&link, direction, 0), 0);
			for (uint64_t bytes = 1; bytes < 4 << 20; bytes += 1 + bytes / 1000) {
				uint64_t ns = model_link_time(&link, direction, bytes);

				assert_true(ns >= before && ns >= link.latency_ns);
				before = ns;
			}
			/* both sides of each point */
			for (uint32_t k = 0; k < link.points[i]; k++) {
				const struct model_point *point = &link.point[i][k];
				uint64_t ns = model_link_time(&link, direction, point->bytes);

				assert_int_equal(ns, (point->bytes * 1000 + point->mb_s / 2) / point->mb_s);
				assert_true(model_link_time(&link, direction, point->bytes - 1) <= ns);
				assert_true(model_link_time(&link, direction, point->bytes + 1) >= ns);
			}
			assert_true(model_link_time(&link, direction, UINT64_C(1) << 50) > before);
		}
	}
}

/* By hand: 4096 bytes at 4096 MB/s are 1000 ns, 8192 at 4096 are 2000; start-up 200 ns. */
static void proportions(void **state)
{
	struct model_link link;

	(void)state;
	write_file("by-hand.link", "title = by hand\nsource = none\nlatency_ns = 200\nh2d = 4096 4096\n"
	                           "h2d = 8192 4096\nd2h = 4294967295 1\n");
	assert_true(model_open_link(path_of("by-hand.link"), &link, error));
	assert_int_equal(model_link_time(&link, MODEL_TO_GPU, 2048), 600);
	assert_int_equal(model_link_time(&link, MODEL_TO_GPU, 4096), 1000);
	assert_int_equal(model_link_time(&link, MODEL_TO_GPU, 6144), 1500);
	assert_int_equal(model_link_time(&link, MODEL_TO_GPU, 8192), 2000);
	assert_int_equal(model_link_time(&link, MODEL_TO_GPU, 16384), 4000);
	/* the largest products */
	assert_int_equal(model_link_time(&link, MODEL_TO_CPU, 4294967294), 4294967294000);
}

/* -- a user's own files -- */

/* The text of a built-in file with one line replaced: the first that starts with `start`. NULL: added at the
 * end. */
static void write_changed(const char *name, const char *from, const char *start, const char *line)
{
	const struct model_file *file = built_in(from);
	char *text = calloc(1, file->length + 1), *at, *end;
	FILE *out = fopen(path_of(name), "w");

	assert_non_null(text);
	assert_non_null(out);
	memcpy(text, file->bytes, file->length);
	if (!start) {
		fprintf(out, "%s%s", text, line);
	} else {
		at = strncmp(text, start, strlen(start)) == 0 ? text : strstr(text, start);
		assert_non_null(at);
		end = strchr(at, '\n') + 1;
		fprintf(out, "%.*s%s%s", (int)(at - text), text, line, end);
	}
	fclose(out);
	free(text);
}

/* The number of the line that starts with `start`, in a built-in file. */
static unsigned line_of(const char *from, const char *start)
{
	const struct model_file *file = built_in(from);
	unsigned line = 1;

	for (size_t i = 0; i + strlen(start) <= file->length; i++) {
		if ((i == 0 || file->bytes[i - 1] == '\n') &&
		    memcmp(file->bytes + i, start, strlen(start)) == 0)
			return line;
		line += file->bytes[i] == '\n';
	}
	fail_msg("no line %s in %s", start, from);
	return 0;
}

static void own_files(void **state)
{
	struct model model;

	(void)state;
	/* all three are ours; names with a slash count from the GPU's file */
	write_changed("own.gpu", "gtx-1080-ti.gpu", "link =", "link = ./own.link\ninclude = ./own.host\n");
	write_changed("own.gpu", "gtx-1080-ti.gpu", "include =", "include = own.host\n");
	write_changed("own.host", "x86-2017.host", "alloc_ns", "alloc_ns=160077#all blanks may be missing\n");
	if (!model_open(path_of("own.gpu"), NULL, &model, error))
		fail_msg("%s", error);
	assert_int_equal(model.alloc_ns, 160077);
	assert_string_equal(model.link.name, "pcie3");
	assert_string_equal(model.name, path_of("own.gpu"));
	write_changed("own.gpu", "gtx-1080-ti.gpu", "link =", "link = ./own.link\n");
	write_changed("own.link", "pcie3.link", "latency_ns", "latency_ns = 3\n");
	assert_true(model_open(path_of("own.gpu"), NULL, &model, error));
	assert_int_equal(model.link.latency_ns, 3);
	assert_int_equal(model.alloc_ns, 159000);
	/* what a file sets stands before what it includes, wherever the lines are */
	write_changed("own.gpu", "gtx-1080-ti.gpu", NULL, "alloc_ns = 5\n");
	assert_true(model_open(path_of("own.gpu"), NULL, &model, error));
	assert_int_equal(model.alloc_ns, 5);
}

static void open_own(struct model *model)
{
	if (!model_open(path_of("own.gpu"), NULL, model, error))
		fail_msg("%s", error);
}

/* A GPU that is another one but for a few keys. */
static void own_changes(void **state)
{
	struct model model;

	(void)state;
	write_file("own.gpu", "include = v100-sand\ntlb_shootdown = entry\n");
	open_own(&model);
	assert_int_equal(model.tlb_shootdown, MODEL_SHOOTDOWN_ENTRY);
	assert_int_equal(model.sms, 84);
	assert_string_equal(model.link.name, "sand2022");
	assert_non_null(strstr(model.title, "SAND2022"));
	assert_string_equal(model.name, path_of("own.gpu"));
	/* one that itself includes a host; the nearest file counts */
	write_file("base.gpu", "include = titan-v\nsms = 7\nwalk_ns = 9\nlink = ./own.link\n");
	write_file("own.gpu", "title = mine\ninclude = base.gpu\nwalk_ns = 8\n");
	write_changed("own.link", "pcie3.link", "latency_ns", "latency_ns = 4\n");
	open_own(&model);
	assert_int_equal(model.sms, 7);
	assert_int_equal(model.walk_ns, 8);
	assert_int_equal(model.alloc_ns, 450000);
	assert_int_equal(model.link.latency_ns, 4);
	assert_string_equal(model.title, "mine");
	assert_non_null(strstr(model.source, "Allen & Ge"));
	write_file("own.gpu", "include = base.gpu\nlink = nvlink1x2\n");
	open_own(&model);
	assert_string_equal(model.link.name, "nvlink1x2");
	assert_true(model_open(path_of("own.gpu"), "pcie5", &model, error));
	assert_string_equal(model.link.name, "pcie5");
}

static void bad_includes(void **state)
{
	struct model model;

	(void)state;
	write_file("own.gpu", "# again\ninclude = own.gpu\n");
	assert_false(model_open(path_of("own.gpu"), NULL, &model, error));
	assert_error("own.gpu:2: more than 4 GPUs include each other");
	/* the path of what it includes is shown without its own `./` */
	write_file("base.gpu", "sms = none\n");
	write_file("own.gpu", "title = mine\ninclude = ././base.gpu\n");
	assert_false(model_open(path_of("own.gpu"), NULL, &model, error));
	assert_error("base.gpu:1: sms: \"none\" is not a whole number");
	assert_null(strstr(error, "/./"));
	write_file("own.gpu", "include = titan-w\n");
	assert_false(model_open(path_of("own.gpu"), NULL, &model, error));
	assert_error("own.gpu:1: there is no host or GPU model \"titan-w\"");
	write_file("own.gpu", "include = base.gpu\n");
	write_file("base.gpu", "title = some\nsms = 4\n");
	assert_false(model_open(path_of("own.gpu"), NULL, &model, error));
	assert_error("own.gpu:1: source is missing");
}

static void assert_bad(const char *start, const char *line, const char *text)
{
	char place[64];
	struct model model;

	write_changed("bad.gpu", "titan-v.gpu", start, line);
	assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
	assert_error(text);
	snprintf(place, sizeof(place), "/bad.gpu:%u: ", line_of("titan-v.gpu", start));
	assert_error(place);
}

static void bad_numbers(void **state)
{
	(void)state;
	assert_bad("sms =", "sms = eighty\n", "sms: \"eighty\" is not a whole number");
	assert_bad("sms =", "sms = 8.5\n", "sms: \"8.5\" is not a whole number");
	assert_bad("sms =", "sms = -1\n", "is not a whole number");
	assert_bad("sms =", "sms = 0\n", "sms: 0 is out of range, 1..1024");
	assert_bad("sms =", "sms = 1025\n", "sms: 1025 is out of range, 1..1024");
	assert_bad("sms =", "sms = 99999999999999999999999\n", "out of range, 1..1024");
	assert_bad("sms =", "sms = 80 81\n", "sms: \"81\" is too much");
	assert_bad("memory_bytes =", "memory_bytes = 0\n", "memory_bytes: 0 is out of range, 2097152..");
	assert_bad("memory_bytes =", "memory_bytes = 12G\n", "\"12G\" is not a whole number");
	assert_bad("page_bytes =", "page_bytes = 8192\n", "page_bytes: 4096 or 65536");
	assert_bad("tlb_entry_bytes =", "tlb_entry_bytes = 5000\n", "tlb_entry_bytes: not a power of two");
	assert_bad("tlb_shootdown =", "tlb_shootdown = 1\n", "tlb_shootdown: entry or whole");
	assert_bad("l2_tlb_ns =", "l2_tlb_ns = none\n", "l2_tlb_ns: \"none\" is not a whole number");
	assert_bad("fault_entries =", "fault_entries = 65537\n",
	           "fault_entries: 65537 is out of range, 32..65536");
	assert_bad("utlb_entries =", "utlb_entries = 4097\n", "utlb_entries: 4097 is out of range, 1..4096");
	assert_bad("mshr_entries =", "mshr_entries = 1048577\n",
	           "mshr_entries: 1048577 is out of range, 0..");
	assert_bad("context_bytes =", "context_bytes = 65537\n", "context_bytes: 65537 is out of range, 0..");
	assert_bad("alloc_ns =", "alloc_ns = 1000000001\n", "alloc_ns: 1000000001 is out of range");
}

static void bad_lines(void **state)
{
	char line[MODEL_SOURCE_MAX + 32];

	(void)state;
	assert_bad("sms =", "smss = 80\n", "unknown key \"smss\"");
	assert_bad("sms =", "h2d = 4096 1000\n", "unknown key \"h2d\"");
	assert_bad("sms =", "sms 80\n", "not `key = value`");
	assert_bad("sms =", "sms =\n", "not `key = value`");
	assert_bad("sms =", "= 80\n", "not `key = value`");
	assert_bad("sms =", "sms = # 80\n", "not `key = value`");
	assert_bad("sms =", "sms = 80\t\n", "control character");
	snprintf(line, sizeof(line), "source = %0*d\n", MODEL_SOURCE_MAX, 1);
	assert_bad("source =", line, "source is longer than");
	assert_bad("link =", "link = pcie9\n", "there is no link \"pcie9\"");
	assert_bad("link =", "link = ./gone.link\n", "gone.link: No such file");
	assert_bad("include =", "include = pdp11\n", "there is no host or GPU model \"pdp11\"");
}

/* What is missing is reported at the end of the file. */
static void repeated_and_missing(void **state)
{
	static const char *const needed[] = {"title",      "source",         "link",  "sms",
	                                     "page_bytes", "fault_write_ns", "gflops"};
	struct model model;
	char text[64];

	(void)state;
	write_changed("bad.gpu", "titan-v.gpu", NULL, "sms = 80\n");
	assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
	snprintf(text, sizeof(text), "sms is given twice; the first is in line %u", line_of("titan-v.gpu", "sms ="));
	assert_error(text);
	write_changed("bad.gpu", "titan-v.gpu", NULL, "link = pcie3\n");
	assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
	assert_error("link is given twice; the first is in line");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		snprintf(text, sizeof(text), "%s =", needed[i]);
		write_changed("bad.gpu", "titan-v.gpu", text, "# gone\n");
		assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
		snprintf(text, sizeof(text), ": %s is missing", needed[i]);
		assert_error(text);
		assert_error("/bad.gpu:");
	}
	/* without the host its costs are missing */
	write_changed("bad.gpu", "titan-v.gpu", "include =", "# gone\n");
	assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
	assert_error("replay_ns is missing");
	/* but a key that files of users may be too old for */
	write_changed("bad.gpu", "gtx-1080-ti.gpu", "include =", "include = bad.host\n");
	write_changed("bad.host", "x86-2017.host", "skip_ns =", "# gone\n");
	assert_true(model_open(path_of("bad.gpu"), NULL, &model, error));
	assert_int_equal(model.skip_ns, 0);
	write_file("empty.gpu", "");
	assert_false(model_open(path_of("empty.gpu"), NULL, &model, error));
	assert_error("empty.gpu:1: title is missing");
}

static void bad_hosts(void **state)
{
	struct model model;

	(void)state;
	write_changed("bad.gpu", "titan-v.gpu", "include =", "include = bad.host\n");
	write_changed("bad.host", "x86-2017.host", "copy_ns", "copy_ns = many\n");
	assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
	assert_error("/bad.host:");
	assert_error("copy_ns: \"many\"");
	/* a host includes nothing and has no link */
	write_changed("bad.host", "x86-2017.host", "copy_ns", "include = x86-2017\n");
	assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
	assert_error("unknown key \"include\"");
	write_changed("bad.host", "x86-2017.host", "copy_ns", "# gone\n");
	assert_false(model_open(path_of("bad.gpu"), NULL, &model, error));
	assert_error("/bad.gpu:");
	assert_error("copy_ns is missing");
}

static void assert_bad_link(const char *rows, const char *text)
{
	char file[512];
	struct model_link link;

	snprintf(file, sizeof(file), "title = t\nsource = s\n%s", rows);
	write_file("bad.link", file);
	assert_false(model_open_link(path_of("bad.link"), &link, error));
	assert_error(text);
}

static void bad_links(void **state)
{
	char file[2048] = "";

	(void)state;
	assert_bad_link("latency_ns = 0\nd2h = 1 1\n", "bad.link:4: h2d is missing");
	assert_bad_link("latency_ns = 0\nh2d = 1 1\n", "bad.link:4: d2h is missing");
	assert_bad_link("h2d = 1 1\nd2h = 1 1\n", "bad.link:4: latency_ns is missing");
	assert_bad_link("latency_ns = 0\nlatency_ns = 0\n",
	                "bad.link:4: latency_ns is given twice; the first is in line 3");
	assert_bad_link("h2d_request_bytes = 1000001\n", "h2d_request_bytes: 1000001 is out of range, 0..1000000");
	assert_bad_link("d2h_request_bytes = 1\nd2h_request_bytes = 1\n",
	                "bad.link:4: d2h_request_bytes is given twice; the first is in line 3");
	assert_bad_link("latency_ns = 1000001\n", "out of range, 0..1000000");
	assert_bad_link("latency_ns = 1 2\n", "\"2\" is too much");
	assert_bad_link("h2d = 4096\n", "bad.link:3: h2d: two numbers, BYTES MB_PER_S");
	assert_bad_link("h2d = 4096 1 1\n", "bad.link:3: h2d: \"1\" is too much");
	assert_bad_link("h2d = 0 1\n", "h2d: 0 is out of range, 1..4294967295");
	assert_bad_link("h2d = 1 0\n", "h2d: 0 is out of range, 1..100000000");
	assert_bad_link("h2d = 4k 1\n", "\"4k\" is not a whole number");
	assert_bad_link("h2d = 8192 4\nh2d = 8192 8\n",
	                "bad.link:4: h2d: 8192 bytes after 8192; points ascend");
	assert_bad_link("h2d = 4096 1000\nh2d = 8192 4000\n",
	                "bad.link:4: h2d: 8192 bytes in 2048 ns, less than the 4096 ns of 4096 bytes");
	assert_bad_link("latency_ns = 900\nh2d = 4096 4096\nd2h = 4096 8192\n",
	                "bad.link:3: latency_ns: the first point of d2h takes 500 ns only");
	assert_bad_link("sms = 80\n", "bad.link:3: unknown key \"sms\"");
	assert_bad_link("formula = pcie\n", "bad.link:3: formula: there is only uvmsmart");
	assert_bad_link("formula = uvmsmart\nformula = uvmsmart\n", "bad.link:4: formula is given twice");
	assert_bad_link("formula = uvmsmart\nclock_mhz = 1\n", "bad.link:4: gbps is missing");
	assert_bad_link("formula = uvmsmart\ngbps = 16\n", "bad.link:4: clock_mhz is missing");
	assert_bad_link("formula = uvmsmart\ngbps = 24\nclock_mhz = 1\n", "bad.link:4: gbps: 16, 32 or 64");
	assert_bad_link("gbps = 65\n", "gbps: 65 is out of range, 16..64");
	assert_bad_link("clock_mhz = 0\n", "clock_mhz: 0 is out of range, 1..65535");
	assert_bad_link("clock_mhz = 1\nclock_mhz = 1\n", "bad.link:4: clock_mhz is given twice");
	assert_bad_link("formula = uvmsmart\ngbps = 16\nclock_mhz = 1\nlatency_ns = 1\n",
	                "bad.link:6: with a formula there is no latency_ns and no point");
	assert_bad_link("d2h = 1 1\nformula = uvmsmart\ngbps = 16\nclock_mhz = 1\n",
	                "bad.link:3: with a formula there is no latency_ns and no point");
	assert_bad_link("latency_ns = 0\nclock_mhz = 1\n", "bad.link:4: gbps and clock_mhz are of a formula");
	assert_bad_link("gbps = 16\nclock_mhz = 1\n", "bad.link:4: gbps and clock_mhz are of a formula");
	for (unsigned i = 1; i <= MODEL_POINTS_MAX + 1; i++)
		snprintf(file + strlen(file), sizeof(file) - strlen(file), "h2d = %u 1\n", i);
	assert_true(strlen(file) < 480);
	assert_bad_link(file, "h2d: more than 32 points");
}

static void no_such_file(void **state)
{
	char name[2 * MODEL_NAME_MAX];
	struct model model;

	(void)state;
	assert_false(model_open("titan", NULL, &model, error));
	assert_error("there is no GPU model \"titan\"");
	assert_false(model_open("", NULL, &model, error));
	assert_error("there is no GPU model \"\"");
	assert_false(model_open("pcie3", NULL, &model, error));
	assert_false(model_open("gone.gpu", NULL, &model, error));
	assert_error("gone.gpu: No such file");
	assert_false(model_open("/", NULL, &model, error));
	assert_error("/:1: cannot be read");
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	assert_false(model_open(name, NULL, &model, error));
	assert_error("is too long");
}

/* -- the arithmetic of docs/models.md -- */

/* nvprof on a GTX 1080 Ti (UVM Smart artifact): fault groups with one fault each, whose copies and whose
 * whole time were recorded; the model's steps before the copies, the copies, and 1.3 us after them. */
static void single_faults(void **state)
{
	static const struct {
		uint32_t pages;
		double copies_us, group_us;
	} row[] = {{16, 7.65, 23.92},
	           {32, 12.96, 31.84},
	           {64, 23.58, 49.78},
	           {128, 45.11, 84.52},
	           {256, 88.19, 157.23}};
	struct model m;

	(void)state;
	assert_true(model_open("gtx-1080-ti", NULL, &m, error));
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t ns = m.interrupt_ns + m.wakeup_ns + m.batch_ns + m.fetch_ns + m.order_ns +
		              m.block_ns + m.unmap_ns + m.copy_ns +
		              row[i].pages * (m.page_ns + m.unmap_page_ns) + 1300;
		double share = ((double)ns / 1000 + row[i].copies_us) / row[i].group_us;

		if (share < 0.95 || share > 1.05)
			fail_msg("%u pages: %.3f of what was measured", row[i].pages, share);
	}
}

/* The nine runs of the same artifact: bytes and their times, fault groups, pages and evicted MiB give the
 * time spent in fault groups, with 256 entries in each. */
static void program_runs(void **state)
{
	static const struct {
		const char *program;
		double groups, in_us, back_us, pages, evicted_mib, us;
	} row[] = {{"backprop 100", 69, 2716, 745, 6832, 9.13, 10713},
	           {"backprop 125", 68, 2722, 748, 6864, 9.25, 10964},
	           {"backprop 150", 102, 3290, 1066, 7856, 13.13, 14562},
	           {"bfs 100", 5305, 817509, 527731, 1637694, 6478.7, 2180606},
	           {"bfs 125", 18219, 3912569, 2317905, 7272194, 28259.2, 9718214},
	           {"bfs 150", 72888, 12956106, 7476827, 23364504, 90791.9, 33502056},
	           {"hotspot 100", 99, 4249, 3372, 11264, 42, 19608},
	           {"hotspot 125", 169, 5940, 4566, 14384, 56.19, 29651},
	           {"hotspot 150", 187, 6790, 5167, 16208, 63.31, 31404}};
	struct model m;

	(void)state;
	assert_true(model_open("gtx-1080-ti", NULL, &m, error));
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		double group = m.interrupt_ns + m.wakeup_ns + m.batch_ns + m.block_ns + m.unmap_ns +
		               m.copy_ns + 1300 + 256.0 * (m.fetch_ns + m.order_ns);
		double root = m.evict_ns + 512.0 * (m.page_ns + m.map_page_ns);
		double us = row[i].in_us + row[i].back_us +
		            row[i].pages * (m.page_ns + m.unmap_page_ns) / 1000 +
		            row[i].groups * group / 1000 + row[i].evicted_mib / 2 * root / 1000;

		print_message("%-14s %9.0f us, measured %9.0f: %+.1f %%\n", row[i].program, us, row[i].us,
		              (us / row[i].us - 1) * 100);
		if (us < 0.93 * row[i].us || us > 1.07 * row[i].us)
			fail_msg("%s: %.0f us, measured %.0f", row[i].program, us, row[i].us);
	}
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	static const char *const names[] = {"base.gpu", "by-hand.link", "own.gpu",  "own.host", "own.link",
	                                    "bad.gpu",  "bad.host",     "bad.link", "empty.gpu", "old.link",
	                                    "ranges.gpu", "ranges.link", "no_value.host", "plain.host", "plain.link"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(names[i]));
	return rmdir(folder);
}

/* Only a GPU that is coherent with the CPU has access counters by default. */
static void coherence(void **state)
{
	struct model model;

	(void)state;
	for (const struct model_file *file = model_files; file->name; file++) {
		const char *name = stem(file->name, ".gpu");

		if (!name)
			continue;
		assert_true(model_open(name, NULL, &model, error));
		assert_int_equal(model.has_ats, strcmp(name, "gh200") == 0);
		/* Pascal */
		assert_int_equal(model.lacks_counters, strcmp(name, "gtx-1080-ti") == 0 || strcmp(name, "titan-xp") == 0 ||
							       strncmp(name, "p100-", 5) == 0);
	}
}

/* -- ranges -- */

/* A GPU that includes titan-v. */
static void write_ranges(const char *lines)
{
	char text[1024];

	snprintf(text, sizeof(text), "include = titan-v\n%s", lines);
	write_file("ranges.gpu", text);
}

static void bad_ranges(void **state)
{
	static const struct {
		const char *lines, *text;
	} bad[] = {
		{"range = walk_ns 100\n", "ranges.gpu:2: range: KEY LOW..HIGH, whole numbers"},
		{"range = walk_ns\n", "range: KEY LOW..HIGH"},
		{"range = walk_ns 400..200\n", "range: KEY LOW..HIGH"},
		{"range = walk_ns 200..400 1\n", "range: KEY LOW..HIGH"},
		{"range = walk_ns 1..x\n", "range: KEY LOW..HIGH"},
		{"range = walk_ns 1..4294967296\n", "range: KEY LOW..HIGH"},
		{"range = a_key_that_is_longer_than_any 1..2\n", "range: KEY LOW..HIGH"},
		{"range = walk_ns 1..200\n", "ranges.gpu:2: range: 1..200 does not contain walk_ns, 300"},
		{"range = walk_ns 301..400\n", "does not contain walk_ns, 300"},
		{"range = walk_ns 1..1000001\n", "range: walk_ns is out of range, 0..1000000"},
		{"\nrange = walk 1..2\n", "ranges.gpu:3: range: \"walk\" is no key that can have one"},
		{"range = memory_bytes 1..2\n", "\"memory_bytes\" is no key that can have one"},
		{"range = page_bytes 4096..65536\n", "\"page_bytes\" is no key that can have one"},
		{"range = sync_frees 0..1\n", "\"sync_frees\" is no key that can have one"},
		{"range = speed_percent 50..200\n", "\"speed_percent\" is no key that can have one"},
		{"range = host_percent 101..200\n", "does not contain host_percent, 100"},
		{"range = host_percent 0..200\n", "host_percent is out of range, 1..10000"},
		{"range = walk_ns 1..900\nrange = walk_ns 2..900\n", "ranges.gpu:3: range: walk_ns has a range already"},
		{"sum = walk_ns l2_tlb_ns\n", "ranges.gpu:2: sum: walk_ns has no range above"},
		{"range = walk_ns 1..900\nsum = walk_ns\n", "sum: two keys or more"},
		{"range = walk_ns 1..900\nsum = walk_ns walk_ns\n", "sum: walk_ns is in a sum already"},
		{"range = host_percent 50..200\nrange = walk_ns 1..900\nsum = host_percent walk_ns\n",
		 "ranges.gpu:2: sum: host_percent is a factor, and can be in none"},
	};
	struct model model;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_ranges(bad[i].lines);
		assert_false(model_open(path_of("ranges.gpu"), NULL, &model, error));
		assert_error(bad[i].text);
	}
	/* a value that is missing is the first thing to say */
	write_file("no_value.host", "title = t\nsource = s\nrange = walk_ns 1..2\n");
	write_file("ranges.gpu", "title = t\nsource = s\nlink = pcie3\ninclude = ./no_value.host\n");
	assert_false(model_open(path_of("ranges.gpu"), NULL, &model, error));
	assert_error("ranges.gpu:4: sms is missing");
	write_file("ranges.link", "title = t\nsource = s\nformula = uvmsmart\ngbps = 16\nclock_mhz = 1000\n"
				  "range = speed_percent 50..200\n");
	assert_false(model_open("titan-v", path_of("ranges.link"), &model, error));
	assert_error("ranges.link:6: range: \"speed_percent\" is no key that can have one");
	write_file("ranges.link", "title = t\nsource = s\nlatency_ns = 1\nh2d = 4096 1000\nd2h = 4096 1000\n"
				  "h2d_request_bytes = 9\nrange = h2d_request_bytes 10..20\n");
	assert_false(model_open("titan-v", path_of("ranges.link"), &model, error));
	assert_error("ranges.link:7: range: 10..20 does not contain h2d_request_bytes, 9");
	write_file("ranges.link", "title = t\nsource = s\nlatency_ns = 1\nh2d = 4096 1000\nd2h = 4096 1000\n"
				  "h2d_request_bytes = 9\nrange = h2d_request_bytes 1..20\nrange = speed_percent 50..200\n"
				  "sum = h2d_request_bytes speed_percent\n");
	assert_false(model_open("titan-v", path_of("ranges.link"), &model, error));
	assert_error("ranges.link:7: sum: keys of a link can be in none");
}

static uint32_t count_ranges(struct model *model, const char *key, uint32_t *high)
{
	struct model_range *range = model_ranges_find(&model->ranges, key);

	*high = range ? range->high : 0;
	return range != NULL;
}

/* A range belongs to a value: a file that sets the value drops the included range, a file that sets a range keeps the value. */
static void ranges_of_includes(void **state)
{
	struct model base, model;
	uint32_t high;

	(void)state;
	assert_true(model_open("titan-v", NULL, &base, error));
	assert_true(count_ranges(&base, "walk_ns", &high) && high == 600);
	assert_true(count_ranges(&base, "alloc_ns", &high) && high == 550000); /* its own, not that of the host */
	assert_true(count_ranges(&base, "map_ns", &high));
	write_ranges("map_ns = 7\nrange = walk_ns 1..999\nrange = host_percent 50..200\n");
	assert_true(model_open(path_of("ranges.gpu"), NULL, &model, error));
	assert_false(count_ranges(&model, "map_ns", &high));
	assert_true(count_ranges(&model, "walk_ns", &high) && high == 999);
	assert_int_equal(model_uncertain(&model) + 1, model_uncertain(&base)); /* one less, one replaced */
}

/* A model with costs of another machine's host has a range for all of them together; the host's own machine has none. */
static void ranges_of_inherited_costs(void **state)
{
	static const char *const inherit[] = {"p100-pcie", "p100-nvlink", "v100-pcie", "titan-v", "titan-v-logged", "titan-xp",
					      "a100-pcie", "h100-sxm", "gh200"};
	struct model model;
	uint32_t high;

	(void)state;
	for (size_t i = 0; i < sizeof(inherit) / sizeof(inherit[0]); i++) {
		assert_true(model_open(inherit[i], NULL, &model, error));
		assert_true(count_ranges(&model, "host_percent", &high) && high == 200);
	}
	assert_true(model_open("gtx-1080-ti", NULL, &model, error));
	assert_false(count_ranges(&model, "host_percent", &high));
}

/* The fields of a model that a draw may change, as the numbers of the structure. */
static void assert_in_ranges(struct model *model, struct model *drawn)
{
	const struct {
		const char *key;
		uint32_t value;
	} free_ones[] = {{"walk_ns", drawn->walk_ns},	      {"l2_tlb_ns", drawn->l2_tlb_ns},
			 {"utlb_faults", drawn->utlb_faults}, {"fault_ns", drawn->fault_ns},
			 {"alloc_ns", drawn->alloc_ns},	      {"map_ns", drawn->map_ns}};

	for (size_t i = 0; i < sizeof(free_ones) / sizeof(free_ones[0]); i++) {
		const struct model_range *range = model_ranges_find(&model->ranges, free_ones[i].key);

		assert_non_null(range);
		assert_in_range(free_ones[i].value, range->low, range->high);
	}
	assert_int_equal(drawn->interrupt_ns + drawn->wakeup_ns + drawn->batch_ns + drawn->block_ns +
				 drawn->unmap_ns + drawn->copy_ns,
			 model->interrupt_ns + model->wakeup_ns + model->batch_ns + model->block_ns +
				 model->unmap_ns + model->copy_ns);
	assert_int_equal(drawn->page_ns + drawn->unmap_page_ns, model->page_ns + model->unmap_page_ns);
	/* no range */
	assert_int_equal(drawn->sms, model->sms);
	assert_int_equal(drawn->memory_bytes, model->memory_bytes);
	assert_int_equal(drawn->replay_ns, model->replay_ns);
}

static void draws(void **state)
{
	static struct model model, drawn, again;
	unsigned below = 0, above = 0, moved = 0;
	uint32_t before = 0;

	(void)state;
	write_ranges("range = host_percent 100..100\n"); /* so that each cost stays in its own range */
	assert_true(model_open(path_of("ranges.gpu"), NULL, &model, error));
	assert_true(model_uncertain(&model) > 20);
	model_draw(&model, 1, 0, &drawn);
	assert_memory_equal(&drawn, &model, sizeof(model));
	for (uint32_t draw = 1; draw <= 1000; draw++) {
		model_draw(&model, 7, draw, &drawn);
		model_draw(&model, 7, draw, &again);
		assert_memory_equal(&drawn, &again, sizeof(model));
		assert_in_ranges(&model, &drawn);
		below += drawn.walk_ns < model.walk_ns;
		above += drawn.walk_ns > model.walk_ns;
		moved += drawn.walk_ns != before;
		before = drawn.walk_ns;
	}
	assert_in_range(below, 440, 560);
	assert_in_range(above, 440, 560);
	assert_true(moved > 900);
	model_draw(&model, 8, 1, &drawn);
	model_draw(&model, 7, 1, &again);
	assert_int_not_equal(drawn.walk_ns, again.walk_ns);
}

/* All costs of the driver by one factor; all times of the link by another, which never makes times fall. */
static void draws_of_percent(void **state)
{
	static struct model model, drawn;
	bool was_faster = false, was_slower = false;

	(void)state;
	write_file("plain.host", "title = t\nsource = s\nrange = host_percent 50..200\n");
	write_file("plain.link", "title = t\nsource = s\nlatency_ns = 500\nh2d = 4096 4000\nh2d = 65536 8000\n"
				 "d2h = 4096 4000\nrange = speed_percent 50..200\nh2d_request_bytes = 50\n"
				 "range = h2d_request_bytes 25..100\n");
	write_ranges("range = host_percent 50..200\nfault_ns = 1000\nlink = ./plain.link\nbatch_ns = 2000\n");
	assert_true(model_open(path_of("ranges.gpu"), NULL, &model, error));
	for (uint32_t draw = 1; draw <= 100; draw++) {
		uint64_t before = 0;

		model_draw(&model, 1, draw, &drawn);
		assert_in_range(drawn.batch_ns, 1000, 4000);
		assert_int_equal(drawn.fault_ns, (drawn.batch_ns + 1) / 2); /* the same factor */
		assert_in_range(drawn.link.request_bytes[MODEL_TO_GPU], 25, 100);
		for (uint64_t bytes = 1; bytes < 200000; bytes += 100) {
			uint64_t ns = model_link_ns(&drawn, MODEL_TO_GPU, bytes);
			uint64_t own = model_link_ns(&model, MODEL_TO_GPU, bytes);

			assert_true(ns >= before);
			assert_in_range(ns, own / 2 - 2, own * 2 + 2);
			was_faster = was_faster || ns < own;
			was_slower = was_slower || ns > own;
			before = ns;
		}
	}
	assert_true(was_faster && was_slower);
}

/* A sum never takes a key beyond its limits: a GPU of no SM could not run. */
static void draws_within_limits(void **state)
{
	static struct model model, drawn;
	bool was_least = false;

	(void)state;
	write_ranges("sms = 10\nrange = sms 1..100\nblocks_per_sm = 2\nrange = blocks_per_sm 1..200\n"
		     "sum = sms blocks_per_sm\n");
	assert_true(model_open(path_of("ranges.gpu"), NULL, &model, error));
	for (uint32_t draw = 1; draw <= 200; draw++) {
		model_draw(&model, 1, draw, &drawn);
		assert_in_range(drawn.sms, 1, 1024);
		assert_in_range(drawn.blocks_per_sm, 1, 256);
		was_least = was_least || drawn.sms == 1;
	}
	assert_true(was_least);
}

/* An impossible GPU is drawn again: what remains is spread over all possible pairs, and those alone. */
static void draws_of_possible_gpus(void **state)
{
	static struct model model, drawn;
	unsigned close = 0, apart = 0;

	(void)state;
	write_ranges("walk_ns = 300\nrange = walk_ns 100..900\nl2_tlb_ns = 200\nrange = l2_tlb_ns 0..800\n"
		     "utlb_entries = 16\nrange = utlb_entries 1..100\nl2_tlb_entries = 16\n"
		     "range = l2_tlb_entries 1..100\n");
	assert_true(model_open(path_of("ranges.gpu"), NULL, &model, error));
	for (uint32_t draw = 1; draw <= 1000; draw++) {
		model_draw(&model, 1, draw, &drawn);
		assert_true(drawn.l2_tlb_ns <= drawn.walk_ns);
		assert_true(drawn.utlb_entries <= drawn.l2_tlb_entries);
		close += drawn.walk_ns - drawn.l2_tlb_ns < 50;
		apart += drawn.walk_ns - drawn.l2_tlb_ns > 400;
	}
	assert_true(close > 20 && close < 200); /* no pile of clamped draws */
	assert_true(apart > 100);
}

/* Ranges that allow nothing but the numbers of the model: those are taken, after many draws. */
static void draws_that_stay_impossible(void **state)
{
	static struct model model, drawn;
	unsigned own = 0;

	(void)state;
	write_ranges("walk_ns = 500\nrange = walk_ns 0..500\nl2_tlb_ns = 500\nrange = l2_tlb_ns 500..1000000\n"
		     "utlb_faults = 16\nrange = utlb_faults 1..1000\n");
	assert_true(model_open(path_of("ranges.gpu"), NULL, &model, error));
	for (uint32_t draw = 1; draw <= 100; draw++) {
		model_draw(&model, 1, draw, &drawn);
		assert_int_equal(drawn.walk_ns, 500);
		assert_int_equal(drawn.l2_tlb_ns, 500);
		own += drawn.utlb_faults == 16;
	}
	assert_true(own < 20); /* what is in no order is drawn as ever */
}

/* A model that says so itself has a second level that is no second level: its draws may break that order, too. */
static void draws_of_impossible_models(void **state)
{
	static struct model model, drawn;
	bool was_below = false;

	(void)state;
	write_ranges("utlb_entries = 64\nl2_tlb_entries = 1\nrange = utlb_entries 1..100\n");
	assert_true(model_open(path_of("ranges.gpu"), NULL, &model, error));
	for (uint32_t draw = 1; draw <= 50; draw++) {
		model_draw(&model, 1, draw, &drawn);
		was_below = was_below || drawn.utlb_entries < 64;
		assert_int_equal(drawn.l2_tlb_entries, 1);
	}
	assert_true(was_below);
}

/* Every GPU states how far its estimates may be off. */
static void every_gpu_has_ranges(void **state)
{
	(void)state;
	for (const struct model_file *file = model_files; file->name; file++) {
		struct model model;

		if (!stem(file->name, ".gpu"))
			continue;
		assert_true(model_open(stem(file->name, ".gpu"), NULL, &model, error));
		assert_true(model_uncertain(&model) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_model_loads),
	        cmocka_unit_test(every_link_loads),
	        cmocka_unit_test(every_number_has_a_source),
	        cmocka_unit_test(names_are_sorted),
	        cmocka_unit_test(published_numbers),
	        cmocka_unit_test(another_link),
	        cmocka_unit_test(requests),
	        cmocka_unit_test(list_names_all),
	        cmocka_unit_test(sand_table),
	        cmocka_unit_test(uvmsmart_cycles),
	        cmocka_unit_test(measured_means),
	        cmocka_unit_test(minsky_copies),
	        cmocka_unit_test(times_never_fall),
	        cmocka_unit_test(proportions),
	        cmocka_unit_test(own_files),
	        cmocka_unit_test(own_changes),
	        cmocka_unit_test(bad_includes),
	        cmocka_unit_test(bad_numbers),
	        cmocka_unit_test(bad_lines),
	        cmocka_unit_test(repeated_and_missing),
	        cmocka_unit_test(bad_hosts),
	        cmocka_unit_test(bad_links),
	        cmocka_unit_test(no_such_file),
	        cmocka_unit_test(coherence),
	        cmocka_unit_test(bad_ranges),
	        cmocka_unit_test(ranges_of_includes),
	        cmocka_unit_test(ranges_of_inherited_costs),
	        cmocka_unit_test(draws),
	        cmocka_unit_test(draws_of_percent),
	        cmocka_unit_test(draws_within_limits),
	        cmocka_unit_test(draws_of_possible_gpus),
	        cmocka_unit_test(draws_that_stay_impossible),
	        cmocka_unit_test(draws_of_impossible_models),
	        cmocka_unit_test(every_gpu_has_ranges),
	        cmocka_unit_test(single_faults),
	        cmocka_unit_test(program_runs),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
