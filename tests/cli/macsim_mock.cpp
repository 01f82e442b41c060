// uvmpolicy/macsim.hpp with a mock of MacSim's MMU: a page table, a TLB, a retry queue, and uops that miss.
#include <uvmpolicy/macsim.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <set>
#include <unordered_map>
#include <vector>

#define CHECK(condition)                                                                                      \
	do {                                                                                                  \
		if (!(condition)) {                                                                           \
			std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                 \
			std::exit(1);                                                                         \
		}                                                                                             \
	} while (0)

struct uop {
	uint64_t warp, address;
	bool is_write;
};

class mmu
{
      public:
	mmu(const std::string &policy, uint64_t memory_bytes, uint32_t page_bytes, uint64_t remote_cycles = 0)
	    : m_page_bytes(page_bytes), m_frames_max(memory_bytes / page_bytes)
	{
		uvmp::macsim<uop>::settings settings;
		settings.policy = policy;
		settings.memory_bytes = memory_bytes;
		settings.page_bytes = page_bytes;
		settings.cycle_ns = 0.5;
		settings.fault_cycles = 50;
		settings.evict_cycles = 50;
		settings.batch_cycles = 500;
		settings.remote_cycles = remote_cycles;
		settings.map = [this](uint64_t page, uint64_t frame) {
			m_page_table[page] = frame;
			mapped(page, frame);
		};
		settings.unmap = [this](uint64_t page, uint64_t frame) {
			m_page_table.erase(page);
			m_tlb.remove(page);
			unmapped(page, frame);
		};
		settings.retry = [this](uop *u) { m_retry_queue.push_back(u); };
		m_uvmp.reset(new uvmp::macsim<uop>(settings));
	}
	// True: the access is done. False: the uop waits, and is done later.
	bool access(uop *u)
	{
		uint64_t page = u->address / m_page_bytes;

		if (std::find(m_tlb.begin(), m_tlb.end(), page) != m_tlb.end()) {
			CHECK(m_page_table.count(page) == 1); // no entry outlives its mapping
			read_memory(u->address);
			return true;
		}
		if (m_page_table.count(page) == 0) {
			m_uvmp->fault(u, u->warp, u->address, u->is_write, m_cycle);
			m_faults++;
			return false;
		}
		m_uvmp->hit(u->address, u->is_write);
		m_tlb.push_front(page);
		if (m_tlb.size() > 16)
			m_tlb.pop_back();
		read_memory(u->address);
		return true;
	}
	// The cycles that the DRAM controller adds.
	uint64_t read_memory(uint64_t address)
	{
		uint64_t frame = m_page_table[address / m_page_bytes];
		uint64_t wait = m_uvmp->remote(frame * m_page_bytes + address % m_page_bytes, 128);

		CHECK(wait == 0 || frame >= m_frames_max);
		m_remote += frame >= m_frames_max;
		return wait;
	}
	// A cycle; the uops that are done now.
	std::vector<uop *> cycle()
	{
		std::vector<uop *> done;
		std::vector<uop *> retry;

		m_uvmp->run(m_cycle);
		retry.swap(m_retry_queue);
		for (uop *u : retry)
			if (access(u))
				done.push_back(u);
		m_cycle++;
		return done;
	}

	uint64_t m_page_bytes, m_frames_max, m_cycle = 0, m_faults = 0, m_evicted = 0, m_resident = 0, m_remote = 0;
	std::unordered_map<uint64_t, uint64_t> m_page_table;
	std::list<uint64_t> m_tlb;
	std::vector<uop *> m_retry_queue;
	std::unique_ptr<uvmp::macsim<uop>> m_uvmp;

