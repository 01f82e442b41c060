/* Loads of the link by remote accesses; gpu_load.h. */
#include "gpu_load.h"

#define REQUEST		 128u /* bytes of a request at most; it begins at a multiple of them */
#define WORD_BITS	 64u
#define PAGE_SECTORS_MAX (65536u / GPU_SECTOR)

/* The bytes that a span wants of a page, as they cross the link. */
static struct link_load span_load(const struct gpu *gpu, const struct warp *w, uint64_t page)
{
	uint64_t from = page << gpu->page_shift, end = (page + 1u) << gpu->page_shift;

	from = from < w->at ? w->at : from;
	end = end > w->slot.end ? w->slot.end : end;
	return (struct link_load){.bytes = ((end - 1u) / GPU_SECTOR - from / GPU_SECTOR + 1u) * GPU_SECTOR,
				  .requests = (end - 1u) / REQUEST - from / REQUEST + 1u};
}

/* Of the sectors, one bit each: in how many requests do any lie? */
static uint32_t requests_of(uint64_t sectors)
{
	sectors |= sectors >> 1u;
	sectors |= sectors >> 2u;
	return (uint32_t)__builtin_popcountll(sectors & UINT64_C(0x1111111111111111));
}

/* Marks the page's sectors that a lane at `at` wants. Joined steps have a mean of bytes, which can exceed the page. */
static void want_sectors(const struct gpu *gpu, uint64_t *wanted, uint64_t at, uint32_t lane_bytes)
{
	uint64_t page_bytes = (uint64_t)1 << gpu->page_shift, first = at & (page_bytes - 1u),
		 end = first + lane_bytes < page_bytes ? first + lane_bytes : page_bytes;

	for (uint64_t sector = first / GPU_SECTOR; sector <= (end - 1u) / GPU_SECTOR; sector++)
		wanted[sector / WORD_BITS] |= (uint64_t)1 << sector % WORD_BITS;
}

/* The same of the lanes: a sector crosses the link once, and the sectors of 128 bytes are one request. Another lane of
 * this step has brought them if it is before `number`. */
static struct link_load lanes_load(const struct gpu *gpu, const struct warp *w, uint64_t page,
				   uint32_t number)
{
	struct link_load load = {0, 0};
	uint64_t wanted[PAGE_SECTORS_MAX / WORD_BITS] = {0};

	for (uint32_t i = 0; i < w->slot.lanes; i++) {
		if (w->slot.lane[i] >> gpu->page_shift != page)
			continue;
		if (i < number)
			return load;
		want_sectors(gpu, wanted, w->slot.lane[i], w->slot.lane_bytes);
	}
	for (uint32_t i = 0; i < (1u << gpu->page_shift) / (GPU_SECTOR * WORD_BITS); i++) {
		load.bytes += GPU_SECTOR * (uint64_t)__builtin_popcountll(wanted[i]);
		load.requests += requests_of(wanted[i]);
	}
	return load;
}

struct link_load gpu_load(const struct gpu *gpu, const struct warp *w, uint64_t page, uint32_t number)
{
	return w->slot.lanes == 0 ? span_load(gpu, w, page) : lanes_load(gpu, w, page, number);
}
