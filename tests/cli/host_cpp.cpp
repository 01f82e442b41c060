// uvmpolicy/host.hpp: what the class adds to host.h. Errors are exceptions, exceptions of callbacks arrive at run(), hosts move.
#include <uvmpolicy/host.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#define CHECK(condition)                                                                                      \
	do {                                                                                                  \
		if (!(condition)) {                                                                           \
			std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                 \
			std::exit(1);                                                                         \
		}                                                                                             \
	} while (0)

static const uint64_t MIB = 1 << 20;
static const uvmp_addr BASE = uvmp_addr(0x7f) << 40;

// A simulator that has only a page table.
struct simulator {
	std::map<uint64_t, uint64_t> table; // frame of a page, both in bytes
	std::set<uint64_t> frames;
	std::vector<uint64_t> replayed;
	unsigned unmaps = 0;

	uvmp::callbacks calls()
	{
		uvmp::callbacks c;
		c.map = [this](const uvmp_host_mapping *pages) {
			for (uint64_t i = 0; pages->processor == 1 && i < pages->bytes; i += 4096)
				if (table.insert({pages->address + i, pages->frame + i}).second)
					CHECK(frames.insert(pages->frame + i).second);
		};
		c.unmap = [this](const uvmp_host_mapping *pages) {
			for (uint64_t i = 0; pages->processor == 1 && i < pages->bytes; i += 4096) {
				CHECK(pages->right == UVMP_RIGHT_NONE);
				CHECK(table.erase(pages->address + i) == 1);
				CHECK(frames.erase(pages->frame + i) == 1);
				unmaps++;
			}
		};
		c.replay = [this](const uvmp_host_waiter *waiter) { replayed.push_back(waiter->warp); };
		return c;
	}
};

static uvmp::options small()
{
	uvmp::options o;
	o.memory_bytes = 4 * MIB;
	o.is_all_managed = true;
	return o;
}

// The table of the simulator is the library's.
static void agree(const simulator &s, const uvmp::host &host, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += 4096) {
		uint64_t frame = 1;
		auto page = s.table.find(BASE + i);
		CHECK(host.translate(BASE + i, UVMP_ACCESS_READ, &frame) == (page != s.table.end()));
		CHECK(page == s.table.end() || page->second == frame);
	}
}

static void options_are_checked()
{
	uvmp::options o = small();
	try {
		o.policy = "evict=lry";
		uvmp::host host(o, uvmp::callbacks());
		CHECK(!"opened");
	} catch (const uvmp::error &e) {
		CHECK(e.status == UVMP_ERR_ARGUMENT && std::strstr(e.what(), "lry"));
	}
	try {
		uvmp::host host{uvmp::options(), uvmp::callbacks()};
		CHECK(!"opened");
	} catch (const std::exception &e) {
		CHECK(std::strstr(e.what(), "memory_bytes"));
	}
}

static void faults_are_served()
{
	simulator s;
	uvmp::host first(small(), s.calls()), host(std::move(first)); // callbacks survive the move
	uint64_t seed = 1, now_ns = 0;

	host.add_range(BASE, 16 * MIB);
	for (unsigned i = 0; i < 3000; i++, now_ns += 1000) {
		uvmp_addr address = BASE + uvmp_random_below(&seed, 16 * MIB);
		if (!host.translate(address, UVMP_ACCESS_WRITE)) {
			host.fault(i, address, UVMP_ACCESS_WRITE, now_ns);
			CHECK(host.run(now_ns) > now_ns);
			CHECK(s.replayed.size() == 1 && s.replayed[0] == i);
			s.replayed.clear();
		}
		CHECK(host.translate(address, UVMP_ACCESS_WRITE));
		host.access(address, UVMP_ACCESS_WRITE);
	}
	agree(s, host, 16 * MIB);
	struct uvmp_host_counts counts = host.counts();
	CHECK(counts.faults > 100 && counts.evictions > 10 && counts.replayed == counts.faults);
	CHECK(s.unmaps > 0 && s.table.size() <= uvmp_host_capacity(host.get()) / 4096);
	CHECK(host.page(BASE).size == sizeof(struct uvmp_host_page_state));
}

static void exceptions_arrive()
{
	simulator s;
	uvmp::callbacks c = s.calls();
	unsigned replays = 0;
	bool does_throw = true;

	c.replay = [&](const uvmp_host_waiter *waiter) {
		replays++;
		if (does_throw)
			throw std::out_of_range(waiter->warp == 7 ? "seven" : "another");
	};
	uvmp::host host(small(), c);
	host.fault(7, BASE, UVMP_ACCESS_READ, 0);
	host.fault(8, BASE + 64, UVMP_ACCESS_READ, 0);
	host.fault(9, BASE + MIB, UVMP_ACCESS_READ, 0);
	try {
		host.run(0);
		CHECK(!"returned");
	} catch (const std::out_of_range &e) {
		CHECK(std::strcmp(e.what(), "seven") == 0); // the first
	}
	CHECK(replays == 3); // the others were called
	agree(s, host, 2 * MIB);
	does_throw = false; // and life goes on
	host.fault(10, BASE + 4 * MIB, UVMP_ACCESS_READ, 0);
	CHECK(host.run(0) > 0 && replays == 4);
}

