/* See oracle.h: a batch of 256 faults in two orders, and its bins. */
#include "oracle.h"

#include <string.h>

#define FAULTS 256u

static void draw_fault(struct oracle *oracle, uint32_t span, struct uvmp_fault *fault)
{
	static const uint32_t apertures[4] = {0, 3, UVMP_APERTURE_SYS, UVMP_APERTURE_VID};

	memset(fault, 0, sizeof(*fault));
	fault->va_space = 1u + oracle_below(oracle, 3);
	fault->gpu = oracle_below(oracle, 5);
	fault->address = oracle_below(oracle, span);
	fault->access = (uint8_t)oracle_below(oracle, 5);
	fault->aperture = apertures[oracle_below(oracle, 4)];
	fault->instance = 4096u * (uint64_t)oracle_below(oracle, 5);
	fault->subcontext = oracle_below(oracle, 3);
	fault->num_instances = 1u + oracle_below(oracle, oracle_one_in(oracle, 4) ? 150 : 3);
}

static void draw_batch(struct oracle *oracle, struct uvmp_fault *fault)
{
	static const uint32_t spans[4] = {16, 300, 2048, 65536};
	uint32_t span = spans[oracle_below(oracle, 4)];
	bool is_sorted = oracle_one_in(oracle, 8);

	for (uint32_t i = 0; i < FAULTS; i++) {
		draw_fault(oracle, span, &fault[i]);
		if (is_sorted) {
			fault[i].va_space = fault[i].gpu = fault[i].access = 1;
			fault[i].address = i * span / FAULTS;
		}
		fault[i].address = 0x7f0000000000u + 4096u * fault[i].address;
		fault[i].access_mask = (uint8_t)(1u << fault[i].access);
	}
	if (is_sorted && oracle_below(oracle, 2) == 1u) {
		uint32_t j = oracle_one_in(oracle, 4) ? 0 : oracle_below(oracle, 255);
		struct uvmp_fault other = fault[j];

		fault[j] = fault[j + 1u];
		fault[j + 1u] = other;
	}
}

void oracle_library_order(const struct uvmp_fault *fault, uint32_t *order, uint32_t count,
			  bool is_by_instance)
{
	uint64_t scratch[UVMP_FAULT_ORDER_WORDS(FAULTS)];

	if (is_by_instance)
		uvmp_fault_order_by_instance(fault, order, count, scratch);
	else
		uvmp_fault_order(fault, order, count, scratch);
}

static void put_orders(struct oracle *oracle, const struct uvmp_fault *fault, uint32_t *order)
{
	oracle_subject->order(fault, order, FAULTS, true);
	for (uint32_t i = 0; i < FAULTS; i++) {
		oracle_put(oracle, fault[order[i]].aperture, 4);
		oracle_put(oracle, fault[order[i]].instance, 8);
		oracle_put(oracle, fault[order[i]].subcontext, 4);
	}
	oracle_subject->order(fault, order, FAULTS, false);
	for (uint32_t i = 0; i < FAULTS; i++) {
		oracle_put(oracle, fault[order[i]].va_space, 8);
		oracle_put(oracle, fault[order[i]].gpu, 4);
		oracle_put(oracle, fault[order[i]].address, 8);
		oracle_put(oracle, fault[order[i]].access, 1);
	}
}

static uint32_t find_bins(const struct uvmp_fault *fault, const uint32_t *order, struct uvmp_fault_bin *bin)
{
	uint32_t bins = 0;

	for (uint32_t at = 0; at < FAULTS;) {
		const struct uvmp_fault *first = &fault[order[at]];

		if (first->gpu == 0) {
			at++;
			continue;
		}
		if (uvmp_fault_bin_next(fault, order, FAULTS, at, first->address | 0x1fffffu, &bin[bins]) !=
		    UVMP_OK)
			break;
		at += bin[bins++].count;
	}
	return bins;
}

void oracle_order(struct oracle *oracle)
{
	struct uvmp_fault fault[FAULTS];
	struct uvmp_fault_bin bin[FAULTS];
	uint32_t order[FAULTS], bins;

	draw_batch(oracle, fault);
	for (uint32_t i = 0; i < FAULTS; i++)
		order[i] = i;
	oracle_put(oracle, UVMP_OK, 4);
	put_orders(oracle, fault, order);
	bins = find_bins(fault, order, bin);
	oracle_put(oracle, bins, 4);
	for (uint32_t i = 0; i < bins; i++) {
		oracle_put(oracle, bin[i].first, 4);
		oracle_put(oracle, bin[i].count, 4);
		oracle_put(oracle, bin[i].duplicates, 4);
	}
}
