/* Stories about faults, told by bytes. What a byte means is written where it is read; bytes behind the end
 * are 0. */
#include "model/fault_case.h"

#include <string.h>

#include "model/naive_fault.h"

#define RING_MAX    64u
#define UTLBS_MAX   8u
#define ENTRIES_MAX 256u
#define BLOCK_BYTES 0x200000u

#define REQUIRE(condition)                                                                                   \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			return #condition;                                                                   \
	} while (0)

struct bytes {
	const uint8_t *next, *end;
};

static uint32_t take_byte(struct bytes *bytes)
{
	return bytes->next < bytes->end ? *bytes->next++ : 0u;
}

/* -- fetch -- */

struct timed {
	struct uvmp_fault ring[RING_MAX], entry[RING_MAX];
	struct uvmp_utlb utlb[UTLBS_MAX];
	struct uvmp_fault_buffer buffer;
	struct uvmp_fault_batch batch;
	struct uvmp_fetch_params params;
	uint32_t put;
};

static void timed_start(struct timed *m, struct bytes *bytes)
{
	static const uint32_t page_bytes[] = {4096, 4096, 65536, 16384, 4096, 4096, 65536, 2097152};
	uint32_t flags = take_byte(bytes), capacity = 1u + take_byte(bytes) % RING_MAX;
	uint32_t get = take_byte(bytes) % capacity;

	memset(m, 0, sizeof(*m));
	m->buffer.entry = m->ring;
	m->buffer.capacity = capacity;
	m->buffer.get = m->buffer.cached_put = m->put = get;
	m->batch.entry = m->entry;
	m->batch.capacity = 1u + take_byte(bytes) % RING_MAX;
	m->batch.utlb = m->utlb;
	m->batch.utlbs = 1u + (flags >> 4) % UTLBS_MAX;
	m->params.coalesce = (flags & 1u) == 0;
	m->params.quirks = (flags & 2u) == 0;
	m->params.page_bytes = page_bytes[flags / 4u % 8u];
	m->params.max_batch = take_byte(bytes) % (capacity + 2u); /* now and then to be limited */
}

/* The GPU writes at PUT, unless the ring is full. A few values are ones that no GPU should write. */
static void timed_raise(struct timed *m, struct bytes *bytes)
{
	uint32_t where = take_byte(bytes), what = take_byte(bytes), which = take_byte(bytes);
	uint32_t after = (m->put + 1u) % m->buffer.capacity;
	struct uvmp_fault *e = &m->ring[m->put];

	if (after == m->buffer.get)
		return;
	memset(e, 0, sizeof(*e));
	e->address = (uint64_t)(where % 4u) * 4096u + where;
	e->utlb = where >> 2 & 3u;
	if (where >> 4 == 15u)
		e->utlb = where;
	e->access = (uint8_t)(what % 32u == 31u ? 5u : what % 5u);
	e->type = (uint8_t)(what >> 5);
	e->aperture = which % 64u == 63u ? 12u : 9u + (which & 2u);
	e->instance = which >> 2 & 1u;
	e->subcontext = which >> 3 & 1u;
	e->timestamp_ns = where + what;
	e->is_valid = which < 240u;
	m->put = after;
}

static bool is_same_entry(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a->address == b->address && a->timestamp_ns == b->timestamp_ns && a->instance == b->instance &&
	       a->aperture == b->aperture && a->subcontext == b->subcontext && a->utlb == b->utlb &&
	       a->type == b->type && a->access == b->access && a->is_fatal == b->is_fatal &&
	       a->is_filtered == b->is_filtered && a->access_mask == b->access_mask &&
	       a->num_instances == b->num_instances;
}

static uint64_t words[UVMP_FAULT_ORDER_WORDS(RING_MAX)];

