/* Tests of reports: every key, null without a GPU, and tables that people can read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report.h"

static char workload[] = "regular:bytes=4096", policy[] = "prefetch=none batch=9";
static char *text;

/* 100 batches of 1..100 us, a tenth of it handling, i faults and 2 i pages. */
static void fill(struct report *report, const char *gpu)
{
	memset(report, 0, sizeof(*report));
	report->workload = workload;
	report->policy_given = policy;
	snprintf(report->policy, sizeof(report->policy), "%s", policy);
	report->is_complete = true;
	report->gpu = gpu;
	report->result = (struct sim_result){.memory_bytes = 2097152,
					     .footprint_bytes = 2097152,
					     .batches = 100,
					     .h2d_bytes = 64 * 1024 * 3 + 512,
					     .h2d_copies = 2,
					     .h2d_least_bytes = 64 * 1024,
					     .h2d_most_bytes = 128 * 1024 + 512,
					     .cpu_faults = 7,
					     .pages_thrashed = 12,
					     .remote_accesses = 11};
	if (!gpu)
		return;
	report->times.time_ns = 12345678;
	report->times.kernel_ns = 9000000;
	report->times.cpu_ns = 1500;
	report->times.tlb_hits = 1999;
	report->times.tlb_misses = 1;
	report->times.l2_tlb_hits = UINT64_MAX / 4;
	report->times.l2_tlb_misses = UINT64_MAX / 4;
	report->times.remote_h2d_bytes = 3u << 20;
	report->times.remote_d2h_bytes = 1u << 19;
	report->times.context_switches = 12;
	report->times.mshr_merged = 13;
	report->times.mshr_stalled = 14;
	report->times.faults_serviced = 15;
	report->times.link_end_ns = 16;
	for (uint64_t i = 1; i <= 100; i++) {
		spread_add(&report->times.batch_ns, i * 1000);
		spread_add(&report->times.handling_ns, i * 100);
		spread_add(&report->times.batch_faults, i);
		spread_add(&report->times.batch_pages, 2 * i);
		spread_add(&report->times.group_ns, 3 * i * 1000);
		spread_add(&report->times.group_handling_ns, i * 300);
	}
}

static FILE *begin(size_t *size)
{
	FILE *out;

	free(text);
	text = NULL;
	out = open_memstream(&text, size);
	assert_non_null(out);
	return out;
}

static void print_run(const struct report *report, enum report_format format)
{
	size_t size;
	FILE *out = begin(&size);

	report_run(report, format, out);
	assert_int_equal(fclose(out), 0);
}

static void assert_has(const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is missing", part);
}

static void json_with_time(void **state)
{
	static struct report report;

	(void)state;
	fill(&report, "titan-v");
	print_run(&report, REPORT_JSON);
	assert_has("\"h2d_least_bytes\": 65536, \"h2d_most_bytes\": 131584");
	assert_has("\"d2h_least_bytes\": 0, \"d2h_most_bytes\": 0");
	assert_has("\"cpu_faults\": 7");
	assert_has("\"time_ns\": 12345678");
	assert_has("\"kernel_ns\": 9000000, \"cpu_ns\": 1500, \"tlb_hits\": 1999, \"tlb_misses\": 1, ");
	assert_has("\"l2_tlb_hits\": 4611686018427387903, \"l2_tlb_misses\": 4611686018427387903");
	assert_has("\"pages_thrashed\": 12, \"remote_accesses\": 11");
	assert_has("\"remote_h2d_bytes\": 3145728, \"remote_d2h_bytes\": 524288");
	assert_has("\"context_switches\": 12, \"mshr_merged\": 13, \"mshr_stalled\": 14, \"faults_serviced\": 15, \"link_end_ns\": 16");
	/* the end of a bin of 512 ns at most; exact below 128 */
	assert_has("\"batch_ns_least\": 1000, \"batch_ns_median\": 50175, \"batch_ns_p90\": 90111, "
		   "\"batch_ns_most\": 100000, \"batch_ns_mean\": 50500");
	assert_has("\"handling_ns_least\": 100, ");
	assert_has("\"batch_faults_least\": 1, \"batch_faults_median\": 50, \"batch_faults_p90\": 90, "
		   "\"batch_faults_most\": 100, \"batch_faults_mean\": 50");
	assert_has("\"batch_pages_most\": 200");
	assert_has("\"group_ns_least\": 3000, ");
	assert_has("\"group_ns_most\": 300000, \"group_ns_mean\": 151500, \"group_handling_ns_least\": 300, ");
}

