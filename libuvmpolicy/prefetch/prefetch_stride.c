/* Prefetch by stride with confidence.
 *
 * Idea: faults at equal distances will continue. gpu_ext (arXiv 2512.12615) keeps, per VABlock, the last
 * faulting page, the distance of the last two faults and the number of its repetitions, the confidence. A
 * distance that does not repeat lowers the confidence by one instead of clearing it. With enough confidence
 * the next pages of the stride are fetched. Only this idea is from there; the rest is ours:
 *
 *  - The faults of a range are kept as a few streams, the last used first. So a stride may cross blocks, and
 *    several streams may run at once. The pages of one decision are examined in ascending order.
 *  - A stream expects a fault one stride after its last fault; once it is trusted, at any multiple up to one
 *    stride after its last fetched page: pages that arrived ahead of time do not fault.
 *  - A page that no stream expects belongs to the nearest stream within 512 pages (the size of a block, which
 *    gpu_ext searches). It lowers the confidence by one; when no confidence remains, the stream takes the new
 *    distance as its stride. A page without a near stream starts a stream, in place of the least recently
 *    used one.
 *  - Each faulting page of a trusted stream fetches the next `stride_depth` pages of its stride. If these
 *    leave the block, hint->follow names the other block, with the remaining pages. If several streams leave
 *    the block in one decision, the last one continues.
 *  - Thrashing pages, range groups without a fault and ranges with another preferred location are skipped, as
 *    by the driver's prefetcher. */
#include "../base/mask_internal.h"
#include "prefetch_internal.h"
#include "prefetch_states_internal.h"

#define CONFIDENCE_MAX 7u

static uint32_t size_of(int32_t stride)
{
	return stride < 0 ? 0u - (uint32_t)stride : (uint32_t)stride;
}

static bool is_trusted(const struct uvmp_prefetch_params *params, const struct stride_stream *stream)
{
	return stream->confidence >= params->stride_confidence;
}

/* Does the stream go on with this page? */
static bool expects(const struct uvmp_prefetch_params *params, const struct stride_stream *stream,
		    uint64_t page)
{
	/* If the page is on the other side, the distance wraps and is too large. */
	uint64_t ahead = stream->stride < 0 ? stream->page - page : page - stream->page;
	uint64_t size = size_of(stream->stride);
	uint64_t farthest = is_trusted(params, stream) ? size * (params->stride_depth + 1u) : size;

	return size != 0 && ahead != 0 && ahead <= farthest && ahead % size == 0;
}

/* The stream that a page belongs to; range->streams for none. */
static uint32_t stream_of(const struct uvmp_prefetch_params *params, const struct stride_range *range,
			  uint64_t page)
{
	uint64_t nearest = STRIDE_MAX + 1u;
	uint32_t found = range->streams;

	for (uint32_t i = 0; i < range->streams; i++) {
		uint64_t last = range->stream[i].page, distance = page > last ? page - last : last - page;

		if (expects(params, &range->stream[i], page))
			return i;
		if (distance < nearest) {
			nearest = distance;
			found = i;
		}
	}
	return found;
}

/* Moves the stream at `at` to the front, or makes room there for a new one. */
static struct stride_stream *to_front(struct stride_range *range, uint32_t at, uint64_t page)
{
	struct stride_stream first = {page, 0, 0};

	if (at < range->streams)
		first = range->stream[at];
	else if (at < STRIDE_STREAMS)
		range->streams++;
	else
		at--; /* the oldest makes room */
	for (; at > 0; at--)
		range->stream[at] = range->stream[at - 1u];
	range->stream[0] = first;
	return &range->stream[0];
}

static const struct stride_stream *learn(const struct uvmp_prefetch_params *params,
					 struct stride_range *range, uint64_t page)
{
	struct stride_stream *stream = to_front(range, stream_of(params, range, page), page);

	if (page == stream->page) /* new, or the same fault once more */
		return stream;
	if (expects(params, stream, page)) {
		stream->confidence = minimum(stream->confidence + 1u, CONFIDENCE_MAX);
	} else if (stream->confidence > 1u) {
		stream->confidence--;
	} else {
		stream->stride = (int32_t)(int64_t)(page - stream->page); /* within 512 */
		stream->confidence = 1;
	}
	stream->page = page;
	return stream;
}

/* A walk over the range in equal steps. */
struct walk {
	uint64_t page, budget;
	int32_t step;
};