      private:
	// What the glue has mapped. Frames behind the memory are pages mapped in the memory of the CPU.
	std::unordered_map<uint64_t, uint64_t> m_known;
	std::set<uint64_t> m_frames;
	void mapped(uint64_t page, uint64_t frame)
	{
		if (!m_known.insert({page, frame}).second) {
			CHECK(m_known[page] == frame); // more rights
			return;
		}
		CHECK(m_frames.insert(frame).second);
		m_resident += frame < m_frames_max;
		CHECK(m_resident <= m_frames_max);
	}
	void unmapped(uint64_t page, uint64_t frame)
	{
		CHECK(m_known.count(page) == 1 && m_known[page] == frame);
		m_known.erase(page);
		m_frames.erase(frame);
		m_resident -= frame < m_frames_max;
		m_evicted++;
	}
};

// 16 warps, each with 1 access at a time to 8 MiB. Prints and returns the cycle in which the last access is done.
static uint64_t simulate(const char *policy, uint64_t memory_bytes, uint32_t page_bytes, uint64_t remote_cycles = 0)
{
	mmu m(policy, memory_bytes, page_bytes, remote_cycles);
	std::vector<uop> warps(16);
	std::vector<unsigned> left(16, 40);
	uint64_t seed = 1, running = 16, done = 0;
	auto next = [&](uop *u) {
		do {
			u->address = (uint64_t(0x7f) << 40) + uvmp_random_below(&seed, 8 << 20);
			u->is_write = uvmp_random_below(&seed, 4) == 0;
			done++;
			if (left[u->warp]-- == 0) {
				running--;
				return;
			}
		} while (m.access(u));
	};

	for (uint64_t i = 0; i < 16; i++) {
		warps[i].warp = i;
		next(&warps[i]);
	}
	while (running > 0) {
		for (uop *u : m.cycle())
			next(u);
		CHECK(m.m_cycle < 50000000);
	}
	struct uvmp_host_counts counts = m.m_uvmp->counts();
	CHECK(done == 16 * 41);
	CHECK(counts.faults == m.m_faults && counts.replayed == m.m_faults && counts.waiting == 0);
	CHECK((m.m_evicted > 0) == (memory_bytes < 8 << 20));
	CHECK(m.m_cycle > 500);
	CHECK(m.m_uvmp->remote_reads() == (remote_cycles > 0 ? m.m_remote : 0));
	CHECK((m.m_remote > 0) == (std::strstr(policy, "always") || std::strstr(policy, "auto")));
	std::printf("%-32s %8lu cycles %6lu faults %6lu pages evicted\n", policy, (unsigned long)m.m_cycle,
		    (unsigned long)m.m_faults, (unsigned long)m.m_evicted);
	return m.m_cycle;
}

// Reads of the CPU's memory wait for the latency and for each other: 128 of 4,096 bytes in 50 cycles are 2 cycles.
static void remote_latency()
{
	mmu m("prefetch=none evict=lru4k remote=always", 4 << 20, 4096, 900);
	uop near = {0, 4096, false};

	CHECK(!m.access(&near));
	while (m.cycle().empty())
		continue;
	for (unsigned i = 0; i < 100; i++)
		m.cycle();
	CHECK(m.read_memory(4096) == 902 && m.read_memory(4096 + 128) == 904);
	m.cycle();
	CHECK(m.read_memory(4096) == 905);
	CHECK(m.m_uvmp->remote(4096, 128) == 0); // a frame of the GPU
}

int main()
{
	remote_latency();
	CHECK(simulate("", 8 << 20, 4096) == simulate("", 8 << 20, 4096));
	simulate("", 4 << 20, 4096);
	simulate("preset=auto", 4 << 20, 4096);
	simulate("preset=uvmsmart", 4 << 20, 4096);
	simulate("prefetch=none evict=lru4k", 2 << 20, 4096);
	simulate("evict=lru4k remote=always remote_threshold=2", 4 << 20, 4096, 900);
	simulate("evict=lru4k remote=always remote_threshold=2", 4 << 20, 4096);
	simulate("", 4 << 20, 65536);
	try {
		simulate("evict=lry", 4 << 20, 4096);
		CHECK(!"accepted");
	} catch (const uvmp::error &) {
	}
	return 0;
}
