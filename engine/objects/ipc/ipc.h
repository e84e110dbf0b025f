// Handles that another process of the same user can open: 64 bytes, moved there by any means.
//
// A handle begins with a descriptor of the process that made it. A program may send that along by the kernel's means (SCM_RIGHTS)
// and put the number it arrived under in its place: the descriptor opens the handle then, for any user and in any namespace, for
// who has it can map the memory anyway.
//
// Otherwise the handle opens through a table, which each process that exports keeps in a file in memory. The handle names the
// process, the table and an entry, and proves by a random number that it was made there; whoever opens it reaches the table through
// /proc, which the kernel opens to the same user only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../abi/gen/ze_api.h"

namespace anyzero {

enum class IpcKind : uint32_t { Memory = 1, EventPool, CounterEvent };

inline constexpr uint32_t kIpcPayload = 32;         // in the table
inline constexpr uint32_t kIpcCarriedPayload = 12;  // in the handle itself: the first bytes of the same
inline constexpr size_t kIpcHandle = 64;

struct IpcImport {
  int fd = -1;  // the caller's; keep it as long as the bytes are in use, for it holds a lock on them that the exporter sees
  uint64_t offset = 0;
  uint64_t size = 0;
  unsigned char payload[kIpcPayload] = {};
};

// Threading: any thread.

// Offers `size` bytes of `fd`. The descriptor stays the caller's, who revokes before closing it, unless `adopt` gives it to the
// table. The same bytes always get the same handle, to be revoked as often as it was asked for; the payload is that of the latest
// call.
ze_result_t ipc_export(IpcKind kind, int fd, uint64_t offset, uint64_t size, const void* payload, size_t payload_size, void* handle,
                       bool adopt = false);

ze_result_t ipc_open(IpcKind kind, const void* handle, IpcImport* import);

// The descriptor that the handle begins with, which stays whose it is, where it is valid in this process; else a new one, the
// caller's.
ze_result_t ipc_descriptor_of(IpcKind kind, const void* handle, int* fd);

// Takes one export back, and with the last one the handle's descriptor. A handle that the free of its memory has revoked already is
// no error.
ze_result_t ipc_revoke(const void* handle);

// Takes back every export of the bytes at `offset`: they are about to be freed. Events have a file of their own, so all of theirs
// go.
void ipc_revoke_fd(int fd, uint64_t offset);

}  // namespace anyzero
