/* Unit tests of the workloads of language models: decode and moe. Which bytes each kernel uses is computed here
 * once more, from the description in the files' heads. */
#include "support/workload_rows.h"
#include "uvmpolicy/base.h"
#include "workloads/permute.h"
#include "workloads/zipf.h"

#define PAGES_MAX   4096u
#define EXPERTS_MAX 512u
#define ACTIVE_MAX  8u

/* Accesses of a kernel by range and page, and the pages that it is to use. */
static uint32_t reads[3][PAGES_MAX], writes[3][PAGES_MAX];
static bool wanted_reads[3][PAGES_MAX], wanted_writes[3][PAGES_MAX];
static bool is_ascending; /* every access lies behind the one before */

static void collect(struct rows *rows, const char *kernel)
{
	uint64_t last = 0;

	memset(reads, 0, sizeof(reads));
	memset(writes, 0, sizeof(writes));
	is_ascending = true;
	for (rows_kernel(rows, kernel); rows->row.kind == SOURCE_ACCESS; rows_next(rows)) {
		bool is_write = rows->row.access == UVMP_ACCESS_WRITE;
		uint64_t page = rows_offset(rows) / ROWS_PAGE;

		assert_in_range(page, 0, PAGES_MAX - 1);
		(is_write ? writes : reads)[rows_range(rows)][page]++;
		is_ascending = is_ascending && rows->row.address > last;
		last = rows->row.address;
	}
	rows_sync(rows);
}

static void want_nothing(void)
{
	memset(wanted_reads, 0, sizeof(wanted_reads));
	memset(wanted_writes, 0, sizeof(wanted_writes));
}

static void want(bool is_write, unsigned range, uint64_t first, uint64_t bytes)
{
	if (bytes == 0)
		return;
	for (uint64_t page = first / ROWS_PAGE; page <= (first + bytes - 1) / ROWS_PAGE; page++)
		(is_write ? wanted_writes : wanted_reads)[range][page] = true;
}

static void assert_wanted(void)
{
	for (unsigned range = 0; range < 3; range++)
		for (unsigned page = 0; page < PAGES_MAX; page++) {
			if ((reads[range][page] != 0) != wanted_reads[range][page])
				fail_msg("range %u, page %u: %u reads", range, page, reads[range][page]);
			if ((writes[range][page] != 0) != wanted_writes[range][page])
				fail_msg("range %u, page %u: %u writes", range, page, writes[range][page]);
		}
}

/* -- decode -- */

struct decode {
	uint64_t layers, layer, attention, head, kv, prompt, tokens, sequences;
	unsigned agents, tile;
};

static void want_cache(const struct decode *d, bool is_write, uint64_t layer, uint64_t first, uint64_t end)
{
	for (uint64_t part = 0; part < 2 * d->sequences; part++)
		want(is_write, 1,
		     ((2 * layer * d->sequences + part) * (d->prompt + d->tokens) + first) * d->kv,
		     (end - first) * d->kv);
}

/* The kernels of one pass, with the tokens [before, end). */
static void decode_pass(struct rows *rows, const struct decode *d, uint64_t before, uint64_t end)
{
	uint64_t attention = d->layer * d->attention / 100;

	for (uint64_t layer = 0; layer < d->layers; layer++) {
		collect(rows, "qkv");
		want_nothing();
		want(false, 0, layer * d->layer, attention);
		assert_wanted();
		assert_true(d->agents > 1 || is_ascending);
		collect(rows, "store");
		want_nothing();
		want_cache(d, true, layer, before, end);
		assert_wanted();
		collect(rows, "attend");
		want_nothing();
		want_cache(d, false, layer, 0, end);
		assert_wanted();
		collect(rows, "ffn");
		want_nothing();
		want(false, 0, layer * d->layer + attention, d->layer - attention);
		assert_wanted();
		assert_true(d->agents > 1 || is_ascending);
	}
	collect(rows, "head");
	want_nothing();
	want(false, 0, d->layers * d->layer, d->head);
	assert_wanted();
}

