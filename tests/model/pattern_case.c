/* Random events for the pattern engine. */
#include "pattern_case.h"

#include <string.h>

void pattern_case_init(struct pattern_case *c)
{
	memset(c, 0, sizeof(*c));
	(void)uvmp_pattern_init(&c->engine, c->open, PATTERN_CASE_OPEN, c->data, PATTERN_CASE_DATA);
	for (uint32_t i = 0; i < PATTERN_CASE_DATA; i++)
		(void)uvmp_pattern_watch(&c->engine, i, c->block[i], NAIVE_PATTERN_BLOCKS);
}

/* Kernels whose window has not passed. */
static uint32_t running(const struct pattern_case *c)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < c->naive.kernels; k++)
		count += c->naive.kernel[k].end >= c->cycle;
	return count;
}

static bool launch(struct pattern_case *c)
{
	bool is_full = running(c) == PATTERN_CASE_OPEN;
	uint64_t id = 0;
	enum uvmp_status status = uvmp_pattern_launch(&c->engine, c->cycle, &id);

	if (is_full)
		return status == UVMP_ERR_SPACE;
	c->naive.kernel[c->naive.kernels].launch = c->cycle;
	c->naive.kernel[c->naive.kernels].end = UINT64_MAX;
	return status == UVMP_OK && id == c->naive.kernels++;
}

/* The n-th of the kernels that run. */
static bool end(struct pattern_case *c, uint32_t n)
{
	for (uint32_t k = 0; k < c->naive.kernels; k++)
		if (c->naive.kernel[k].end == UINT64_MAX && n-- == 0) {
			c->naive.kernel[k].end = c->cycle;
			return uvmp_pattern_end(&c->engine, k, c->cycle) == UVMP_OK;
		}
	return uvmp_pattern_end(&c->engine, c->naive.kernels, c->cycle) == UVMP_ERR_STATE;
}

static bool record(struct pattern_case *c, uint32_t data, uint32_t block)
{
	struct naive_pattern *naive = &c->naive;

	naive->record[naive->records].cycle = c->cycle;
	naive->record[naive->records].data = data;
	naive->record[naive->records++].block = block;
	c->next[data] = (block + 1u) % NAIVE_PATTERN_BLOCKS;
	return uvmp_pattern_log(&c->engine, c->cycle, data, block) == UVMP_OK;
}

static bool act(struct pattern_case *c, uint32_t number)
{
	uint32_t data = (number >> 4) % PATTERN_CASE_DATA, n = number >> 8;

	if (c->naive.records == NAIVE_PATTERN_MAX || c->naive.kernels == NAIVE_PATTERN_MAX)
		return true;
	switch (number & 15u) {
	case 0:
	case 1:
		return launch(c);
	case 2:
	case 3:
		return end(c, n % PATTERN_CASE_OPEN);
	case 4:
	case 5:
		return record(c, data, n % NAIVE_PATTERN_BLOCKS);
	case 6:
	case 7:
	case 8:
		c->cycle += 1u + n % 3u;
		return true;
	case 9:
		if (n % 64u != 0)
			return true;
		naive_pattern_forget(&c->naive, data);
		c->next[data] = 0;
		c->is_forgotten = true;
		return uvmp_pattern_watch(&c->engine, data, c->block[data], NAIVE_PATTERN_BLOCKS) == UVMP_OK;
	default:
		return record(c, data, c->next[data]);
	}
}

bool pattern_case_step(struct pattern_case *c, uint32_t number)
{
	enum uvmp_pattern_verdict verdict, naive;

	if (!act(c, number) || !uvmp_pattern_is_valid(&c->engine))
		return false;
	for (uint32_t i = 0; i < PATTERN_CASE_DATA; i++)
		if (uvmp_pattern_of(&c->engine, i) != naive_pattern_of(&c->naive, i))
			return false;
	verdict = uvmp_pattern_decide(&c->engine);
	naive = naive_pattern_decide(&c->naive, PATTERN_CASE_DATA);
	return c->is_forgotten ? verdict >= naive : verdict == naive;
}