/* Properties of every batch, with any contents of the buffer. */
static const char *check_batch(const struct timed *m)
{
	uint32_t order[RING_MAX], representatives = 0, instances = 0, pending = 0;

	for (uint32_t i = 0; i < m->batch.cached; i++) {
		const struct uvmp_fault *e = &m->entry[i];

		if (e->is_filtered)
			continue;
		order[representatives++] = i;
		instances += e->num_instances;
		REQUIRE(e->access_mask >> e->access == 1u); /* its own access is the most intrusive */
	}
	for (uint32_t u = 0; u < UTLBS_MAX; u++)
		pending += m->utlb[u].num_pending;
	REQUIRE(uvmp_fault_batch_is_valid(&m->batch));
	REQUIRE(representatives == m->batch.coalesced);
	REQUIRE(pending == m->batch.coalesced);
	REQUIRE(instances <= m->batch.cached); /* [driver: lost-merge] loses some */
	REQUIRE(m->params.quirks || instances == m->batch.cached);
	REQUIRE(m->params.coalesce || representatives == m->batch.cached);
	if (representatives > 0) {
		uint32_t again[RING_MAX];

		REQUIRE(uvmp_fault_representatives(&m->batch, again) == representatives);
		REQUIRE(memcmp(order, again, representatives * sizeof(order[0])) == 0);
		REQUIRE(uvmp_fault_order_batch(&m->batch, again, words) == representatives);
		uvmp_fault_order(m->entry, order, representatives, NULL);
		REQUIRE(memcmp(order, again, representatives * sizeof(order[0])) == 0);
	}
	return NULL;
}

static const char *check_ring(const struct timed *before, const struct timed *after)
{
	uint32_t capacity = before->buffer.capacity, cached = after->batch.cached;

	REQUIRE(after->buffer.get == (before->buffer.get + cached) % capacity);
	for (uint32_t i = 0; i < capacity; i++) {
		uint32_t at = (before->buffer.get + i) % capacity;

		REQUIRE(after->ring[at].is_valid == (i >= cached && before->ring[at].is_valid));
	}
	return NULL;
}

static const char *timed_fetch(struct timed *m, enum uvmp_fetch_mode mode)
{
	static struct timed before;
	static struct naive_fetch naive;
	enum uvmp_status status, expected;
	const char *wrong;

	memcpy(&before, m, sizeof(before));
	expected = naive_fault_fetch(&m->params, mode, m->put, &m->buffer, m->batch.capacity, m->batch.utlbs,
	                             &naive);
	status = uvmp_fault_fetch(&m->params, mode, m->put, &m->buffer, &m->batch);
	REQUIRE(status == expected);
	if (status != UVMP_OK) {
		REQUIRE(memcmp(&before, m, sizeof(before)) == 0);
		return NULL;
	}
	REQUIRE(m->batch.cached == naive.cached);
	REQUIRE(m->batch.coalesced == naive.coalesced);
	REQUIRE(m->batch.max_utlb == naive.max_utlb);
	REQUIRE(m->batch.is_single_instance == naive.is_single_instance);
	REQUIRE(m->buffer.get == naive.get);
	REQUIRE(m->buffer.cached_put == naive.cached_put);
	for (uint32_t i = 0; i < naive.cached; i++)
		REQUIRE(is_same_entry(&m->entry[i], &naive.entry[i]));
	wrong = check_batch(m);
	return wrong != NULL ? wrong : check_ring(&before, m);
}

static const char *timed_flush(struct timed *m, bool update_put)
{
	uint32_t get = m->buffer.get, stop = update_put ? m->put : m->buffer.cached_put, expected = 0,
	         discarded;
	enum uvmp_status status;

	for (; get != stop && m->ring[get].is_valid; get = (get + 1u) % m->buffer.capacity)
		expected++;
	status = uvmp_fault_flush(&m->buffer, update_put, m->put, &discarded);
	REQUIRE(status == (get == stop ? UVMP_OK : UVMP_ERR_RETRY));
	REQUIRE(discarded == expected);
	REQUIRE(m->buffer.get == get && m->buffer.cached_put == stop);
	for (uint32_t i = 1; i <= discarded; i++)
		REQUIRE(!m->ring[(get + m->buffer.capacity - i) % m->buffer.capacity].is_valid);
	return NULL;
}