static void decode_pages(void **state)
{
	static const struct decode cases[] = {
		{3, 256 << 10, 50, 64 << 10, 4096, 5, 3, 1, 1, 16384},
		{2, 400000, 33, 20000, 1000, 300, 3, 2, 80, 512},
		{1, 1, 33, 0, 1, 0, 1, 1, 1, 512},
		{2, 123456, 0, 1, 70000, 2, 2, 3, 7, 5000},
		{2, 123456, 100, 1, 700, 0, 3, 1, 1, 1 << 20},
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		const struct decode *d = &cases[c];
		struct rows rows;
		char spec[256];

		snprintf(spec, sizeof(spec),
			 "decode:layers=%u,layer=%u,attention=%u,head=%u,kv=%u,prompt=%u,tokens=%u,sequences="
			 "%u,"
			 "agents=%u,tile=%u",
			 (unsigned)d->layers, (unsigned)d->layer, (unsigned)d->attention, (unsigned)d->head,
			 (unsigned)d->kv, (unsigned)d->prompt, (unsigned)d->tokens, (unsigned)d->sequences,
			 d->agents, d->tile);
		rows = rows_open(spec, 1);
		assert_int_equal(rows.ranges, 2);
		assert_int_equal(rows.range[0].bytes, d->layers * d->layer + d->head);
		assert_int_equal(rows.range[1].bytes,
				 2 * d->layers * d->sequences * (d->prompt + d->tokens) * d->kv);
		assert_true(rows.range[1].is_fresh && !rows.range[0].is_fresh);
		if (d->prompt != 0)
			decode_pass(&rows, d, 0, d->prompt);
		for (uint64_t token = 0; token < d->tokens; token++)
			decode_pass(&rows, d, d->prompt + token, d->prompt + token + 1);
		assert_int_equal(rows.row.kind, SOURCE_END);
		rows_close(&rows);
	}
}

/* Each page of page-aligned weights is read once a token. In the prompt's pass keys are read once for each 128
 * tokens that may look at them: the first pages by all three of 300, page 34 (tokens 139 to 143) by two, the
 * last ones by the last. */
static void decode_counts(void **state)
{
	struct rows rows = rows_open(
		"decode:layers=1,layer=256k,attention=50,head=64k,kv=1000,prompt=300,tokens=1,agents=9", 1);

	(void)state;
	collect(&rows, "qkv");
	for (unsigned page = 0; page < 32; page++)
		assert_int_equal(reads[0][page], 1);
	collect(&rows, "store");
	collect(&rows, "attend");
	assert_int_equal(reads[1][0], 3);
	assert_int_equal(reads[1][34], 2);
	assert_int_equal(reads[1][64], 1);
	rows_close(&rows);
}

/* -- moe -- */

struct moe {
	uint64_t layers, shared, experts, active, slice;
	uint32_t skew, reuse, prompt, tokens, split, prompts, row, loads;
};

/* The router once more: the ranks of the last token's experts of each layer, by rank. */
struct router {
	uint64_t random;
	struct permutation spread[4];
	struct zipf zipf;
	uint32_t rank[4][ACTIVE_MAX];
	bool has_last[4];
};

static void route(struct router *router, const struct moe *m, unsigned layer, bool used[EXPERTS_MAX])
{
	uint32_t chosen[ACTIVE_MAX];
	unsigned count = 0;

	for (unsigned i = 0; router->has_last[layer] && i < m->active; i++)
		if (uvmp_random_below(&router->random, 100) < m->reuse)
			chosen[count++] = router->rank[layer][i];
	while (count < m->active) {
		uint32_t rank = zipf_draw(&router->zipf, &router->random);
		bool is_new = true;

		for (unsigned i = 0; i < count; i++)
			is_new = is_new && chosen[i] != rank;
		if (is_new)
			chosen[count++] = rank;
	}
	router->has_last[layer] = true;
	for (unsigned i = 0; i < m->active; i++) {
		router->rank[layer][i] = chosen[i];
		used[permutation_at(&router->spread[layer], chosen[i])] = true;
	}
}

