/* Measurements as a model of docs/models.md. What was not measured is inherited from x86-2017 and from GPUs of 2017, and its
 * comment says so. */
#include "measurements.h"

#include <math.h>
#include <string.h>

#define BLOCK_BYTES 2097152.0
#define KEYS_MAX    6u

/* A measured term is the sum of steps of the driver. They share it as those of x86-2017.host do, which are estimates. */
struct steps {
	enum measured_term term;
	const char *what;
	struct {
		const char *key;
		double share;
	} key[KEYS_MAX];
};

static const struct steps all_steps[] = {
	{TERM_LAUNCH, "a kernel", {{"launch_ns", 1}}},
	{TERM_GROUP,
	 "a fault group",
	 {{"interrupt_ns", 3000}, {"wakeup_ns", 1500}, {"batch_ns", 2500}, {"replay_push_ns", 1000}, {"flush_ns", 1000},
	  {"replay_ns", 2000}}},
	{TERM_FAULT, "a fetched fault", {{"fetch_ns", 200}, {"order_ns", 70}}},
	{TERM_SERVICED, "a serviced fault", {{"fault_ns", 1}}},
	{TERM_BLOCK, "a VABlock of a group", {{"block_ns", 1500}, {"copy_ns", 300}, {"map_ns", 1500}}},
	{TERM_PAGE, "a mapped page", {{"map_page_ns", 1}}},
	{TERM_MOVED_BLOCK, "a VABlock that is unmapped from the CPU", {{"unmap_ns", 1}}},
	{TERM_MOVED_PAGE, "a page that moves", {{"page_ns", 50}, {"unmap_page_ns", 170}}},
};

