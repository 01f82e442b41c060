/* auto: the price of a page.
 *
 * The price of a page is its copy and the room for it. Room has a price if pages return that were evicted. A page that
 * returns after x evictions from a memory of m pages shows that x/m of a turn more would have saved a copy: m/x, at most
 * auto_price. The mean over all pages that leave is the price of room.
 *
 * A block keeps when its pages left, and how many; a processor keeps the sums of the mean, which halve after two turns of
 * memory. */
#include "prefetch_auto_internal.h"

void uvmpi_auto_price_return(struct auto_decision *d)
{
	uint32_t most = d->params->auto_price, ago = (uint32_t)d->facts->memory.evicted_pages - d->block->left;
	uint32_t worth;

	if (d->block->departed == 0)
		return;
	worth = (uint64_t)ago * most <= d->turn ? most * AUTO_PRICE_UNIT : d->turn * AUTO_PRICE_UNIT / ago;
	d->processor->worth += (uint64_t)d->block->departed * worth;
	d->block->left = d->block->departed = 0;
}

/* Before much has left, half a memory without returns counts. */
void uvmpi_auto_price_set(struct auto_decision *d)
{
	struct auto_processor *p = d->processor;

	if (p->evicted == 0)
		p->departed = d->turn / 2u;
	p->departed += d->facts->memory.evicted_pages - p->evicted;
	p->evicted = d->facts->memory.evicted_pages;
	uvmpi_auto_price_return(d);
	if (p->departed > 2u * (uint64_t)d->turn) {
		p->departed /= 2u;
		p->worth /= 2u;
	}
	d->price = AUTO_PRICE_UNIT;
	if (d->params->auto_price > 1u) {
		uint64_t room = p->worth / (p->departed + 1u), most = d->params->auto_price * AUTO_PRICE_UNIT;

		d->price += (uint32_t)(room < most ? room : most); /* above: pages return that left another GPU */
	}
}

void uvmpi_auto_price_left(void *state, const struct uvmp_prefetch_departure *departure)
{
	struct auto_block *block = (struct auto_block *)state;

	block->departed = auto_add_most(block->departed, uvmpi_mask_weight(departure->gone));
	block->left = (uint32_t)departure->evicted_pages;
}
