/* Tests of the calibration of real GPUs: fits of synthetic measurements, the reader, and the model that comes out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../adapters/cuda/measurements.h"
#include "model.h"

static uint64_t state = 1;

/* -1..1 */
static double noise(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(int64_t)state / 9223372036854775808.0;
}

static void assert_near(double have, double want, double part)
{
	if (fabs(have - want) > part * want)
		fail_msg("%.3f is not within %.1f %% of %.3f", have, 100 * part, want);
}

static const double known[TERMS] = {5000, 11000, 270, 2400, 3300, 20, 2500, 220};

/* Runs of different mixtures, of which each value is off by up to `part`. */
static size_t synthetic(struct fit_row *row, double part)
{
	size_t rows = 0;

	for (unsigned groups = 1; groups <= 64; groups *= 4)
		for (unsigned faults = 1; faults <= 256; faults *= 4)
			for (unsigned blocks = 1; blocks <= faults; blocks *= 4)
				for (unsigned moved = 0; moved < 2; moved++) {
					double serviced = blocks * 2 < faults ? faults / 2.0 : faults, pages = faults * (blocks == 1 ? 1 : blocks == 4 ? 5 : 16);
					double count[TERMS] = {1, groups, (double)groups * faults, groups * serviced, (double)groups * blocks,
							       groups * pages, moved * groups * blocks, moved * groups * pages};

					memset(&row[rows], 0, sizeof(row[rows]));
					memcpy(row[rows].count, count, sizeof(count));
					for (size_t i = 0; i < TERMS; i++)
						row[rows].value += count[i] * known[i];
					row[rows].value *= 1 + part * noise();
					rows++;
				}
	return rows;
}

static void exact_runs(void **unused)
{
	static struct fit_row row[FIT_ROWS_MAX];
	struct fit fit;

	(void)unused;
	assert_true(fit_rows(row, synthetic(row, 0), TERMS, &fit));
	for (size_t i = 0; i < TERMS; i++) {
		assert_true(fit.is_known[i]);
		assert_near(fit.coefficient[i], known[i], 1e-4);
	}
	assert_true(fit.worst < 1e-6);
}

/* With noise the constants are within four of their standard errors. */
static void noisy_runs(void **unused)
{
	static struct fit_row row[FIT_ROWS_MAX];
	struct fit fit;

	(void)unused;
	assert_true(fit_rows(row, synthetic(row, 0.03), TERMS, &fit));
	for (size_t i = 0; i < TERMS; i++) {
		assert_true(fit.is_known[i] && fit.error[i] > 0);
		if (fabs(fit.coefficient[i] - known[i]) > 4 * fit.error[i])
			fail_msg("term %zu: %.1f, not %.1f, error %.1f", i, fit.coefficient[i], known[i], fit.error[i]);
	}
	assert_near(fit.coefficient[TERM_SERVICED], known[TERM_SERVICED], 0.1);
	assert_near(fit.coefficient[TERM_GROUP], known[TERM_GROUP], 0.1);
}

static void what_is_not_determined(void **unused)
{
	struct fit_row row[4];
	struct fit fit;

	(void)unused;
	/* two columns that are always the same: one is dropped, the sum is right */
	for (unsigned i = 0; i < 4; i++)
		row[i] = (struct fit_row){.count = {1, i, i}, .value = 100 + 30.0 * i};
	assert_true(fit_rows(row, 4, 3, &fit));
	assert_true(fit.is_known[1] != fit.is_known[2]);
	assert_near(fit.coefficient[1] + fit.coefficient[2], 30, 1e-6);
	/* a term that would be negative is dropped, too */
	for (unsigned i = 0; i < 4; i++)
		row[i] = (struct fit_row){.count = {1, i}, .value = 100 - i};
	assert_true(fit_rows(row, 4, 2, &fit));
	assert_true(fit.is_known[0] && !fit.is_known[1] && fit.coefficient[1] == 0);
	assert_false(fit_rows(row + 1, 1, 2, &fit));
	assert_false(fit_rows(row, 0, 2, &fit));
	row[2].value = 0;
	assert_false(fit_rows(row, 4, 2, &fit));
}

static void lines(void **unused)
{
	static const double bytes[] = {4096, 65536, 1048576, 67108864};
	double ns[4];
	struct fit_line line;

	(void)unused;
	for (int i = 0; i < 4; i++)
		ns[i] = 800 + bytes[i] / 11.6;
	assert_true(fit_line(bytes, ns, 4, &line));
	assert_near(line.start_ns, 800, 1e-6);
	assert_near(line.bytes_per_ns, 11.6, 1e-6);
	assert_false(fit_line(bytes, ns, 1, &line));
}