static uint64_t rounded(double value)
{
	return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static void value(FILE *out, const char *key, double number, const char *why)
{
	char text[64];

	snprintf(text, sizeof(text), "%s = %llu", key, (unsigned long long)rounded(number));
	fprintf(out, "%-26s # %s\n", text, why);
}

static void range(FILE *out, const char *key, double low, double high, const char *why)
{
	char text[96];

	snprintf(text, sizeof(text), "range = %s %llu..%llu", key, (unsigned long long)rounded(low), (unsigned long long)rounded(high));
	fprintf(out, "%-39s # %s\n", text, why);
}

/* -- the GPU -- */

static void write_shape(const struct measurements *m, FILE *out)
{
	value(out, "sms", (double)m->sms, "device properties");
	value(out, "warps_per_sm", (double)m->warps_per_sm, "device properties");
	value(out, "blocks_per_sm", (double)m->blocks_per_sm, "device properties");
	value(out, "context_bytes", 1360, "inherited: Kim et al. ASPLOS'20 footnote 5");
	value(out, "clock_mhz", (double)m->clock_mhz, "device properties");
	value(out, "gflops", (double)(m->sms * m->cores_per_sm * 2 * m->clock_mhz) / 1000, "cores times 2 times the clock");
	value(out, "memory_bytes", (double)m->memory_bytes, "free memory, measured");
	value(out, "memory_mb_s", (double)m->memory_mb_s, "measured");
	value(out, "page_bytes", (double)m->page_bytes, "page size of the host");
	value(out, "fault_entries", 8192, "inherited: an estimate");
	value(out, "fault_write_ns", 12, "inherited: NVIDIA blog 2017");
	value(out, "fault_burst_ns", 12, "inherited: an estimate");
	value(out, "mshr_entries", 0, "NVIDIA's fault buffer has none");
	fprintf(out, "%-26s # inherited: an estimate\n", "tlb_shootdown = entry");
}

/* The next power of two. */
static double power_of_two(double least)
{
	double power = 1;

	while (power < least)
		power *= 2;
	return power;
}

static void write_tlbs(const struct measurements *m, FILE *out)
{
	struct fit_steps steps;
	bool has_curve = fit_steps(m->chase.bytes, m->chase.ns, m->chase.count, &steps);
	double local = has_curve ? steps.ns[0] : 400;
	bool has_l2 = has_curve && steps.steps >= 1, has_walk = has_curve && steps.steps == 2;
	bool has_utlb = m->utlbs != 0 && m->utlb_faults != 0;

	value(out, "sms_per_utlb", has_utlb && m->utlbs < m->sms ? floor((double)m->sms / (double)m->utlbs) : 1,
	      has_utlb ? "measured" : "inherited from Volta");
	value(out, "utlb_faults", has_utlb ? power_of_two((double)m->utlb_faults / (double)m->utlbs) : 16,
	      has_utlb ? "measured: the most faults of a page over its uTLBs, the next power of two" : "inherited: NVIDIA blog 2017");
	value(out, "tlb_entry_bytes", BLOCK_BYTES, "inherited from Volta; the stride of the chase");
	value(out, "utlb_entries", has_l2 ? fmin(steps.bytes[0] / BLOCK_BYTES, 4096) : 16,
	      has_l2 ? "measured: first step of the chase" : "inherited from Volta");
	value(out, "l2_tlb_entries", has_walk ? steps.bytes[1] / BLOCK_BYTES : 4096,
	      has_walk ? "measured: second step of the chase" : "inherited from Volta");
	value(out, "l2_tlb_ns", has_l2 ? steps.ns[1] - steps.ns[0] : 100,
	      has_l2 ? "measured: height of the first step" : "inherited from Volta: an estimate");
	value(out, "walk_ns", has_walk ? steps.ns[2] - steps.ns[0] : 300,
	      has_walk ? "measured: height of both steps" : "inherited from Volta: an estimate");
	value(out, "memory_latency_ns", local, has_curve ? "measured: foot of the chase" : "inherited: an estimate");
	value(out, "remote_latency_ns", m->remote_ns > local ? m->remote_ns - local : 900,
	      m->remote_ns > local ? "measured: a remote access less a local one" : "inherited: an estimate");
}

/* -- the driver -- */

static void write_step(const struct steps *steps, const struct fit *fit, FILE *out)
{
	double sum = fit->coefficient[steps->term], error = 2 * fit->error[steps->term], whole = 0;
	size_t keys = 0;
	char why[128];

	for (; keys < KEYS_MAX && steps->key[keys].key; keys++)
		whole += steps->key[keys].share;
	snprintf(why, sizeof(why), "measured%s: %s takes %.0f ns", keys > 1 ? " sum, estimated share" : "", steps->what, sum);
	for (size_t i = 0; i < keys; i++)
		value(out, steps->key[i].key, sum * steps->key[i].share / whole, why);
	if (keys == 1) {
		range(out, steps->key[0].key, fmax(sum - error, 0), sum + error, "two standard errors");
		return;
	}
	for (size_t i = 0; i < keys; i++) {
		double part = sum * steps->key[i].share / whole;

		range(out, steps->key[i].key, floor(part / 2), part * 2 + 1, "estimated share: half to twice");
	}
	fputs("sum =", out);
	for (size_t i = 0; i < keys; i++)
		fprintf(out, " %s", steps->key[i].key);
	fputc('\n', out);
}

static bool write_driver(const struct measurements *m, FILE *out, char error[MEASUREMENTS_ERROR_MAX])
{
	struct fit fit;

	if (!fit_rows(m->run, m->runs, TERMS, &fit) || !fit.is_known[TERM_GROUP]) {
		snprintf(error, MEASUREMENTS_ERROR_MAX, "the runs do not determine what a fault group takes: too few, or too much alike");
		return false;
	}
	fprintf(out, "# The worst of %zu runs is %.1f %% off\n", m->runs, 100 * fit.worst);
	for (size_t i = 0; i < sizeof(all_steps) / sizeof(all_steps[0]); i++)
		if (fit.is_known[all_steps[i].term])
			write_step(&all_steps[i], &fit, out);
		else
			fprintf(out, "# not measured: what %s takes; inherited from x86-2017\n", all_steps[i].what);
	if (m->first_ns > m->like_ns)
		value(out, "alloc_ns", m->first_ns - m->like_ns, "measured: the first fault less a later one");
	else
		fputs("# not measured: alloc_ns; inherited from x86-2017\n", out);
	return true;
}

/* -- the link -- */

static bool write_link(const struct measurements *m, FILE *out, char error[MEASUREMENTS_ERROR_MAX])
{
	static const double sizes[] = {4096, 65536, 1048576, 67108864};
	static const char *const keys[] = {"h2d", "d2h"};
	struct fit_line line[2];
	double worst;

	for (int i = 0; i < 2; i++) {
		if (!fit_line(m->copy[i].bytes, m->copy[i].ns, m->copy[i].count, &line[i])) {
			snprintf(error, MEASUREMENTS_ERROR_MAX, "copy,%s: at least two sizes are needed", keys[i]);
			return false;
		}
	}
	fprintf(out, "title = link of %s, calibrated\nsource = copies that uvmp-cuda-bench measured; docs/cuda.md\n", m->name);
	value(out, "latency_ns", fmin(line[0].start_ns, line[1].start_ns), "measured: the shorter start-up");
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
			fprintf(out, "%s = %.0f %llu # measured: %.0f ns and %.2f GB/s\n", keys[i], sizes[k],
				(unsigned long long)rounded(sizes[k] * 1000 / (line[i].start_ns + sizes[k] / line[i].bytes_per_ns)),
				line[i].start_ns, line[i].bytes_per_ns);
	value(out, "h2d_request_bytes", 78, "inherited: as pcie3.link, an estimate");
	value(out, "d2h_request_bytes", 46, "inherited: as pcie3.link, an estimate");
	worst = fmin(fmax(line[0].worst, line[1].worst), 0.5);
	range(out, "speed_percent", floor(100 - 100 * worst), ceil(100 + 100 * worst), "the worst copy is so far from the line");
	return true;
}

bool measurements_model(const struct measurements *m, const char *link, FILE *gpu, FILE *link_out,
			char error[MEASUREMENTS_ERROR_MAX])
{
	if (!m->has_gpu) {
		snprintf(error, MEASUREMENTS_ERROR_MAX, "there is no line gpu,...");
		return false;
	}
	if (!write_link(m, link_out, error))
		return false;
	fprintf(gpu, "title = %s, calibrated\nsource = micro-benchmarks of uvmp-cuda-bench; docs/cuda.md\n", m->name);
	fprintf(gpu, "link = %s\ninclude = x86-2017\n", link);
	write_shape(m, gpu);
	write_tlbs(m, gpu);
	return write_driver(m, gpu, error);
}