static void json_without_time(void **state)
{
	static struct report report;

	(void)state;
	fill(&report, NULL);
	print_run(&report, REPORT_JSON);
	assert_has("\"h2d_least_bytes\": 65536");
	assert_has("\"cpu_faults\": 7");
	assert_has("\"time_ns\": null");
	assert_has("\"kernel_ns\": null, \"cpu_ns\": null, \"tlb_hits\": null");
	assert_has("\"remote_accesses\": 11");
	assert_has("\"batch_pages_p90\": null");
}

static unsigned commas(const char *line)
{
	unsigned count = 0;

	for (; *line && *line != '\n'; line++)
		count += *line == ',';
	return count;
}

/* What was asked for, and by which version the answer was made. */
static void answers_name_memory_and_version(void **state)
{
	static struct report report;

	(void)state;
	fill(&report, NULL);
	report.memory.oversub_percent = 125;
	print_run(&report, REPORT_JSON);
	assert_has("\"oversub_percent\": 125, \"memory_asked\": null, \"version\": \"" UVMSIM_VERSION "\", ");
	print_run(&report, REPORT_CSV);
	assert_has(",oversub_percent,memory_asked,version,faults_only\n");
	assert_has(",125,," UVMSIM_VERSION ",0\n");
	report.memory = (struct sim_memory){.bytes = 3145728};
	print_run(&report, REPORT_JSON);
	assert_has("\"oversub_percent\": null, \"memory_asked\": 3145728, \"version\": \"" UVMSIM_VERSION "\", ");
	report.has_faults_only = true;
	print_run(&report, REPORT_CSV);
	assert_has(",,3145728," UVMSIM_VERSION ",1\n");
}

static void csv_has_a_value_for_every_name(void **state)
{
	static const char *const gpus[] = {NULL, "titan-v"};
	static struct report report;

	(void)state;
	for (int i = 0; i < 2; i++) {
		fill(&report, gpus[i]);
		print_run(&report, REPORT_CSV);
		assert_has(",pages_thrashed,remote_accesses,");
		assert_has(",context_switches,mshr_merged,mshr_stalled,batch_ns_least,batch_ns_median,");
		assert_has(",faults_serviced,link_end_ns,draw,draws,");
		assert_has(i == 0 ? ",,,0,,,," : ",15,16,,0,,,,");
		assert_int_equal(commas(text), commas(strchr(text, '\n') + 1));
	}
}

static void table_with_time(void **state)
{
	static struct report report;

	(void)state;
	fill(&report, "titan-v");
	print_run(&report, REPORT_TABLE);
	assert_has("time                                       12.345 ms\n");
	assert_has("uTLB hits                                    99.9 %\n"); /* never rounded to all */
	/* sums of this size are divided first */
	assert_has("second-level TLB hits                        50.0 %\n");
	assert_has("\nfault batches                     least     median       90 %       most       mean\n"
		   "  time, us                          1.0       50.1       90.1      100.0       50.5\n");
	assert_has("  pages moved to the GPU              2        100  ");
	assert_has("\ncopies to the GPU, KiB             64.0                            128.5       96.2\n");
	assert_null(strstr(text, "copies to the CPU")); /* there were none */
	assert_null(strstr(text, "complete"));
	report.is_complete = false;
	report.times.l2_tlb_hits = report.times.l2_tlb_misses = 0;
	print_run(&report, REPORT_TABLE);
	assert_has("complete ");
	assert_null(strstr(text, "second-level TLB"));
}

static void table_without_time(void **state)
{
	static struct report report;

	(void)state;
	fill(&report, NULL);
	print_run(&report, REPORT_TABLE);
	assert_has("needs --gpu\n");
	assert_has("\n                                  least       most       mean\n"
		   "copies to the GPU, KiB             64.0      128.5       96.2\n");
	assert_null(strstr(text, "TLB"));
	report.result.h2d_copies = 0;
	print_run(&report, REPORT_TABLE);
	assert_null(strstr(text, "least"));
}