/* Matrix 0..2 (gate, up, down) of an expert. */
static void want_slice(const struct moe *m, uint64_t layer, uint64_t matrix, uint64_t expert)
{
	uint64_t kind = m->experts * m->slice;

	if (m->split == 0)
		want(false, 0, layer * (m->shared + 3 * kind) + m->shared + matrix * kind + expert * m->slice,
		     m->slice);
	else if (matrix < 2)
		want(false, 1, (2 * layer + matrix) * kind + expert * m->slice, m->slice);
	else
		want(false, 2, layer * kind + expert * m->slice, m->slice);
}

static void moe_pass(struct rows *rows, const struct moe *m, struct router *router, uint32_t tokens)
{
	static const char *const names[] = {"gate", "up", "down"};

	for (unsigned layer = 0; layer < m->layers; layer++) {
		bool used[EXPERTS_MAX] = {false};

		for (uint32_t i = 0; i < tokens; i++)
			route(router, m, layer, used);
		collect(rows, "attention");
		want_nothing();
		want(false, 0, layer * (m->split != 0 ? m->shared : m->shared + 3 * m->experts * m->slice),
		     m->shared);
		assert_wanted();
		for (unsigned matrix = 0; matrix < 3; matrix++) {
			collect(rows, names[matrix]);
			want_nothing();
			for (unsigned expert = 0; expert < m->experts; expert++)
				if (used[expert])
					want_slice(m, layer, matrix, expert);
			assert_wanted();
			assert_true(is_ascending || m->row != 0);
		}
	}
}

static void moe_pages(void **state)
{
	static const struct moe cases[] = {
		{2, 40000, 32, 4, 8192, 120, 20, 0, 30, 0, 0, 0, 0},
		{2, 40000, 32, 4, 8192, 120, 20, 0, 30, 1, 0, 0, 0},
		{3, 4096, 16, 1, 4096, 0, 0, 9, 0, 0, 0, 0, 0},
		{1, 1, 8, 8, 4096, 300, 50, 2, 5, 1, 0, 0, 0},
		{4, 70000, 20, 6, 4096, 110, 90, 3, 20, 0, 0, 0, 0},
		{2, 9000, 16, 2, 40960, 120, 20, 3, 2, 0, 3, 1530, 16},
		{2, 9000, 16, 2, 40960, 120, 20, 3, 2, 1, 2, 4096, 3},
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		const struct moe *m = &cases[c];
		struct router router = {.random = 5};
		struct rows rows;
		char spec[256];

		snprintf(spec, sizeof(spec),
			 "moe:layers=%u,shared=%u,experts=%u,active=%u,expert=%u,skew=%u,reuse=%u,prompt=%u,"
			 "tokens=%u,split=%u,prompts=%u,row=%u,loads=%u,tile=6000,agents=1",
			 (unsigned)m->layers, (unsigned)m->shared, (unsigned)m->experts, (unsigned)m->active,
			 (unsigned)(3 * m->slice - 5), m->skew, m->reuse, m->prompt, m->tokens, m->split,
			 m->prompts != 0 ? m->prompts : 1, m->row, m->loads != 0 ? m->loads : 16);
		for (unsigned layer = 0; layer < m->layers; layer++)
			permutation_init(&router.spread[layer], m->experts, &router.random);
		assert_true(zipf_init(&router.zipf, (uint32_t)m->experts, m->skew));
		rows = rows_open(spec, 5);
		assert_int_equal(rows.ranges, m->split != 0 ? 3 : 1);
		for (uint32_t pass = 0; m->prompt != 0 && (pass == 0 || pass < m->prompts); pass++)
			moe_pass(&rows, m, &router, m->prompt);
		for (uint32_t token = 0; token < m->tokens; token++)
			moe_pass(&rows, m, &router, 1);
		assert_int_equal(rows.row.kind, SOURCE_END);
		rows_close(&rows);
		zipf_close(&router.zipf);
	}
}

