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

// Memory of the machine that no device accounts for. False when the machine has not that much.
bool charge_host(uint64_t size);
void refund_host(uint64_t size);
uint64_t host_memory_used();
uint64_t host_memory_total();

// Takes `size` bytes from the account of the device, and of the host without one.
bool charge(Device* device, uint64_t size);
void refund(Device* device, uint64_t size);

// The same for shared memory of a device: `home` is the device, or nullptr where there is no room for more on its account.
bool charge_shared(Device& device, uint64_t size, Device** home);
// Everything that is charged for the allocation, which has been taken out.
void refund(const Allocation& allocation);

// The two below are for callbacks of Allocations, which hold its lock; they leave alone whatever is not shared memory.

// Puts the allocation on the account of the device, besides that of another where it is resident. False when there is no room.
bool move_to(Allocation& allocation, Device& device);
// Puts it on the host's account, unless it is resident on a device.
void move_to_host(Allocation& allocation);

// Moves shared memory of the device to the host until `size` bytes fit; memory that prefers the device last. False when they do
// not.
bool make_room(Device& device, uint64_t size);

// True when the device has room for all memory of these kinds (ze_kernel_indirect_access_flags_t) in the context at once.
bool has_room_for_all(const Context& context, const Device& device, uint32_t kinds);

}  // namespace anyzero
