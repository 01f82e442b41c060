/* Premature-eviction monitor (Kim et al., ASPLOS'20, section 4.1): how long pages stay resident.
 *
 * The time of allocation of each page is kept. At the eviction of the page its lifetime enters a running
 * mean. A short mean says that pages are evicted before they are used fully; the source uses only this mean.
 * A page that faults after its eviction was evicted too early. These pages are counted too, for reports. */
#include "adapt_internal.h"

#define EVICTED UINT64_MAX

enum uvmp_status uvmp_lifetime_init(struct uvmp_lifetime *lifetime, uint64_t *page, uint64_t pages)
{
	if (lifetime == NULL || page == NULL)
		return UVMP_ERR_ARGUMENT;
	*lifetime = (struct uvmp_lifetime){.page = page, .pages = pages};
	for (uint64_t i = 0; i < pages; i++)
		page[i] = 0;
	return UVMP_OK;
}

void uvmpi_lifetime_move(struct uvmp_lifetime *lifetime, uint64_t *page, uint64_t pages)
{
	for (uint64_t i = 0; i < pages; i++)
		page[i] = i < lifetime->pages ? lifetime->page[i] : 0;
	lifetime->page = page;
	lifetime->pages = pages;
}

static enum uvmp_status check(const struct uvmp_lifetime *lifetime, uint64_t page)
{
	if (lifetime == NULL || lifetime->page == NULL)
		return UVMP_ERR_ARGUMENT;
	return page < lifetime->pages ? UVMP_OK : UVMP_ERR_RANGE;
}

static bool is_resident(const struct uvmp_lifetime *lifetime, uint64_t page)
{
	return lifetime->page[page] != 0 && lifetime->page[page] != EVICTED;
}

enum uvmp_status uvmp_lifetime_allocate(struct uvmp_lifetime *lifetime, uint64_t page, uint64_t now,
                                        bool is_fault)
{
	enum uvmp_status status = check(lifetime, page);

	if (status != UVMP_OK)
		return status;
	if (now >= EVICTED - 1u)
		return UVMP_ERR_RANGE;
	if (is_resident(lifetime, page))
		return UVMP_ERR_STATE;
	if (is_fault && lifetime->page[page] == EVICTED)
		lifetime->premature++;
	lifetime->page[page] = now + 1u;
	return UVMP_OK;
}

enum uvmp_status uvmp_lifetime_evict(struct uvmp_lifetime *lifetime, uint64_t page, uint64_t now)
{
	enum uvmp_status status = check(lifetime, page);
	uint64_t life;

	if (status != UVMP_OK)
		return status;
	if (!is_resident(lifetime, page) || now < lifetime->page[page] - 1u)
		return UVMP_ERR_STATE;
	life = now - (lifetime->page[page] - 1u);
	while (lifetime->sum > UINT64_MAX - life) { /* 64 times at most, in practice never */
		lifetime->sum /= 2u;
		lifetime->count /= 2u;
	}
	lifetime->sum += life;
	lifetime->count++;
	lifetime->evictions++;
	lifetime->page[page] = EVICTED;
	return UVMP_OK;
}

enum uvmp_status uvmp_lifetime_free(struct uvmp_lifetime *lifetime, uint64_t page)
{
	enum uvmp_status status = check(lifetime, page);

	if (status == UVMP_OK)
		lifetime->page[page] = 0;
	return status;
}

uint64_t uvmp_lifetime_mean(const struct uvmp_lifetime *lifetime)
{
	return lifetime == NULL || lifetime->count == 0 ? 0 : lifetime->sum / lifetime->count;
}