static const char *timed_ask(struct timed *m)
{
	struct uvmp_fault_buffer *b = &m->buffer;
	bool is_known = b->get != b->cached_put || m->ring[b->get].is_valid;
	uint32_t put = is_known ? b->cached_put : m->put;

	REQUIRE(uvmp_fault_pending(b, m->put) == (is_known || m->put != b->get));
	REQUIRE(b->cached_put == put);
	return NULL;
}

/* The GPU has written the entries that were under way. */
static void timed_complete(struct timed *m)
{
	for (uint32_t i = m->buffer.get; i != m->put; i = (i + 1u) % m->buffer.capacity)
		m->ring[i].is_valid = true;
}

const char *fault_case_fetch(const uint8_t *data, size_t size)
{
	static struct timed m;
	struct bytes bytes = {data, data + size};
	const char *wrong = NULL;

	timed_start(&m, &bytes);
	while (wrong == NULL && bytes.next < bytes.end) {
		uint32_t step = take_byte(&bytes) % 32u;

		if (step < 26u)
			timed_raise(&m, &bytes);
		else if (step < 28u)
			wrong = timed_fetch(&m, UVMP_FETCH_BATCH_READY);
		else if (step == 28u)
			wrong = timed_fetch(&m, UVMP_FETCH_ALL);
		else if (step == 29u)
			timed_complete(&m);
		else if (step == 30u)
			wrong = timed_ask(&m);
		else
			wrong = timed_flush(&m, take_byte(&bytes) % 2u != 0);
	}
	return wrong;
}

/* -- order -- */

struct list {
	struct uvmp_fault entry[ENTRIES_MAX];
	struct uvmp_fault_facts facts[ENTRIES_MAX];
	uint32_t count;
	uint64_t random;
};

/* Few spaces, GPUs, instances and pages, so that keys meet; or now and then more spaces and instances than the order keeps
 * apart as classes. Pages lie at both ends of blocks. Four bytes an entry. */
static void list_read(struct list *list, struct bytes *bytes)
{
	bool is_mixed; /* several address spaces and GPUs */
	bool is_many;

	memset(list, 0, sizeof(*list));
	list->random = take_byte(bytes) + 1u;
	is_mixed = (list->random & 1u) != 0;
	is_many = (list->random & 14u) == 0;
	for (; bytes->next < bytes->end && list->count < ENTRIES_MAX; list->count++) {
		struct uvmp_fault *e = &list->entry[list->count];
		uint32_t where = take_byte(bytes), page = take_byte(bytes), what = take_byte(bytes);
		uint32_t facts = take_byte(bytes);

		e->va_space = !is_mixed ? 7u : (where & 3u) == 3u ? UINT64_MAX : where & 3u;
		e->gpu = is_mixed ? where >> 2 & 1u : 1u;
		e->aperture = where >> 3 & 3u;
		e->instance = where >> 5 & 3u;
		e->subcontext = where >> 7;
		if (is_many) {
			e->instance = where;
			e->va_space += is_mixed ? where : 0u;
		}
		e->address =
		        ((uint64_t)(page >> 3) * 512u + page % 8u - (page % 8u > 5u && page > 7u ? 8u : 0u)) *
		        4096u;
		e->access = (uint8_t)(what % 5u);
		e->access_mask = (uint8_t)((what >> 3 | 1u << e->access) & ((2u << e->access) - 1u));
		e->num_instances = 1u + (what >> 6);
		e->is_fatal = facts >= 248u;
		list->facts[list->count].right = (enum uvmp_right)(facts & 3u);
		list->facts[list->count].mapped = (enum uvmp_right)(facts >> 2 & 3u);
		list->facts[list->count].is_retry = facts % 64u >= 48u;
		list->facts[list->count].is_unmapped = (what & 7u) == 7u;
	}
}