static void steps_of_a_curve(void **unused)
{
	double bytes[100], ns[100];
	struct fit_steps steps;

	(void)unused;
	for (int i = 0; i < 100; i++) {
		bytes[i] = 2097152.0 * (i + 1);
		ns[i] = (i < 16 ? 400 : i < 64 ? 500 : 700) * (1 + 0.02 * noise());
	}
	ns[5] = 600; /* one value that is off is no step */
	assert_true(fit_steps(bytes, ns, 100, &steps));
	assert_int_equal(steps.steps, 2);
	assert_near(steps.bytes[0], 16 * 2097152.0, 1e-9);
	assert_near(steps.bytes[1], 64 * 2097152.0, 1e-9);
	assert_near(steps.ns[0], 400, 0.02);
	assert_near(steps.ns[1], 500, 0.02);
	assert_near(steps.ns[2], 700, 0.02);
	assert_true(fit_steps(bytes, ns, 16, &steps));
	assert_int_equal(steps.steps, 0);
	bytes[3] = bytes[2];
	assert_false(fit_steps(bytes, ns, 100, &steps));
	assert_false(fit_steps(bytes, ns, 1, &steps));
}

/* -- files -- */

static char error[MEASUREMENTS_ERROR_MAX];
static struct measurements measured;

static bool read_text(const char *text)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	bool is_good;

	assert_non_null(in);
	is_good = measurements_read(in, "m.txt", &measured, error);
	fclose(in);
	return is_good;
}

#define GPU_LINE "gpu,a,1,2,3,4,5,2097152,1024,4096\n"

static void bad_files(void **unused)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"uvmp-trace 1\n", "m.txt:1: the first line is not `uvmp-measurements 1`"},
		{"uvmp-measurements 1\n", "m.txt:1: no measurements"},
		{"uvmp-measurements 1\nx,1\n", "m.txt:2: unknown kind of line"},
		{"uvmp-measurements 1\n\n# a\ncopy,h2d,1\n", "m.txt:4: copy,h2d|d2h,BYTES,NS"},
		{"uvmp-measurements 1\ncopy,up,1,2\n", "copy,h2d|d2h,BYTES,NS"},
		{"uvmp-measurements 1\ncopy,h2d,1,-2\n", "not a number from 0 to 1e18"},
		{"uvmp-measurements 1\ncopy,h2d,1,2x\n", "not a number from 0 to 1e18"},
		{"uvmp-measurements 1\ncopy,h2d,1,nan\n", "not a number from 0 to 1e18"},
		{"uvmp-measurements 1\ncopy,h2d,0,2\n", "0 is not possible"},
		{"uvmp-measurements 1\ngpu,a,1,2,3\n", "gpu,NAME and eight numbers"},
		{"uvmp-measurements 1\ngpu,a,0,2,3,4,5,6,7,8\n", "m.txt:2: gpu: sms: 0 is out of range, 1..1024"},
		{"uvmp-measurements 1\ngpu,a,4000,2,3,4,5,6,7,8\n", "m.txt:2: gpu: sms: 4000 is out of range, 1..1024"},
		{"uvmp-measurements 1\ngpu,a,1,2,3,4,5,2097152,1024,8\n", "page_bytes: 8 is out of range, 4096..65536"},
		{"uvmp-measurements 1\n" GPU_LINE GPU_LINE, "m.txt:3: a second line `gpu`"},
		{"uvmp-measurements 1\nutlb,28,4", "m.txt:2: the line does not end: the file is cut"},
		{"uvmp-measurements 1\nutlb,28,1000000000000\n", "utlb: more than 65536 faults of a uTLB"},
		{"uvmp-measurements 1\nremote,2000000\n", "remote: more than 1000000 ns"},
		{"uvmp-measurements 1\r\nutlb,28,4\r\n", "m.txt:1: the line ends with a carriage return"},
		{"uvmp-measurements 1\ngpu,a,1.5,2,3,4,5,6,7,8\n", "not a whole number"},
		{"uvmp-measurements 1\ngpu,a#b,1,2,3,4,5,6,7,8\n", "the name is longer"},
		{"uvmp-measurements 1\nrun,a,5,6,1,1,1,1,1,1,1\n", "the copies take longer than the run"},
		{"uvmp-measurements 1\nrun,a,5\n", "run,NAME,NS,COPY_NS,GROUPS"},
		{"uvmp-measurements 1\na,b,c,d,e,f,g,h,i,j,k,l,m\n", "too many fields"},
		{"uvmp-measurements 1\nutlb,1\n", "utlb,UTLBS,FAULTS"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(read_text(bad[i].text));
		if (!strstr(error, bad[i].error))
			fail_msg("\"%s\" is not in \"%s\"", bad[i].error, error);
	}
}

