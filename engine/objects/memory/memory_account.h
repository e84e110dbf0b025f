// Accounts of memory: of each device and of the host, and how shared memory moves between them.
//
// A device's shared memory is on its account as long as it fits. Beyond that it is on the host's: a program may have more of it
// than the device has, up to what the machine has. Shared memory that was made resident on a device stays on its account.
#pragma once

#include <cstdint>

namespace anyzero {

struct Allocation;
class Context;
class Device;

// Threading: any thread.

// Charges memory of the machine that no device accounts for. False if the machine has too little.
bool charge_host(uint64_t size);
void refund_host(uint64_t size);
uint64_t host_memory_used();
uint64_t host_memory_total();

// Charges `size` bytes to the device, or to the host without one.
bool charge(Device* device, uint64_t size);
void refund(Device* device, uint64_t size);

// The same for shared memory of a device: `home` is the device, or nullptr if its account has no room.
bool charge_shared(Device& device, uint64_t size, Device** home);
// Refunds all charges of a removed allocation.
void refund(const Allocation& allocation);

// The two below are for callbacks of Allocations, which hold its lock; they ignore memory that is not shared.

// Charges the allocation to the device, in addition to another one where it is resident. False if there is no room.
bool move_to(Allocation& allocation, Device& device);
// Charges it to the host, unless it is resident on a device.
void move_to_host(Allocation& allocation);

// Moves shared memory of the device to the host until `size` bytes fit; memory that prefers the device comes last. False if they do
// not fit.
bool make_room(Device& device, uint64_t size);

// True if the device has room for all memory of these kinds (ze_kernel_indirect_access_flags_t) in the context at once.
bool has_room_for_all(const Context& context, const Device& device, uint32_t kinds);

}  // namespace anyzero
