/* Controllers recomputed from histories. Means and shares are taken in floating point where numbers are small
 * enough for that to be exact. */
#include "naive_adapt.h"

#include <stddef.h>
#include <string.h>

static uint32_t between(int64_t x, uint32_t min, uint32_t max)
{
	if (x < (int64_t)min)
		return min;
	return x > (int64_t)max ? max : (uint32_t)x;
}

/* -- threshold -- */

uint32_t naive_threshold(const struct naive_threshold *naive, const struct uvmp_threshold_params *params)
{
	int64_t threshold = params->base;
	double faults = 0, refaults = 0, evicted = 0;

	for (uint32_t i = 0; i < naive->count; i++) {
		faults += naive->load[i].faults;
		refaults += naive->load[i].refaults;
		evicted += naive->load[i].evicted_pages;
		if (naive->fits[i]) {
			threshold = params->base;
			faults = refaults = evicted = 0;
		}
		if (faults < params->window || naive->fits[i])
			continue;
		if (100 * refaults < params->refault_percent * faults ||
		    evicted < params->evicted_low * faults)
			threshold = threshold == 101
			                    ? 100
			                    : between(threshold - params->step, params->aggressive, 100);
		else if (evicted >= params->evicted_high * faults)
			threshold = threshold >= 100 ? 101 : between(threshold + params->step, 1, 100);
		faults = refaults = evicted = 0;
	}
	if (naive->fits[naive->count - 1])
		return params->aggressive;
	return params->is_off_when_full ? 101 : (uint32_t)threshold;
}

/* -- early -- */

/* Faults of an epoch, of one block or (UINT32_MAX) of all. */
static double faults_in(const struct naive_early *naive, const struct uvmp_early_params *params,
                        uint64_t epoch, uint32_t block)
{
	double faults = 0;

	for (uint32_t i = 0; i < naive->count; i++)
		if (naive->event[i].now_ns / params->epoch_ns == epoch &&
		    (block == UINT32_MAX || naive->event[i].block == block))
			faults += naive->event[i].faults;
	return faults;
}

static bool evicts_in(const struct naive_early *naive, const struct uvmp_early_params *params, uint64_t epoch)
{
	for (uint32_t i = 0; i < naive->count; i++)
		if (naive->event[i].now_ns / params->epoch_ns == epoch && naive->event[i].faults == 0)
			return true;
	return false;
}

static double before(const struct naive_early *naive, const struct uvmp_early_params *params, uint64_t epoch,
                     uint32_t block)
{
	if (epoch == 0 || epoch - 1 < naive->start_ns / params->epoch_ns)
		return 0;
	return faults_in(naive, params, epoch - 1, block);
}

/* The shift that holds at the last event: each epoch that something came after has had its say. */
static int64_t shift(const struct naive_early *naive, const struct uvmp_early_params *params)
{
	uint64_t epoch = naive->start_ns / params->epoch_ns;
	int64_t sum = 0;

	for (uint32_t i = 0; i < naive->count; i++) {
		uint64_t next = naive->event[i].now_ns / params->epoch_ns;
		double now = faults_in(naive, params, epoch, UINT32_MAX);
		double last = before(naive, params, epoch, UINT32_MAX);

		if (next == epoch)
			continue;
		if (last > 0 && evicts_in(naive, params, epoch) &&
		    100 * now > (100 + params->change_percent) * last)
			sum = between(sum + params->step, 0, 99);
		else if (last > 0 && (!evicts_in(naive, params, epoch) ||
		                      100 * last > (100 + params->change_percent) * now))
			sum = between(sum - params->step, 0, 99);
		epoch = next;
	}
	return sum;
}

uint32_t naive_early(const struct naive_early *naive, const struct uvmp_early_params *params)
{
	uint32_t block = naive->event[naive->count - 1].block, blocks = 0;
	uint64_t epoch = naive->event[naive->count - 1].now_ns / params->epoch_ns;
	double all = before(naive, params, epoch, UINT32_MAX), last = before(naive, params, epoch, block);
	double now = faults_in(naive, params, epoch, block), rate = now > last ? now : last;
	uint32_t threshold = params->base;

	for (uint32_t b = 0; b < NAIVE_ADAPT_BLOCKS; b++)
		blocks += before(naive, params, epoch, b) > 0;
	if (all > 0 && 100 * rate * blocks >= params->hot_percent * all)
		threshold = params->aggressive;
	else if (all > 0 && 100 * rate * blocks <= params->cold_percent * all)
		threshold = params->cautious;
	return between(threshold + shift(naive, params), 1, 100);
}

/* -- threads -- */