static void shuffle(uint32_t *order, uint32_t count, uint64_t *random)
{
	for (uint32_t i = count; i > 1u; i--) {
		uint32_t j = (uint32_t)uvmp_random_below(random, i), t = order[i - 1u];

		order[i - 1u] = order[j];
		order[j] = t;
	}
}

static uint64_t scratch[UVMP_FAULT_ORDER_WORDS(ENTRIES_MAX)];

static void order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	uvmp_fault_order_by_instance(entry, order, count, scratch);
}

/* Without scratch memory: by comparisons, in place. */
static void order_by_instance_in_place(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	uvmp_fault_order_by_instance(entry, order, count, NULL);
}

static void order_by_keys(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	uvmp_fault_order(entry, order, count, scratch);
}

/* Without scratch memory: by comparisons, in place. */
static void order_in_place(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	uvmp_fault_order(entry, order, count, NULL);
}

/* As the representatives of a batch. */
static void order_by_batch(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	static struct uvmp_fault own[ENTRIES_MAX];
	struct uvmp_utlb utlb = {0, 0, false};
	struct uvmp_fault_batch batch = {.entry = own, .capacity = ENTRIES_MAX, .utlb = &utlb, .utlbs = 1,
	                                 .cached = count, .coalesced = count};

	memcpy(own, entry, count * sizeof(own[0]));
	(void)uvmp_fault_order_batch(&batch, order, scratch);
}

typedef void order_fn(const struct uvmp_fault *entry, uint32_t *order, uint32_t count);

/* The order is the naive one from every start, and sorting again changes nothing. */
static const char *check_order(struct list *list, order_fn *order_entries, order_fn *naive_entries,
                               uint32_t *result)
{
	uint32_t naive[ENTRIES_MAX], other[ENTRIES_MAX];
	size_t bytes = list->count * sizeof(naive[0]);

	for (uint32_t i = 0; i < list->count; i++)
		result[i] = naive[i] = other[i] = i;
	order_entries(list->entry, result, list->count);
	naive_entries(list->entry, naive, list->count);
	REQUIRE(memcmp(result, naive, bytes) == 0);
	order_entries(list->entry, naive, list->count);
	REQUIRE(memcmp(result, naive, bytes) == 0);
	for (uint32_t i = 0; i < list->count; i++)
		other[i] = result[list->count - 1u - i];
	order_entries(list->entry, other, list->count);
	REQUIRE(memcmp(result, other, bytes) == 0);
	shuffle(other, list->count, &list->random);
	order_entries(list->entry, other, list->count);
	REQUIRE(memcmp(result, other, bytes) == 0);
	return NULL;
}

/* Had the faults arrived in another order, the same pages and accesses would follow one another. */
static const char *check_arrival(struct list *list, const uint32_t *order)
{
	static struct uvmp_fault moved[ENTRIES_MAX];
	uint32_t arrival[ENTRIES_MAX], again[ENTRIES_MAX];

	for (uint32_t i = 0; i < list->count; i++)
		arrival[i] = again[i] = i;
	shuffle(arrival, list->count, &list->random);
	for (uint32_t i = 0; i < list->count; i++)
		moved[i] = list->entry[arrival[i]];
	uvmp_fault_order(moved, again, list->count, scratch);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct uvmp_fault *a = &list->entry[order[i]], *b = &moved[again[i]];

		REQUIRE(a->va_space == b->va_space && a->gpu == b->gpu && a->address == b->address &&
		        a->access == b->access);
	}
	return NULL;
}