/* A run that was interrupted before anything happened. */
static void table_of_nothing(void **state)
{
	static struct report report;

	(void)state;
	fill(&report, "titan-v");
	memset(&report.result, 0, sizeof(report.result));
	memset(&report.times, 0, sizeof(report.times));
	report.is_complete = false;
	print_run(&report, REPORT_TABLE);
	assert_has("complete ");
	assert_null(strstr(text, "least"));
}

static void comparison(void **state)
{
	static struct report report[2];
	size_t size, most = 0;
	FILE *out;

	(void)state;
	fill(&report[0], "titan-v");
	fill(&report[1], "titan-v");
	report[1].times.time_ns *= 2;
	report[1].result.h2d_copies = 0;
	out = begin(&size);
	report_compare(report, 2, REPORT_TABLE, out);
	assert_int_equal(fclose(out), 0);
	assert_has(" batch us ");
	assert_has(" KiB/copy ");
	assert_has("     50.1 ");
	assert_has("      96.2 ");
	assert_has("\n  prefetch=none batch=9 "); /* the longest name that needs no legend */
	assert_has("12.3*\n");
	assert_has("24.6\n");
	for (const char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
		most = (size_t)(end - at) > most ? (size_t)(end - at) : most;
	assert_int_equal(most, 110);
}

static void print_comparison(const struct report *report, size_t count, enum report_format format)
{
	size_t size;
	FILE *out = begin(&size);

	report_compare(report, count, format, out);
	assert_int_equal(fclose(out), 0);
}

/* Two policies, four seeds each, of which the second makes no difference; times 10, 40, 20 and 30 ms. */
static void fill_seeds(struct report report[8])
{
	static const uint64_t ms[4] = {10, 40, 20, 30};
	static char other[] = "prefetch=block";

	for (unsigned i = 0; i < 8; i++) {
		fill(&report[i], "titan-v");
		report[i].seed = 5 + i % 4;
		report[i].times.time_ns = (i < 4 ? ms[i] : 25) * 1000000;
		report[i].result.refaults = i < 4 ? 100 - i : 7;
		report[i].has_bound = true;
		report[i].bound_h2d_bytes = 65536 + i % 4;
		if (i >= 4)
			report[i].policy_given = other;
	}
}

static void seeds_as_table(void **state)
{
	static struct report report[8];

	(void)state;
	fill_seeds(report);
	print_comparison(report, 8, REPORT_TABLE);
	assert_has("  medians of 4 runs, of seeds 5 to 8\n");
	assert_has("      98      20.0*\n"); /* the lower of the two in the middle */
	assert_has("\n                  least  ");
	assert_has("      97      10.0\n");
	assert_has("\n                   most  ");
	assert_has("     100      40.0\n");
	assert_has("       7*     25.0\n");
	assert_null(strstr(strstr(text, "prefetch=block"), "least  ")); /* all four are the same */
	report[0].is_complete = false; /* does not count, and takes the row out of the marking */
	print_comparison(report, 8, REPORT_TABLE);
	assert_has("      98      30.0  complete: 3 of 4\n");
	assert_has("      97      20.0\n");
	assert_has("      99      40.0\n");
	/* without the bound of one seed there is none */
	assert_has("(Belady optimum)");
	report[2].has_bound = false;
	print_comparison(report, 8, REPORT_TABLE);
	assert_null(strstr(text, "(Belady optimum)"));
}

static unsigned count_of(const char *part)
{
	unsigned count = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

static void seeds_as_json_and_csv(void **state)
{
	static struct report report[8];

	(void)state;
	fill_seeds(report);
	print_comparison(report, 8, REPORT_JSON);
	assert_int_equal(count_of("\"seeds\": 4, \"time_ns_seeds_least\": 10000000, "
				  "\"time_ns_seeds_median\": 20000000, "
				  "\"time_ns_seeds_most\": 40000000, \"h2d_bytes_seeds_least\": 197120, "),
			 4);
	assert_int_equal(count_of("\"refaults_seeds_least\": 97, \"refaults_seeds_median\": 98, "
				  "\"refaults_seeds_most\": 100, \"bound_h2d_bytes\": "),
			 4);
	assert_int_equal(count_of("\"time_ns_seeds_median\": 25000000"), 4);
	assert_has("\"seed\": 6, \"complete\": true, \"error\": null, \"time_ns\": 40000000");
	print_comparison(report, 8, REPORT_CSV);
	assert_has(",bound_d2h_bytes,preset,error,seeds,time_ns_seeds_least,");
	assert_int_equal(
		count_of(",,,4,10000000,20000000,40000000,197120,197120,197120,0,0,0,0,0,0,97,98,100,15,16,,0,"), 4);
	assert_int_equal(count_of("\n"), 9);
	/* nothing is said about runs of which none is complete, nor about time where there is none */
	for (int i = 0; i < 4; i++)
		report[i].is_complete = false;
	for (int i = 4; i < 8; i++)
		report[i].gpu = NULL;
	print_comparison(report, 8, REPORT_JSON);
	assert_int_equal(count_of("\"seeds\": 0, \"time_ns_seeds_least\": null"), 4);
	assert_int_equal(count_of("\"refaults_seeds_most\": null"), 4);
	assert_int_equal(count_of("\"time_ns_seeds_most\": null, \"h2d_bytes_seeds_least\": 197120"), 4);
}

/* The same policy twice is two rows, although one stands behind the other. */
static void seeds_of_the_same_policy(void **state)
{
	static struct report report[8];

	(void)state;
	fill_seeds(report);
	for (int i = 4; i < 8; i++)
		report[i].policy_given = policy;
	print_comparison(report, 8, REPORT_JSON);
	assert_int_equal(count_of("\"time_ns_seeds_median\": 20000000"), 4);
	assert_int_equal(count_of("\"time_ns_seeds_median\": 25000000"), 4);
}

/* Two policies, the model itself and three draws each: the second takes 20 % less time, and in the last draw 10 % more. */
static void fill_draws(struct report report[8])
{
	static const uint64_t ms[] = {10, 20, 40, 30};
	static char other[] = "prefetch=block batch=9";

	for (uint32_t i = 0; i < 8; i++) {
		fill(&report[i], "titan-v");
		report[i].seed = 5;
		report[i].draw = i % 4;
		report[i].draws = 3;
		report[i].times.time_ns = ms[i % 4] * (i < 4 ? 1000000u : i == 7 ? 1100000u : 800000u);
		report[i].result.refaults = 100 + i % 4;
		if (i >= 4)
			report[i].policy_given = other;
	}
}

static void draws_as_table(void **state)
{
	static struct report report[8];
	size_t size;
	FILE *out;

	(void)state;
	fill_draws(report);
	print_comparison(report, 8, REPORT_TABLE);
	assert_has("  values of the model; least and most of the model and 3 draws of its constants\n");
	assert_has("     100      10.0\n"); /* the model, not the median */
	assert_has("     103      40.0\n");
	assert_has("       8.0*\n");
	assert_has("  against first, %     least    median      most\n");
	assert_has("     -20.0     -20.0     +10.0  open: faster in 2, slower in 1 of 3 draws\n");
	report[7].times.time_ns = 29000000;
	print_comparison(report, 8, REPORT_TABLE);
	assert_has("     -20.0     -20.0      -3.4  faster in all 3 draws\n");
	for (int i = 4; i < 8; i++)
		report[i].times.time_ns = 50000000;
	print_comparison(report, 8, REPORT_TABLE);
	assert_has("  slower in all 3 draws\n");
	for (int i = 0; i < 4; i++)
		report[i].times.time_ns = 50000000;
	print_comparison(report, 8, REPORT_TABLE);
	assert_has("  no difference in 3 draws\n");
	fill_draws(report);
	for (int i = 4; i < 8; i++)
		report[i].times.time_ns = 50000000;
	/* a draw that is not complete is in no pair */
	report[5].is_complete = report[2].is_complete = false;
	print_comparison(report, 8, REPORT_TABLE);
	assert_has("  slower in all 1 draws\n");
	report[3].is_complete = false;
	print_comparison(report, 8, REPORT_TABLE);
	assert_has(" no draw is complete for both\n");
	fill_draws(report);
	for (int i = 0; i < 8; i++)
		report[i].times.time_ns = 0;
	print_comparison(report, 8, REPORT_TABLE);
	assert_has(" the program takes no time: nothing to compare\n");
	fill_draws(report);
	out = begin(&size);
	report_run_draws(report, 4, REPORT_TABLE, out);
	assert_int_equal(fclose(out), 0);
	assert_has("3 draws of the constants          model      least     median       most\n");
	assert_has("time, ms                         10.000     20.000     30.000     40.000\n");
	assert_has("refaults                            100        101        102        103\n");
	for (int i = 1; i < 4; i++)
		report[i].is_complete = false;
	out = begin(&size);
	report_run_draws(report, 4, REPORT_TABLE, out);
	assert_int_equal(fclose(out), 0);
	assert_has("0 draws of the constants          model      least     median       most\n");
	assert_has("time, ms                         10.000          -          -          -\n");
}

static void draws_as_json_and_csv(void **state)
{
	static struct report report[8];

	(void)state;
	fill_draws(report);
	print_comparison(report, 8, REPORT_JSON);
	/* draws are no seeds */
	assert_int_equal(count_of("\"seeds\": 1, \"time_ns_seeds_least\": 10000000, "), 4);
	assert_int_equal(count_of("\"draws\": 3, \"time_ns_draws_least\": 20000000, \"time_ns_draws_median\": 30000000, "
				  "\"time_ns_draws_most\": 40000000, "),
			 4);
	assert_int_equal(count_of("\"draw\": 2, "), 2);
	assert_int_equal(count_of("\"draws_faster\": null, \"draws_slower\": null, "
				  "\"time_permille_draws_least\": null"),
			 4);
	assert_int_equal(count_of("\"draws_faster\": 2, \"draws_slower\": 1, \"time_permille_draws_least\": 800, "
				  "\"time_permille_draws_median\": 800, \"time_permille_draws_most\": 1100}"),
			 4);
	print_comparison(report, 8, REPORT_CSV);
	assert_has(",draw,draws,time_ns_draws_least,");
	assert_has(",draws_faster,draws_slower,time_permille_draws_least,time_permille_draws_median,"
		   "time_permille_draws_most,group_ns_least,");
	assert_has(",group_handling_ns_most,group_handling_ns_mean,oversub_percent,");
	assert_int_equal(count_of(",2,1,800,800,1100,"), 4);
	assert_int_equal(count_of(",101,102,103,,,,,,"), 4);
}

static void presets_and_what_does_not_run(void **state)
{
	static char error[] =
		"regular:bytes=4096: on a host with pages of 64 KiB only evict=lru works, \"so\"";
	static struct report report[2];

	(void)state;
	fill(&report[0], "titan-v");
	fill(&report[1], "titan-v");
	report[0].preset = "on-demand";
	report[1].preset = "uvmsmart-adaptive";
	report[1].is_complete = false;
	report[1].error = error;
	memset(&report[1].result, 0, sizeof(report[1].result));
	print_comparison(report, 2, REPORT_TABLE);
	assert_has("\n  on-demand          ");
	assert_has("\n  uvmsmart-adaptive does not run: on a host with pages of 64 KiB only evict=lru works, "
		   "\"so\"\n");
	print_comparison(report, 2, REPORT_JSON);
	assert_has("\"policy\": \"prefetch=none batch=9\", \"preset\": \"on-demand\", \"seed\": 0, "
		   "\"complete\": true, "
		   "\"error\": null");
	assert_has("\"preset\": \"uvmsmart-adaptive\", \"seed\": 0, \"complete\": false, \"error\": "
		   "\"regular:bytes=4096: on "
		   "a host with pages of 64 KiB only evict=lru works, \\\"so\\\"\"");
	print_comparison(report, 2, REPORT_CSV);
	assert_has(",\"uvmsmart-adaptive\",\"regular:bytes=4096: on a host with pages of 64 KiB only "
		   "evict=lru works, "
		   "\"\"so\"\"\",0,");
	/* one that has come some way shows how far */
	report[1].result.accesses = 1;
	print_comparison(report, 2, REPORT_TABLE);
	assert_has("complete: no\n");
	assert_null(strstr(text, "does not run"));
}

static int clean(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_with_time),
		cmocka_unit_test(json_without_time),
		cmocka_unit_test(answers_name_memory_and_version),
		cmocka_unit_test(csv_has_a_value_for_every_name),
		cmocka_unit_test(table_with_time),
		cmocka_unit_test(table_without_time),
		cmocka_unit_test(table_of_nothing),
		cmocka_unit_test(comparison),
		cmocka_unit_test(seeds_as_table),
		cmocka_unit_test(seeds_as_json_and_csv),
		cmocka_unit_test(seeds_of_the_same_policy),
		cmocka_unit_test(draws_as_table),
		cmocka_unit_test(draws_as_json_and_csv),
		cmocka_unit_test(presets_and_what_does_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, clean);
}