/* Experts of each token in the first layer. */
static bool chosen[2000][EXPERTS_MAX];
static void read_choices(const char *spec, unsigned tokens, unsigned layers)
{
	struct rows rows = rows_open(spec, 3);

	memset(chosen, 0, sizeof(chosen));
	for (unsigned token = 0; token < tokens; token++)
		for (unsigned layer = 0; layer < layers; layer++) {
			collect(&rows, "attention");
			collect(&rows, "gate");
			collect(&rows, "up");
			for (rows_kernel(&rows, "down"); rows.row.kind == SOURCE_ACCESS; rows_next(&rows))
				if (layer == 0)
					chosen[token][rows_offset(&rows) / ROWS_PAGE] = true;
			rows_sync(&rows);
		}
	assert_int_equal(rows.row.kind, SOURCE_END);
	rows_close(&rows);
}

/* Without skew and reuse each expert is as frequent as the others (five standard deviations: 70 of 250), and
 * neighbouring tokens share as many as chance has them share: 8 * 8 / 64 = 1. */
static void moe_uniform(void **state)
{
	unsigned shared = 0;

	(void)state;
	read_choices(
		"moe:layers=1,shared=4k,experts=64,active=8,expert=12k,skew=0,reuse=0,tokens=2000,split=1",
		2000, 1);
	for (unsigned expert = 0; expert < 64; expert++) {
		unsigned count = 0;

		for (unsigned token = 0; token < 2000; token++) {
			count += chosen[token][expert];
			shared += token > 0 && chosen[token][expert] && chosen[token - 1][expert];
		}
		assert_in_range(count, 250 - 70, 250 + 70);
	}
	assert_in_range(shared, 1800, 2200);
}

/* The defaults of the router share as many experts of neighbouring tokens as docs/uvmsim.md says: 0.25. */
static void moe_reuse(void **state)
{
	double shares = 0;

	(void)state;
	read_choices("moe:layers=1,shared=4k,experts=384,active=6,expert=12k,tokens=2000,split=1", 2000, 1);
	for (unsigned token = 1; token < 2000; token++) {
		unsigned both = 0;

		for (unsigned expert = 0; expert < 384; expert++)
			both += chosen[token][expert] && chosen[token - 1][expert];
		shares += (double)both / (12 - both);
	}
	shares /= 1999;
	if (shares < 0.235 || shares > 0.265)
		fail_msg("%g", shares);
}

static void moe_kept(void **state)
{
	(void)state;
	read_choices("moe:layers=1,shared=4k,experts=64,active=8,expert=12k,reuse=100,tokens=50,split=1", 50,
		     1);
	for (unsigned token = 1; token < 50; token++)
		assert_memory_equal(chosen[token], chosen[0], sizeof(chosen[0]));
}

/* A law so steep that rare experts are never drawn: all are chosen all the same. */
static void moe_all(void **state)
{
	(void)state;
	read_choices("moe:layers=1,shared=4k,experts=64,active=64,expert=12k,skew=300,tokens=3,split=1", 3,
		     1);
	for (unsigned token = 0; token < 3; token++)
		for (unsigned expert = 0; expert < 64; expert++)
			assert_true(chosen[token][expert]);
}

/* -- both -- */

static void determined(void **state)
{
	(void)state;
	rows_determined("decode:layers=2,layer=100k,head=9000,kv=300,prompt=20,tokens=2", false);
	rows_determined("moe:layers=2,shared=10k,expert=20k,tokens=5", true);
}

static void refused(void **state)
{
	(void)state;
	rows_refused("decode:prompt=0,tokens=0", "workload decode: prompt and tokens are both 0");
	rows_refused("decode:kv=1m,prompt=1000000,sequences=4096",
		     "workload decode: the key-value cache of a layer is larger than 2 TiB");
	rows_refused("moe:tokens=0", "workload moe: prompt and tokens are both 0");
	rows_refused("moe:experts=3", "workload moe: active is larger than experts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_pages), cmocka_unit_test(decode_counts), cmocka_unit_test(moe_pages),
		cmocka_unit_test(moe_uniform),	cmocka_unit_test(moe_kept),	 cmocka_unit_test(moe_reuse),
		cmocka_unit_test(moe_all),	cmocka_unit_test(determined),	 cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests_name("workload models", tests, NULL, NULL);
}
