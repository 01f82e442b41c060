/* Ranges, each with an array of its VABlocks. Addresses are looked up by a binary search over the parts of
 * the ranges, and one division. A range of which parts were freed keeps its blocks as they were made, however
 * the engine has cut them: pages are always counted from the first one that the block ever had. */
#include "space.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "huge_pages.h"
#include "machine_memory.h"

#define BLOCKS_MAX	   (1u << 24) /* 32 TiB of 2 MiB blocks */
#define BLOCKS_UNCHECKED   (1u << 18) /* of a range whose tables any machine can hold */
#define ENGINE_BLOCK_BYTES 1024u      /* of each block in the engine, at least */

bool space_open(struct space *space, uint32_t page_bytes)
{
	memset(space, 0, sizeof(*space));
	space->page_bytes = page_bytes;
	space->page_shift = page_bytes == PAGE_BYTES ? 12 : 16;
	return uvmp_geometry_init(&space->geometry, page_bytes, 65536, ROOT_BYTES) == UVMP_OK;
}

static void range_free(struct sim_range *range)
{
	huge_pages_free(range->block, (size_t)range->blocks * sizeof(*range->block));
	free(range);
}

void space_close(struct space *space)
{
	for (size_t i = 0; i < space->ranges; i++)
		range_free(space->range[i]);
	free(space->range);
	free(space->piece);
}