/* Measurements of a made-up GPU on a shipped link; the runs are exact. */
static char *measure(const struct model *link_of)
{
	static struct fit_row row[FIT_ROWS_MAX];
	size_t rows = synthetic(row, 0), bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	fputs("uvmp-measurements 1\ngpu,A GPU,28,64,32,1582,128,11544297472,484400,4096\n", out);
	for (uint64_t size = 4096; size <= 67108864; size *= 16) {
		fprintf(out, "copy,h2d,%llu,%llu\n", (unsigned long long)size, (unsigned long long)model_link_ns(link_of, MODEL_TO_GPU, size));
		fprintf(out, "copy,d2h,%llu,%llu\n", (unsigned long long)size, (unsigned long long)model_link_ns(link_of, MODEL_TO_CPU, size));
	}
	for (size_t i = 0; i < rows; i++) {
		fprintf(out, "run,mix,%.0f,1000", row[i].value + 1000);
		for (size_t k = TERM_GROUP; k < TERMS; k++)
			fprintf(out, ",%.1f", row[i].count[k]);
		fputc('\n', out);
	}
	for (int i = 1; i <= 200; i++)
		fprintf(out, "chase,%llu,%d\n", 2097152ull * (unsigned)i, i <= 16 ? 350 : i <= 128 ? 450 : 650);
	fputs("remote,1250\nfirst,184000,25000\nutlb,8,114\n", out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* What is measured comes back from the model that uvmsim reads. */
static void round_trip(void **unused)
{
	char folder[] = "/tmp/test_cuda_fit.XXXXXX", gpu_path[64], link_path[64], model_error[MODEL_ERROR_MAX];
	struct model source, model;
	FILE *gpu, *link;
	char *text;

	(void)unused;
	assert_true(model_open("gtx-1080-ti", NULL, &source, model_error));
	text = measure(&source);
	assert_true(read_text(text));
	free(text);
	assert_non_null(mkdtemp(folder));
	snprintf(gpu_path, sizeof(gpu_path), "%s/a.gpu", folder);
	snprintf(link_path, sizeof(link_path), "%s/a.link", folder);
	gpu = fopen(gpu_path, "w");
	link = fopen(link_path, "w");
	assert_true(gpu && link && measurements_model(&measured, "./a.link", gpu, link, error));
	fclose(gpu);
	fclose(link);
	if (!model_open(gpu_path, NULL, &model, model_error))
		fail_msg("%s", model_error);
	unlink(gpu_path);
	unlink(link_path);
	rmdir(folder);
	assert_string_equal(model.title, "A GPU, calibrated");
	assert_int_equal(model.sms, 28);
	assert_int_equal(model.gflops, 11340);
	assert_int_equal(model.memory_bytes, 11544297472);
	for (uint64_t size = 4096; size <= 67108864; size *= 2) {
		assert_near((double)model_link_ns(&model, MODEL_TO_GPU, size), (double)model_link_ns(&source, MODEL_TO_GPU, size), 0.01);
		assert_near((double)model_link_ns(&model, MODEL_TO_CPU, size), (double)model_link_ns(&source, MODEL_TO_CPU, size), 0.01);
	}
	assert_in_range(model.launch_ns, 4990, 5010);
	assert_in_range(model.interrupt_ns + model.wakeup_ns + model.batch_ns + model.replay_push_ns + model.flush_ns +
				model.replay_ns,
			10990, 11010);
	assert_in_range(model.fetch_ns + model.order_ns, 268, 272);
	assert_in_range(model.fault_ns, 2390, 2410);
	assert_in_range(model.block_ns + model.copy_ns + model.map_ns, 3290, 3310);
	assert_in_range(model.map_page_ns, 19, 21);
	assert_in_range(model.unmap_ns, 2490, 2510);
	assert_in_range(model.page_ns + model.unmap_page_ns, 218, 222);
	assert_int_equal(model.alloc_ns, 159000);
	assert_int_equal(model.utlb_entries, 16);
	assert_int_equal(model.l2_tlb_entries, 128);
	assert_int_equal(model.l2_tlb_ns, 100);
	assert_int_equal(model.walk_ns, 300);
	assert_int_equal(model.memory_latency_ns, 350);
	assert_int_equal(model.remote_latency_ns, 900);
	assert_int_equal(model.utlb_faults, 16);
	assert_int_equal(model.sms_per_utlb, 3);
	assert_true(model_uncertain(&model) > 15);
}

static void what_is_missing(void **unused)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	(void)unused;
	assert_non_null(out);
	assert_true(read_text("uvmp-measurements 1\nremote,5\n"));
	assert_false(measurements_model(&measured, "./a.link", out, out, error));
	assert_non_null(strstr(error, "there is no line gpu"));
	assert_true(read_text("uvmp-measurements 1\n" GPU_LINE "copy,h2d,1,2\ncopy,h2d,9,4\n"));
	assert_false(measurements_model(&measured, "./a.link", out, out, error));
	assert_non_null(strstr(error, "copy,d2h: at least two sizes"));
	assert_true(read_text("uvmp-measurements 1\n" GPU_LINE "copy,h2d,1,2\ncopy,h2d,9,4\ncopy,d2h,1,2\ncopy,d2h,9,4\n"));
	assert_false(measurements_model(&measured, "./a.link", out, out, error));
	assert_non_null(strstr(error, "the runs do not determine what a fault group takes"));
	fclose(out);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_runs),	     cmocka_unit_test(noisy_runs),
		cmocka_unit_test(what_is_not_determined), cmocka_unit_test(lines),
		cmocka_unit_test(steps_of_a_curve),  cmocka_unit_test(bad_files),
		cmocka_unit_test(round_trip),	     cmocka_unit_test(what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
