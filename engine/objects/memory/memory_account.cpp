#include "memory_account.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>

#include "../devices/device.h"
#include "../devices/driver.h"
#include "allocation.h"
#include "residency.h"

namespace anyzero {

namespace {

std::atomic<uint64_t> host_used{0};

bool charge_host_up_to(uint64_t size, uint64_t limit) {
  uint64_t used = host_used.load(std::memory_order_relaxed);
  do {
    if (size > limit || used > limit - size) return false;
  } while (!host_used.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
  return true;
}

// The memory of a tile is a part of its device's.
bool holds(const Device* home, const Device& device) { return home && (home == &device || home->parent() == &device); }

bool of_one_card(const Device* one, const Device& other) { return one && &one->root() == &other.root(); }

bool resident_on_card(const Allocation& allocation, const Device& device) {
  return allocation.resident.load(std::memory_order_relaxed) & residency_bits(device.root());
}

bool is_movable(const Allocation& allocation) { return allocation.type == ZE_MEMORY_TYPE_SHARED && allocation.charged; }

bool is_accounted_on(const Allocation& allocation, const Device& device) {
  return holds(allocation.home, device) ||
         std::any_of(allocation.copies.begin(), allocation.copies.end(), [&](Device* copy) { return holds(copy, device); });
}

// Removes the allocation from the card's account; if no other device has it, it is charged to the host.
void leave_card(Allocation& allocation, const Device& device) {
  std::erase_if(allocation.copies, [&](Device* copy) {
    if (!of_one_card(copy, device)) return false;
    copy->refund(allocation.charged);
    return true;
  });
  if (!of_one_card(allocation.home, device)) return;
  Device* next = nullptr;
  if (!allocation.copies.empty()) {
    next = allocation.copies.back();
    allocation.copies.pop_back();
  } else if (!charge_host(allocation.charged)) {
    return;
  }
  allocation.home->refund(allocation.charged);
  allocation.home = next;
}

}  // namespace

// The memory of the machine, or of the container that the process is in.
uint64_t host_memory_total() {
  static const uint64_t total = [] {
    uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    unsigned long long container = 0;
    if (FILE* file = std::fopen("/sys/fs/cgroup/memory.max", "re")) {
      if (std::fscanf(file, "%llu", &container) != 1) container = 0;
      std::fclose(file);
    }
    return container ? std::min<uint64_t>(machine, container) : machine;
  }();
  return total;
}

uint64_t host_memory_used() { return host_used.load(std::memory_order_relaxed); }

bool charge_host(uint64_t size) { return charge_host_up_to(size, host_memory_total()); }

void refund_host(uint64_t size) { host_used.fetch_sub(size, std::memory_order_relaxed); }

bool charge(Device* device, uint64_t size) {
  if (!device) return charge_host(size);
  return device->charge(size) || (make_room(*device, size) && device->charge(size));
}

void refund(Device* device, uint64_t size) {
  if (device) {
    device->refund(size);
  } else {
    refund_host(size);
  }
}

bool charge_shared(Device& device, uint64_t size, Device** home) {
  *home = &device;
  if (device.charge(size)) return true;
  *home = nullptr;
  uint64_t on_devices = 0;
  for (const Device* card : device.driver().cards()) on_devices += card->memory_used();
  return charge_host_up_to(size, host_memory_total() - std::min(host_memory_total(), on_devices));
}

void refund(const Allocation& allocation) {
  refund(allocation.home, allocation.charged);
  for (Device* copy : allocation.copies) copy->refund(allocation.charged);
}

bool move_to(Allocation& allocation, Device& device) {
  std::lock_guard lock(allocation.attributes_mutex);
  if (!is_movable(allocation) || is_accounted_on(allocation, device)) return true;
  if (!device.charge(allocation.charged)) return false;
  if (allocation.home && resident_on_card(allocation, *allocation.home)) {
    allocation.copies.push_back(&device);
  } else {
    refund(allocation.home, allocation.charged);
    allocation.home = &device;
  }
  return true;
}

void move_to_host(Allocation& allocation) {
  std::lock_guard lock(allocation.attributes_mutex);
  if (!is_movable(allocation) || !allocation.home || resident_on_card(allocation, *allocation.home)) return;
  leave_card(allocation, *allocation.home);
}

bool make_room(Device& device, uint64_t size) {
  for (const bool preferring : {false, true}) {
    Allocations::each_in(nullptr, SIZE_MAX, [&](Allocation& allocation) {
      if (device.memory_free() >= size) return false;
      std::lock_guard lock(allocation.attributes_mutex);
      const bool prefers = allocation.preferred == &device;
      if (is_movable(allocation) && prefers == preferring && !resident_on_card(allocation, device)) leave_card(allocation, device);
      return true;
    });
  }
  return device.memory_free() >= size;
}

bool has_room_for_all(const Context& context, const Device& device, uint32_t kinds) {
  uint64_t used = device.memory_used(), wanted = 0;
  Allocations::each_in(nullptr, SIZE_MAX, [&](Allocation& allocation) {
    std::lock_guard lock(allocation.attributes_mutex);
    if (!is_movable(allocation)) return true;
    const bool here = is_accounted_on(allocation, device), stays = here && resident_on_card(allocation, device);
    if (here && !stays) used -= std::min(used, allocation.charged);
    if (!stays && allocation.context.get() == &context && reaches_all_of(kinds, allocation.type)) wanted += allocation.charged;
    return true;
  });
  return wanted <= device.memory_total() - std::min(used, device.memory_total());
}

}  // namespace anyzero