/* Number of pieces that start at or below the address. */
static size_t pieces_below(const struct space *space, uint64_t address)
{
	size_t low = 0, high = space->pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->piece[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Rights before the program begins. Pages that are not managed count as touched, so that they are not
 * counted. */
static void set_rights(struct sim_block *block)
{
	uint32_t owner = block->range->is_device ? UVMP_CPU + 1u : UVMP_CPU;

	if (block->range->is_fresh && !block->range->is_device)
		return;
	uvmp_mask_region_set(&block->low[owner], (struct uvmp_region){0, block->shape.pages});
	block->high[owner] = block->low[owner];
	if (!block->range->is_device)
		return;
	block->mapped = (uint16_t)block->shape.pages;
	block->touched = block->low[owner];
}

static void fill_blocks(struct space *space, struct sim_range *range)
{
	for (uint64_t i = 0; i < range->blocks; i++) {
		struct sim_block *block = &range->block[i];

		uvmp_geometry_block(&space->geometry, range->start, range->last, i, &block->shape);
		block->range = range;
		block->number = space->numbers++;
		set_rights(block);
	}
	if (range->is_device) {
		space->device_bytes += (range->last - range->start) / ROOT_BYTES * ROOT_BYTES + ROOT_BYTES;
		return;
	}
	space->footprint_bytes += range->last - range->start + 1u;
}

/* There is room. */
static void insert_range(struct space *space, struct sim_range *range)
{
	size_t place = space->ranges;

	while (place > 0 && space->range[place - 1]->start > range->start)
		place--;
	ARRAY_OPEN(space->range, space->ranges, place);
	space->range[place] = range;
	space->ranges++;
}

/* Blocks that the engine may have for it. */
static uint32_t blocks_of(const struct space *space, const struct sim_piece *piece)
{
	if (piece->range->is_device)
		return 0;
	return (uint32_t)uvmp_geometry_block_count(&space->geometry, piece->start, piece->last);
}

/* There is room. */
static void insert_piece(struct space *space, size_t place, struct sim_piece piece)
{
	space->blocks += blocks_of(space, &piece);
	memmove(space->piece + place + 1, space->piece + place, (space->pieces - place) * sizeof(piece));
	space->piece[place] = piece;
	space->pieces++;
}

/* NULL: out of memory. */
static struct sim_block *zero_blocks(uint64_t blocks)
{
	return blocks > SIZE_MAX / sizeof(struct sim_block) ?
		       NULL :
		       huge_pages_zeros((size_t)blocks * sizeof(struct sim_block));
}

/* "range NAME at 0x1000"; without a name "range at 0x1000". */
struct title {
	char text[sizeof(((struct source_range *)0)->name) + 32];
};

static struct title title_of(const struct source_range *range)
{
	struct title title;

	snprintf(title.text, sizeof(title.text), "range %s%sat 0x%llx", range->name, range->name[0] != '\0' ? " " : "",
		 (unsigned long long)range->base);
	return title;
}

/* Large ranges are refused before their tables are filled, which would take the memory that is left. */
static bool check_machine(const struct space *space, const struct source_range *range, uint64_t blocks,
			  char error[SOURCE_ERROR_MAX])
{
	uint64_t all = space->blocks + blocks, tables = all * sizeof(struct sim_block), most;

	if (blocks < BLOCKS_UNCHECKED)
		return true;
	most = machine_memory_bytes();
	if (machine_address_bytes() < tables + all * ENGINE_BLOCK_BYTES) {
		tables += all * ENGINE_BLOCK_BYTES;
		most = machine_address_bytes();
	}
	if (tables <= most)
		return true;
	snprintf(error, SOURCE_ERROR_MAX,
		 "%s: %llu bytes need at least %llu MiB of this machine's memory, and %llu MiB are allowed; use a smaller "
		 "range, or raise the limit",
		 title_of(range).text, (unsigned long long)range->bytes, (unsigned long long)(tables >> 20), (unsigned long long)(most >> 20));
	return false;
}

bool space_add_range(struct space *space, const struct source_range *source, char error[SOURCE_ERROR_MAX])
{
	uint64_t bytes = (source->bytes + space->page_bytes - 1) & ~(uint64_t)(space->page_bytes - 1);
	uint64_t last = source->base + bytes - 1;
	size_t place = pieces_below(space, source->base);
	struct sim_range *range;
	uint64_t blocks;

	if (source->base % space->page_bytes != 0) {
		snprintf(error, SOURCE_ERROR_MAX,
			 "range at 0x%llx does not begin at a multiple of the %u bytes of a page",
			 (unsigned long long)source->base, space->page_bytes);
		return false;
	}
	blocks = bytes == 0 || last < source->base
			 ? 0
			 : uvmp_geometry_block_count(&space->geometry, source->base, last);
	if (blocks == 0 || blocks > BLOCKS_MAX - space->blocks) {
		snprintf(error, SOURCE_ERROR_MAX,
			 "%s: %llu bytes are not accepted; at least 1 byte, and all ranges together at most 32 TiB",
			 title_of(source).text, (unsigned long long)source->bytes);
		return false;
	}
	if ((place > 0 && space->piece[place - 1].last >= source->base) ||
	    (place < space->pieces && space->piece[place].start <= last)) {
		snprintf(error, SOURCE_ERROR_MAX, "range at 0x%llx overlaps another one",
			 (unsigned long long)source->base);
		return false;
	}
	if (!check_machine(space, source, blocks, error))
		return false;
	range = calloc(1, sizeof(*range));
	if (range) {
		range->blocks = blocks;
		range->block = zero_blocks(blocks);
	}
	if (!range || !range->block || !ARRAY_RESERVE(space->range, space->ranges_room, space->ranges + 1u) ||
	    !ARRAY_RESERVE(space->piece, space->pieces_room, space->pieces + 1u)) {
		if (range)
			range_free(range);
		snprintf(error, SOURCE_ERROR_MAX, "out of memory for %llu blocks",
			 (unsigned long long)blocks);
		return false;
	}
	range->start = source->base;
	range->last = last;
	range->pages = bytes / space->page_bytes;
	range->is_fresh = source->is_fresh;
	range->is_device = source->is_device;
	fill_blocks(space, range);
	insert_range(space, range);
	insert_piece(space, place, (struct sim_piece){range->start, range->last, range});
	return true;
}

/* The first piece that reaches beyond the address. */
static size_t first_piece(const struct space *space, uint64_t address)
{
	size_t place = pieces_below(space, address);

	return place > 0 && space->piece[place - 1].last >= address ? place - 1 : place;
}

static void set_piece(struct space *space, size_t place, uint64_t start, uint64_t last)
{
	struct sim_piece *piece = &space->piece[place];

	space->blocks -= blocks_of(space, piece);
	piece->start = start;
	piece->last = last;
	space->blocks += blocks_of(space, piece);
}

static void remove_piece(struct space *space, size_t place)
{
	space->blocks -= blocks_of(space, &space->piece[place]);
	space->pieces--;
	memmove(space->piece + place, space->piece + place + 1,
		(space->pieces - place) * sizeof(*space->piece));
}

bool space_free(struct space *space, uint64_t start, uint64_t bytes)
{
	size_t place = first_piece(space, start);
	uint64_t last = start + (bytes - 1);

	if (!ARRAY_RESERVE(space->piece, space->pieces_room, space->pieces + 1u))
		return false;
	space->found.range = NULL;
	if (place < space->pieces && space->piece[place].start < start) {
		struct sim_piece above = space->piece[place];

		set_piece(space, place++, above.start, start - 1);
		above.start = start;
		insert_piece(space, place, above);
	}
	while (place < space->pieces && space->piece[place].last <= last)
		remove_piece(space, place);
	if (place < space->pieces && space->piece[place].start <= last)
		set_piece(space, place, last + 1, space->piece[place].last);
	return true;
}

struct sim_block *space_find(struct space *space, uint64_t address, uint32_t *page)
{
	const struct sim_range *range;
	uint64_t start;

	if (!space->found.range || address < space->found.start || address > space->found.last) {
		size_t place = first_piece(space, address);

		if (place == space->pieces || space->piece[place].start > address)
			return NULL;
		space->found = space->piece[place];
	}
	range = space->found.range;
	start = address & ~(uint64_t)(ROOT_BYTES - 1u);
	start = start > range->start ? start : range->start; /* shape.start, without a look at the block */
	*page = (uint32_t)((address - start) >> space->page_shift);
	return &range->block[address / ROOT_BYTES - range->start / ROOT_BYTES];
}

uint64_t space_unused_pages(const struct space *space)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < space->ranges; i++) {
		for (uint64_t k = 0; k < space->range[i]->blocks; k++)
			pages += uvmp_mask_weight(&space->range[i]->block[k].unused);
	}
	return pages;
}