/* Takes pages in the block. The rest of the budget is for another block. */
static void take(const struct uvmp_prefetch_facts *facts, struct walk *walk, uvmp_mask *pages)
{
	/* A step over either end of the range ends the walk: in front of its start the number wraps. */
	for (; walk->budget != 0 && walk->page < facts->range_pages; walk->budget--) {
		uint64_t page = walk->page - facts->range_first; /* wraps likewise before the block */

		if (page >= facts->block.pages)
			return;
		uvmp_mask_set(pages, (uint32_t)page);
		walk->page += (uint64_t)(int64_t)walk->step;
	}
	walk->budget = 0;
}

/* Updates the streams with the faults and takes the pages of trusted streams; returns the walk that continues
 * in another block, if there is one. */
static struct walk take_ahead(const struct uvmp_prefetch_params *params,
			      const struct uvmp_prefetch_facts *facts, struct stride_range *range,
			      uvmp_mask *pages)
{
	struct walk left = {0, 0, 0};

	for (uint32_t p = uvmpi_mask_next_set(facts->faulted, 0); p < UVMP_MASK_BITS;
	     p = uvmpi_mask_next_set(facts->faulted, p + 1u)) {
		const struct stride_stream *stream = learn(params, range, facts->range_first + p);
		struct walk walk = {stream->page, params->stride_depth, stream->stride};

		if (!is_trusted(params, stream))
			continue;
		walk.page += (uint64_t)(int64_t)walk.step;
		take(facts, &walk, pages);
		if (walk.budget != 0)
			left = walk;
	}
	return left;
}

static enum uvmp_status decide(const struct uvmp_prefetch_params *params,
			       const struct uvmp_prefetch_facts *facts, struct uvmp_prefetch_state *state,
			       struct uvmp_prefetch_hint *hint)
{
	struct stride_range *range = (struct stride_range *)state->range;
	uvmp_mask pages, admitted;
	struct walk walk;

	if (range->streams > STRIDE_STREAMS)
		return UVMP_ERR_ARGUMENT;
	uvmpi_mask_zero(&pages);
	if (facts->is_follow) {
		walk.page = range->cursor;
		walk.budget = range->budget < params->stride_depth ? range->budget : params->stride_depth;
		walk.step = range->step;
		/* Another call would give the same answer without end. */
		if (walk.budget != 0 && walk.page - facts->range_first >= facts->block.pages)
			return UVMP_ERR_RANGE;
		take(facts, &walk, &pages);
	} else {
		walk = take_ahead(params, facts, range, &pages);
	}
	range->cursor = walk.page;
	range->budget = walk.budget;
	range->step = walk.step;
	uvmpi_prefetch_admit(facts, &admitted);
	uvmpi_mask_and(&pages, &pages, &admitted);
	uvmpi_prefetch_hint_set(hint, facts->to, &pages);
	if (walk.budget != 0)
		hint->follow = walk.page;
	return UVMP_OK;
}

static const struct parameter parameters[] = {
	PREFETCH_PARAMETER(stride_depth, "stride_depth", 1, 64, 4, "pages to fetch ahead of a fault that continues the stride"),
	PREFETCH_PARAMETER(stride_confidence, "stride_confidence", 1, 7, 2,
			   "repetitions of a stride before pages are prefetched"),
};

/* Faults of a range at equal distances: the next `stride_depth` pages of a stride that was seen
 * `stride_confidence` times, in this block or, through hint->follow (see struct uvmp_prefetch_hint), in
 * others. Pages at equal distance ahead of the last fault of a stream belong to it, as far as it fetches; any
 * other page joins the stream nearest to it within STRIDE_MAX pages and costs it confidence,
 * or starts a stream of its own. If several streams leave the block in one decision, one of them goes on.
 * UVMP_ERR_ARGUMENT also: more streams than STRIDE_STREAMS. UVMP_ERR_RANGE also: range_pages <
 * range_first + block.pages; is_follow for a block that does not hold the cursor while there is a budget.
 * Cost: a few operations per fault and stream. */
const struct prefetcher uvmpi_prefetcher_stride = {
	.name = "stride",
	.summary = "the next stride_depth pages of a stride seen stride_confidence times",
	.traits = {.grouping = UVMP_GROUPING_BY_CAUSE,
		   .walks_ranges = true,
		   .has_one_gpu = true,
		   .range_bytes = sizeof(struct stride_range)},
	.decide = decide,
	.parameter = parameters,
	.parameters = sizeof(parameters) / sizeof(parameters[0]),
};
