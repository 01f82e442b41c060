// macsim.hpp: libuvmpolicy in place of the fault buffer, the batches and the victim choice of MacSim's MMU.
// docs/macsim.md names the places of src/mmu.cc that call it. Uop is MacSim's uop_c. C++11 or later.
//
// Times are cycles of the MMU. Page and frame numbers count pages of page_bytes.
#ifndef UVMPOLICY_MACSIM_HPP
#define UVMPOLICY_MACSIM_HPP

#include <uvmpolicy/host.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace uvmp
{

template <class Uop> class macsim
{
      public:
	struct settings {
		std::string policy; // policy string; "": the driver's
		uint64_t memory_bytes;
		uint32_t page_bytes;
		double cycle_ns;					       // length of a cycle, in ns
		uint64_t fault_cycles;					       // to copy a page to the GPU,
		uint64_t evict_cycles;					       // to copy a page to the CPU,
		uint64_t batch_cycles;					       // and to begin a batch
		std::function<void(uint64_t page, uint64_t frame)> map, unmap; // page table, TLB, caches
		std::function<void(Uop *)> retry;			       // the uop tries again
		uint64_t remote_cycles = 0; // latency of remote reads; 0: they are not charged
	};

	explicit macsim(const settings &given) : m(given), m_host(host_options(), calls())
	{
		m_wants_hits = uvmp_host_wants_accesses(m_host.get());
		m_frames = uvmp_host_capacity(m_host.get()) / m.page_bytes;
	}
	// The page of the uop is not in the page table. `retry` follows.
	void fault(Uop *uop, uint64_t warp, uint64_t address, bool is_write, uint64_t cycle)
	{
		m_host.fault(warp, address, how(is_write), to_ns(cycle));
		m_stalled.insert({{warp, address}, uop});
		m_next_cycle = cycle;
	}
	// The page of an access is in the page table.
	void hit(uint64_t address, bool is_write)
	{
		if (m_wants_hits)
			m_host.access(address, how(is_write));
	}
	// Once a cycle: calls map, unmap and retry.
	void run(uint64_t cycle)
	{
		m_cycle = cycle;
		if (cycle < m_next_cycle)
			return;
		uint64_t next_ns = m_host.run(to_ns(cycle));
		m_next_cycle =
			next_ns == UINT64_MAX ? next_ns : uint64_t(std::ceil(double(next_ns) / m.cycle_ns));
	}
	// Cycles that a read of `bytes` of memory takes in addition to those of the DRAM. `physical` is an
	// address in a frame of `map`. 0: the frame lies in the memory of the GPU, or remote_cycles is 0.
	// Remote reads share a link that moves a page in fault_cycles.
	uint64_t remote(uint64_t physical, uint64_t bytes)
	{
		if (m.remote_cycles == 0 || physical / m.page_bytes < m_frames)
			return 0;
		m_remote_reads++;
		m_link_cycle = std::max(m_link_cycle, m_cycle);
		m_link_cycle += (m.fault_cycles * bytes + m.page_bytes - 1) / m.page_bytes;
		return m_link_cycle - m_cycle + m.remote_cycles;
	}
	// Reads that `remote` delayed.
	uint64_t remote_reads() const
	{
		return m_remote_reads;
	}
	struct uvmp_host_counts counts() const
	{
		return m_host.counts();
	}

      private:
	settings m;
	std::multimap<std::pair<uint64_t, uint64_t>, Uop *> m_stalled; // by warp and address
	uint64_t m_next_cycle = 0, m_cycle = 0;
	uint64_t m_link_cycle = 0, m_remote_reads = 0; // m_link_cycle: the link is free
	uint64_t m_frames = 0;			       // of the GPU
	bool m_wants_hits;
	host m_host;

	static enum uvmp_access how(bool is_write)
	{
		return is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ;
	}
	uint64_t to_ns(uint64_t cycles) const
	{
		return uint64_t(double(cycles) * m.cycle_ns);
	}
	options host_options() const
	{
		options o;
		o.page_bytes = m.page_bytes;
		o.memory_bytes = m.memory_bytes;
		o.policy = m.policy.c_str();
		o.is_all_managed = o.is_on_cpu = true;
		o.batch_ns = to_ns(m.batch_cycles);
		return o;
	}
	// A page in the memory of the CPU has a frame behind those of the GPU.
	void each_page(const uvmp_host_mapping *pages, const std::function<void(uint64_t, uint64_t)> &call)
	{
		uint64_t first = pages->address / m.page_bytes, frame = pages->frame / m.page_bytes;

		if (pages->holder != pages->processor)
			frame = m_frames + first;
		for (uint64_t i = 0; i < pages->bytes / m.page_bytes; i++)
			call(first + i, frame + i);
	}
	callbacks calls()
	{
		callbacks c;
		c.map = [this](const uvmp_host_mapping *pages) {
			if (pages->processor == 1)
				each_page(pages, m.map);
		};
		c.unmap = [this](const uvmp_host_mapping *pages) {
			if (pages->processor == 1 && pages->right == UVMP_RIGHT_NONE)
				each_page(pages, m.unmap);
		};
		c.copy_ns = [this](const uvmp_host_copy *copy) {
			return to_ns(copy->bytes / m.page_bytes *
				     (copy->to == 1 ? m.fault_cycles : m.evict_cycles));
		};
		c.replay = [this](const uvmp_host_waiter *waiter) {
			auto stalled = m_stalled.find({waiter->warp, waiter->address});
			Uop *uop = stalled->second;
			m_stalled.erase(stalled);
			m.retry(uop);
		};
		return c;
	}
};

} // namespace uvmp
#endif