static void cancels()
{
	uvmp::options o = small();
	o.is_all_managed = false;
	uvmp::callbacks c;
	uvmp::host host(o, c);
	host.fault(1, BASE, UVMP_ACCESS_READ, 0);
	try {
		host.run(0);
		CHECK(!"returned");
	} catch (const uvmp::error &e) {
		CHECK(e.status == UVMP_ERR_UNKNOWN);
	}
	enum uvmp_status why = UVMP_OK;
	c.cancel = [&](const uvmp_host_waiter *waiter, enum uvmp_status status) {
		CHECK(waiter->warp == 2 && waiter->address == BASE);
		why = status;
	};
	uvmp::host second(o, c);
	second.fault(2, BASE, UVMP_ACCESS_READ, 0);
	second.run(0);
	CHECK(why == UVMP_ERR_UNKNOWN);
}

static void copies()
{
	simulator s;
	uvmp::callbacks c = s.calls();
	std::vector<uvmp_host_copy> copies;
	uvmp::options o = small();

	o.is_on_cpu = true;
	c.copy = [&](const uvmp_host_copy *copy) { copies.push_back(*copy); };
	uvmp::host host(o, c);
	host.fault(1, BASE, UVMP_ACCESS_READ, 5);
	host.run(5);
	CHECK(!copies.empty() && s.replayed.empty());
	for (size_t i = 0; i < copies.size(); i++) { // grows
		host.copied(copies[i].id, 100);
		host.run(100);
	}
	CHECK(s.replayed.size() == 1 && host.translate(BASE, UVMP_ACCESS_READ));
	try {
		host.copied(1, 100);
		CHECK(!"returned");
	} catch (const uvmp::error &e) {
		CHECK(e.status == UVMP_ERR_STATE && e.what()[0]);
	}
	c = s.calls();
	c.copy_ns = [&](const uvmp_host_copy *copy) { return copy->bytes; };
	uvmp::host timed(o, c);
	timed.fault(1, BASE, UVMP_ACCESS_READ, 5);
	uint64_t next_ns = timed.run(5);
	CHECK(next_ns >= 5 + 4096 && next_ns < 5 + 2 * MIB && !timed.translate(BASE, UVMP_ACCESS_READ));
	while (next_ns != UINT64_MAX && s.replayed.size() < 2)
		next_ns = timed.run(next_ns);
	CHECK(timed.translate(BASE, UVMP_ACCESS_READ));
}

static void requests()
{
	simulator s;
	uvmp::callbacks c = s.calls();
	std::vector<uint64_t> done;
	unsigned lines = 0;

	c.done = [&](const uvmp_host_done *d) { done.push_back(d->status == UVMP_OK ? d->request : 0); };
	c.log = [&](const char *line) { lines += line[0] != 0; };
	uvmp::host host(small(), c);
	host.add_range(BASE, 2 * MIB);
	host.prefetch_range(BASE, 2 * MIB, 1, 0);
	host.advise_range(BASE, 2 * MIB, UVMP_ADVISE_PREFERRED, 1, 0);
	host.run(0);
	CHECK(s.table.size() == 512);
	host.free_range(BASE, 1);
	host.run(1);
	CHECK(s.table.empty() && done == (std::vector<uint64_t>{1, 2, 3}) && lines > 3);
	try {
		host.prefetch_range(BASE, 0, 1, 2);
		CHECK(!"returned");
	} catch (const uvmp::error &e) {
		CHECK(e.status == UVMP_ERR_RANGE);
	}
}

static void run_is_not_nested()
{
	uvmp::callbacks c;
	uvmp::host *inside = nullptr;
	c.replay = [&](const uvmp_host_waiter *) { inside->run(0); };
	uvmp::host host(small(), c);
	inside = &host;
	host.fault(1, BASE, UVMP_ACCESS_READ, 0);
	try {
		host.run(0);
		CHECK(!"returned");
	} catch (const uvmp::error &e) {
		CHECK(e.status == UVMP_ERR_STATE);
	}
}

int main()
{
	options_are_checked();
	faults_are_served();
	exceptions_arrive();
	cancels();
	copies();
	requests();
	run_is_not_nested();
	return 0;
}
