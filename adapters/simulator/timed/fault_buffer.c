/* Entries of a batch by what the driver does with them; fault_buffer.h. */
#include "fault_buffer.h"

#include <stdlib.h>

#include "array.h"

bool fault_buffer_open(struct fault_buffer *buffer, uint32_t room)
{
	*buffer = (struct fault_buffer){.entry = array_zeros(room, sizeof(*buffer->entry)), .room = room};
	return buffer->entry != NULL;
}

void fault_buffer_close(struct fault_buffer *buffer)
{
	free(buffer->entry);
}

/* The entry behind the oldest `number`. */
static struct reported_fault *entry_at(const struct fault_buffer *buffer, uint32_t number)
{
	uint32_t at = buffer->first + number;

	return &buffer->entry[at < buffer->room ? at : at - buffer->room];
}

void fault_buffer_add(struct fault_buffer *buffer, struct reported_fault fault)
{
	*entry_at(buffer, buffer->count++) = fault;
}

void fault_buffer_drop(struct fault_buffer *buffer, uint32_t count)
{
	buffer->first = (uint32_t)(entry_at(buffer, count) - buffer->entry);
	buffer->count -= count;
}

/* Notes the access with its page, if it is the strongest of the batch so far. */
static void note(struct sim_block *block, uint64_t batch, const struct reported_fault *fault)
{
	uint32_t noted;

	if (block->batch != batch) {
		block->batch = batch;
		uvmp_mask_zero(&block->wanted_low);
		uvmp_mask_zero(&block->wanted_high);
	}
	noted = (uint32_t)uvmp_mask_test(&block->wanted_low, fault->page) |
		(uint32_t)uvmp_mask_test(&block->wanted_high, fault->page) << 1;
	if (fault->right <= noted)
		return;
	uvmp_mask_clear(&block->wanted_low, fault->page);
	if ((fault->right & 1u) != 0)
		uvmp_mask_set(&block->wanted_low, fault->page);
	if ((fault->right & 2u) != 0)
		uvmp_mask_set(&block->wanted_high, fault->page);
}

uint64_t fault_buffer_take(struct fault_buffer *buffer, uint32_t count)
{
	uint64_t first_ns = UINT64_MAX;

	buffer->batches++;
	for (uint32_t i = 0; i < count; i++) {
		const struct reported_fault *fault = entry_at(buffer, i);

		if (fault->written_ns < first_ns)
			first_ns = fault->written_ns;
		if (fault->block)
			note(fault->block, buffer->batches, fault);
	}
	fault_buffer_drop(buffer, count);
	return first_ns;
}

uint32_t fault_buffer_walk(const struct fault_buffer *buffer, struct sim_block *block)
{
	uint32_t serviced = 0;

	if (block->batch != buffer->batches)
		return 0;
	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		uint64_t low = block->wanted_low.word[i], high = block->wanted_high.word[i];
		uint64_t is_higher = high & ~block->given_high.word[i];
		uint64_t is_alike = ~(high ^ block->given_high.word[i]);

		serviced += (uint32_t)__builtin_popcountll(is_higher |
							   (is_alike & low & ~block->given_low.word[i]));
	}
	block->batch = 0;
	return serviced;
}