/* The bins follow each other without gap, are the naive ones, and count the naive duplicates. */
static const char *check_bins(const struct list *list, const uint32_t *order)
{
	uint32_t bin_of[ENTRIES_MAX], bins = 0, first = 0, expected;
	bool is_duplicate[ENTRIES_MAX];

	expected = naive_fault_bins(list->entry, order, list->count, BLOCK_BYTES, bin_of, is_duplicate);
	while (first < list->count) {
		const struct uvmp_fault *head = &list->entry[order[first]];
		uvmp_addr end = head->address | (BLOCK_BYTES - 1u);
		uint32_t duplicates = 0;
		struct uvmp_fault_bin bin;

		REQUIRE(uvmp_fault_bin_next(list->entry, order, list->count, first, end, &bin) == UVMP_OK);
		REQUIRE(bin.first == first && bin.count >= 1u && bin.count <= list->count - first);
		REQUIRE(bin.va_space == head->va_space && bin.gpu == head->gpu);
		for (uint32_t i = first; i < first + bin.count; i++) {
			uint32_t instances = list->entry[order[i]].num_instances;

			REQUIRE(bin_of[i] == bins);
			duplicates += is_duplicate[i] ? instances : instances - 1u;
		}
		REQUIRE(bin.duplicates == duplicates);
		first += bin.count;
		bins++;
	}
	REQUIRE(bins == expected);
	return NULL;
}

static bool is_same_verdict(const struct uvmp_fault_verdict *a, const struct uvmp_fault_verdict *b)
{
	return a->is_duplicate == b->is_duplicate && a->is_throttled == b->is_throttled &&
	       a->is_invalid_prefetch == b->is_invalid_prefetch && a->is_fatal == b->is_fatal &&
	       a->is_already_mapped == b->is_already_mapped && a->cancel_mode == b->cancel_mode &&
	       a->service_access == b->service_access && a->service_mask == b->service_mask &&
	       a->invalid_prefetches == b->invalid_prefetches;
}

/* One walk over the whole order; some pages are throttled at random. */
static const char *check_verdicts(struct list *list, const uint32_t *order)
{
	struct uvmp_fault_verdict previous, v, naive;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct uvmp_fault *e = &list->entry[order[i]];
		const struct uvmp_fault *before = i > 0 ? &list->entry[order[i - 1u]] : NULL;
		const struct uvmp_fault_verdict *its = i > 0 ? &previous : NULL;

		REQUIRE(uvmp_fault_classify(e, &list->facts[i], before, its, &v) == UVMP_OK);
		naive_fault_classify(e, &list->facts[i], before, its, &naive);
		REQUIRE(is_same_verdict(&v, &naive));
		REQUIRE((v.service_access == UVMP_ACCESS_NONE) == (v.service_mask == 0));
		REQUIRE((v.service_mask & ~(uint32_t)e->access_mask) == 0);
		previous = v;
		if (uvmp_random_below(&list->random, 4) == 0)
			previous.is_throttled = true;
	}
	return NULL;
}

const char *fault_case_order(const uint8_t *data, size_t size)
{
	static struct list list;
	struct bytes bytes = {data, data + size};
	uint32_t by_instance[ENTRIES_MAX], order[ENTRIES_MAX];
	const char *wrong;

	list_read(&list, &bytes);
	wrong = check_order(&list, order_by_instance_in_place, naive_fault_order_by_instance, by_instance);
	if (wrong == NULL)
		wrong = check_order(&list, order_by_instance, naive_fault_order_by_instance, by_instance);
	if (wrong == NULL)
		wrong = check_order(&list, order_in_place, naive_fault_order, order);
	if (wrong == NULL)
		wrong = check_order(&list, order_by_keys, naive_fault_order, order);
	if (wrong == NULL)
		wrong = check_order(&list, order_by_batch, naive_fault_order, order);
	if (wrong == NULL)
		wrong = check_arrival(&list, order);
	if (wrong == NULL)
		wrong = check_bins(&list, order);
	if (wrong == NULL)
		wrong = check_verdicts(&list, order);
	return wrong;
}