uint32_t naive_threads(const struct naive_threads *naive, const struct uvmp_threads_params *params)
{
	uint64_t sum = 0, count = 0, mean = 0, period = 0; /* the last period that had its look */
	uint32_t extra = params->start;

	for (uint32_t i = 0; i < naive->count; i++) {
		uint64_t present;

		if (naive->event[i].life != UINT64_MAX) {
			sum += naive->event[i].life;
			count++;
			continue;
		}
		if (naive->event[i].now / params->period == period)
			continue;
		period = naive->event[i].now / params->period;
		present = count == 0 ? mean : sum / count;
		if (present < mean && 100 * (mean - present) >= params->drop_percent * mean)
			extra -= extra > 0;
		else
			extra += extra < params->max;
		mean = present;
		if (params->is_each_period)
			sum = count = 0;
	}
	return extra;
}

/* -- throttle -- */

uint32_t naive_throttle(const struct naive_throttle *naive, const struct uvmp_throttle_params *params)
{
	int64_t throttled = 0, most = (int64_t)params->sms - params->min_running;
	uint32_t phase = 0; /* 0 idle, 1 initial, then even: detection, odd: execution */
	uint64_t begun = 0;
	double faults = 0, refaults = 0;

	for (uint32_t i = 0; i < naive->count; i++) {
		uint64_t length = phase == 1       ? params->initial
		                  : phase % 2 == 0 ? params->detect
		                                   : params->execute;

		if (phase == 0 && naive->event[i].evicted == 0)
			continue;
		faults += naive->event[i].faults;
		refaults += naive->event[i].refaults;
		if (phase > 0 && naive->event[i].now - begun < length)
			continue;
		if (phase == 0)
			throttled = between(params->sms / 2, 0, (uint32_t)most);
		else if (phase % 2 == 0 && (faults == 0 || 100 * refaults < params->calm_percent * faults))
			throttled = between(throttled - params->step, 0, (uint32_t)most);
		else if (phase % 2 == 0 && 100 * refaults >= params->thrash_percent * faults)
			throttled = between(throttled + params->step, 0, (uint32_t)most);
		phase++;
		begun = naive->event[i].now;
		faults = refaults = 0;
	}
	return (uint32_t)throttled;
}

/* -- cyclic -- */

struct circle {
	uint32_t pins[NAIVE_ADAPT_BLOCKS], count;
	uint32_t left[NAIVE_ADAPT_BLOCKS], rounds[NAIVE_ADAPT_BLOCKS]; /* left 0: is not away */
	uint32_t evictions, returned;
};

static bool take_out(struct circle *c, uint32_t block)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->pins[i] == block) {
			memmove(&c->pins[i], &c->pins[i + 1], (c->count - i - 1) * sizeof(c->pins[0]));
			c->count--;
			return true;
		}
	return false;
}

static void come_back(struct circle *c, const struct uvmp_cyclic_params *params, uint32_t capacity,
                      uint32_t block, bool is_fault)
{
	double away = c->evictions - c->left[block];

	if (c->left[block] == 0)
		return;
	c->left[block] = 0;
	if (!is_fault)
		return;
	if (away > (double)(capacity * params->reach_percent / 100)) {
		c->rounds[block] = 0;
		return;
	}
	c->rounds[block]++;
	c->returned = c->evictions;
	if (c->rounds[block] >= params->rounds && c->count < capacity * params->share_percent / 100)
		c->pins[c->count++] = block;
}

uint32_t naive_cyclic(const struct naive_cyclic *naive, const struct uvmp_cyclic_params *params,
                      uint32_t *pins, uint32_t *released)
{
	struct circle c = {.count = 0};

	for (uint32_t i = 0; i < naive->count; i++) {
		uint32_t block = naive->event[i].block;

		*released = UINT32_MAX;
		switch (naive->event[i].kind) {
		case NAIVE_CYCLIC_EVICT:
			(void)take_out(&c, block);
			c.left[block] = ++c.evictions;
			break;
		case NAIVE_CYCLIC_RETURN:
		case NAIVE_CYCLIC_PREFETCH:
			come_back(&c, params, naive->capacity, block,
			          naive->event[i].kind == NAIVE_CYCLIC_RETURN);
			break;
		case NAIVE_CYCLIC_FREE:
			(void)take_out(&c, block);
			c.left[block] = c.rounds[block] = 0;
			break;
		case NAIVE_CYCLIC_RELEASE:
			if (c.count > 0 &&
			    (c.count > naive->capacity * params->share_percent / 100 ||
			     c.evictions - c.returned >= naive->capacity * params->patience_percent / 100)) {
				*released = c.pins[0];
				c.rounds[c.pins[0]] = 0;
				(void)take_out(&c, c.pins[0]);
			}
			break;
		}
	}
	memcpy(pins, c.pins, c.count * sizeof(c.pins[0]));
	return c.count;
}
