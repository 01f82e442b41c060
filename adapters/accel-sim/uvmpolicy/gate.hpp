// gate.hpp: a translation gate ahead of the L1 caches of GPGPU-Sim 4, alone or in Accel-Sim. The gate holds
// an access of a warp to global memory until its pages have been mapped on the GPU; other warps pass. It has
// no policy: libuvmpolicy decides. docs/accel-sim.md names the places that call it. Inst is GPGPU-Sim's
// warp_inst_t. C++11 or later.
#ifndef UVMPOLICY_GATE_HPP
#define UVMPOLICY_GATE_HPP

#include <uvmpolicy/host.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace uvmp
{

template <class Inst> class gate
{
      public:
	// One gate serves all SMs. `make` returns a new, empty pipeline register. cycle_ns: length of a core
	// cycle. The gate sets the option `utlbs` (one for each SM) and the callback `replay`.
	gate(unsigned sms, double cycle_ns, std::function<Inst *()> make, options o, callbacks c)
	    : m_make(make), m_cycle_ns(cycle_ns), m_page_bytes(o.page_bytes ? o.page_bytes : 4096), m_sm(sms)
	{
		o.utlbs = sms;
		c.replay = [this](const uvmp_host_waiter *waiter) { replay(waiter); };
		m_host.reset(new host(o, c));
	}
	// Charges remote accesses: an access to pages in the memory of the CPU waits in the gate until its
	// 32-byte sectors have crossed a link of this rate (above 0), and for the latency. Reads wait for
	// reads, writes for writes. Without this call the gate lets remote accesses pass.
	void charge_remote(double latency_ns, double bytes_per_ns)
	{
		m_latency_ns = latency_ns;
		m_bytes_per_ns = bytes_per_ns;
	}
	// Once a core cycle. Calls the callbacks.
	void cycle(uint64_t cycle)
	{
		m_now_ns = uint64_t(double(cycle) * m_cycle_ns);
		if (m_now_ns >= m_next_ns)
			m_next_ns = m_host->run(m_now_ns);
		for (; !m_remote.empty() && m_remote.begin()->first <= double(m_now_ns);
		     m_remote.erase(m_remote.begin()))
			m_sm[m_remote.begin()->second.first].ready.push_back(m_remote.begin()->second.second);
	}
	// Before the load/store unit of an SM uses its dispatch register. A new access leaves the register
	// while it waits. An access whose pages have arrived enters the register when that is empty.
	void pass(unsigned sm, Inst *&dispatch)
	{
		auto &here = m_sm[sm];

		if (!dispatch->empty() && dispatch->space.is_global() && dispatch->get_uid() != here.passed) {
			hold(sm, dispatch);
			dispatch = spare();
		}
		if (dispatch->empty() && !here.ready.empty()) {
			m_spare.push_back(dispatch);
			dispatch = here.ready.front();
			here.ready.pop_front();
			here.passed = dispatch->get_uid();
		}
	}
	// Accesses that wait for pages or for the link.
	size_t held() const
	{
		return m_held.size() + m_remote.size();
	}
	// Bytes that accesses charged by charge_remote have moved.
	uint64_t remote_bytes() const
	{
		return m_remote_bytes;
	}
	uvmp::host &memory()
	{
		return *m_host;
	}

	gate(const gate &) = delete;
	gate &operator=(const gate &) = delete;
	~gate()
	{
		for (auto &held : m_held)
			delete held.second.access;
		for (auto &remote : m_remote)
			delete remote.second.second;
		for (auto &here : m_sm)
			for (Inst *access : here.ready)
				delete access;
		for (Inst *empty : m_spare)
			delete empty;
	}

      private:
	static const uint64_t sector_bytes = 32;

	struct core {
		std::deque<Inst *> ready;
		unsigned passed = 0; // uid of the access that may be in the dispatch register
	};
	struct waiting {
		Inst *access;
		enum uvmp_access how;
		unsigned pages; // that are missing
	};
	std::function<Inst *()> m_make;
	double m_cycle_ns;
	uint64_t m_page_bytes, m_now_ns = 0, m_next_ns = UINT64_MAX, m_faults = 0;
	std::vector<core> m_sm;
	std::vector<Inst *> m_spare;
	std::vector<uint64_t> m_pages, m_sectors;
	double m_latency_ns = 0, m_bytes_per_ns = 0; // m_bytes_per_ns 0: remote accesses are not charged
	double m_link_ns[2] = {0, 0};		     // when the link is free, for reads and for writes
	uint64_t m_remote_bytes = 0;
	std::multimap<double, std::pair<unsigned, Inst *>> m_remote; // by time: SM, access
	std::unordered_map<uint64_t, waiting> m_held; // by the number that the host object knows as warp
	std::unique_ptr<host> m_host;

	void hold(unsigned sm, Inst *access)
	{
		uint64_t number = m_faults++ * m_sm.size() + sm; // modulo utlbs: sm
		waiting w = {access, UVMP_ACCESS_READ, 0};

		if (access->isatomic())
			w.how = UVMP_ACCESS_ATOMIC_STRONG;
		else if (access->is_store())
			w.how = UVMP_ACCESS_WRITE;
		m_pages.clear();
		for (unsigned lane = 0; lane < access->warp_size(); lane++)
			if (access->active(lane))
				m_pages.push_back(access->get_addr(lane) / m_page_bytes);
		std::sort(m_pages.begin(), m_pages.end());
		m_pages.erase(std::unique(m_pages.begin(), m_pages.end()), m_pages.end());
		for (uint64_t page : m_pages) {
			uvmp_addr address = page * m_page_bytes;
			if (m_host->translate(address, w.how)) {
				m_host->access(address, w.how);
				continue;
			}
			m_host->fault(number, address, w.how, m_now_ns);
			m_next_ns = m_now_ns;
			w.pages++;
		}
		if (w.pages > 0)
			m_held[number] = w;
		else
			release(sm, w);
	}
	void replay(const uvmp_host_waiter *waiter)
	{
		auto held = m_held.find(waiter->warp);
		waiting &w = held->second;

		m_host->access(waiter->address, w.how);
		if (--w.pages > 0)
			return;
		release(unsigned(waiter->warp % m_sm.size()), w);
		m_held.erase(held);
	}
	// All pages of the access have been mapped.
	void release(unsigned sm, const waiting &w)
	{
		uint64_t bytes = m_bytes_per_ns > 0 ? remote_sectors(w) * sector_bytes : 0;

		if (bytes == 0) {
			m_sm[sm].ready.push_back(w.access);
			return;
		}
		double &link_ns = m_link_ns[w.how == UVMP_ACCESS_WRITE];
		link_ns = std::max(link_ns, double(m_now_ns)) + double(bytes) / m_bytes_per_ns;
		m_remote.insert({link_ns + m_latency_ns, {sm, w.access}});
		m_remote_bytes += bytes;
	}
	// Sectors of the access that lie in the memory of the CPU.
	uint64_t remote_sectors(const waiting &w)
	{
		m_sectors.clear();
		for (unsigned lane = 0; lane < w.access->warp_size(); lane++)
			if (w.access->active(lane))
				m_sectors.push_back(w.access->get_addr(lane) / sector_bytes);
		std::sort(m_sectors.begin(), m_sectors.end());
		m_sectors.erase(std::unique(m_sectors.begin(), m_sectors.end()), m_sectors.end());
		return uint64_t(std::count_if(m_sectors.begin(), m_sectors.end(), [&](uint64_t sector) {
			uint64_t frame;
			return m_host->translate(sector * sector_bytes, w.how, &frame) &&
			       frame == UVMP_HOST_NO_FRAME;
		}));
	}
	Inst *spare()
	{
		if (m_spare.empty())
			return m_make();
		Inst *empty = m_spare.back();
		m_spare.pop_back();
		return empty;
	}
};

} // namespace uvmp
#endif
