/* A store of one's own: memory that notices when a page comes back other than it left.
 *
 *   cc own_store.c $(pkg-config --cflags --libs libuvmpolicy-pager) -o own_store && ./own_store */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uvmpolicy/pager.h>
#include <uvmpolicy/store.h>

#define PAGES 8192u /* 32 MiB */

struct checked {
	struct uvmp_pager_store store; /* first: the pager hands it back to the functions */
	uint64_t sum[PAGES];
	uint8_t page[PAGES][UVMP_STORE_PAGE_BYTES];
};

static uint64_t sum_of(const uint8_t *page)
{
	uint64_t sum = 14695981039346656037u;

	for (size_t i = 0; i < UVMP_STORE_PAGE_BYTES; i++)
		sum = (sum ^ page[i]) * 1099511628211u;
	return sum;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t first, uint64_t pages, void *to)
{
	struct checked *checked = (struct checked *)store;

	for (uint64_t i = first; i < first + pages; i++) {
		if (sum_of(checked->page[i]) != checked->sum[i])
			return -EIO; /* threads that wait for the page get SIGBUS; others continue */
	}
	memcpy(to, checked->page[first], pages * UVMP_STORE_PAGE_BYTES);
	return 0;
}

static int write_pages(struct uvmp_pager_store *store, uint64_t first, uint64_t pages, const void *from)
{
	struct checked *checked = (struct checked *)store;

	memcpy(checked->page[first], from, pages * UVMP_STORE_PAGE_BYTES);
	for (uint64_t i = first; i < first + pages; i++)
		checked->sum[i] = sum_of(checked->page[i]);
	return 0;
}

static void forget(struct uvmp_pager_store *store, uint64_t first, uint64_t pages)
{
	(void)store, (void)first, (void)pages;
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	(void)store;
	return sizeof(struct checked);
}

static void close_store(struct uvmp_pager_store *store)
{
	free(store);
}

int main(void)
{
	struct checked *checked = calloc(1, sizeof(*checked));
	struct uvmp_pager_config config;
	struct uvmp_pager_stats stats;
	struct uvmp_pager *pager;
	char error[256];
	size_t wrong = 0;

	if (!checked)
		return 1;
	/* `at` is left out, so that all comes through read; `fork` too: a child has a copy as of all memory
	 */
	checked->store = (struct uvmp_pager_store){.read = read_pages,
	                                           .write = write_pages,
	                                           .forget = forget,
	                                           .size = size,
	                                           .close = close_store};
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8 << 20;
	config.managed_bytes = (uint64_t)PAGES * UVMP_STORE_PAGE_BYTES;
	config.own_store = &checked->store; /* the pager's from here on */
	if (uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0)
		return fprintf(stderr, "own_store: %s\n", error), 2;
	uint64_t words = config.managed_bytes / sizeof(uint64_t),
	         *word = uvmp_pager_alloc(pager, config.managed_bytes);

	if (!word)
		return perror("own_store"), 2;
	for (uint64_t i = 0; i < words; i++)
		word[i] = i * i;
	for (uint64_t i = 0; i < words; i++)
		wrong += word[i] != i * i;
	uvmp_pager_stats(pager, &stats);
	printf("own_store %s: %zu MiB written, %zu MiB read\n", wrong == 0 ? "right" : "WRONG",
	       stats.bytes_out >> 20, stats.bytes_in >> 20);
	uvmp_pager_destroy(pager);
	return wrong != 0;
}
