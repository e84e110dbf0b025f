// IPC handles: 64 bytes that another process of the same user can open, however they are sent there.
//
// A handle begins with a descriptor of the process that made it. A program may send that descriptor along (SCM_RIGHTS) and replace
// the number in the handle by the received one. Then the descriptor opens the handle, for any user and in any namespace: a process
// that has the descriptor can map the memory anyway.
//
// Otherwise the handle opens through a table, which each exporting process keeps in a memfd. The handle names the process, the
// table and an entry, and proves by a nonce that it was made there. The opener reads the table through /proc, which Linux allows
// only to the same user.
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

// The handle's own descriptor, still owned by the handle, if it is valid in this process; otherwise a new one, owned by the caller.
ze_result_t ipc_descriptor_of(IpcKind kind, const void* handle, int* fd);

// Revokes one export, and with the last one the handle's descriptor. It is no error if freeing the memory has revoked the handle
// already.
ze_result_t ipc_revoke(const void* handle);

// Revokes every export of the bytes at `offset`, which are about to be freed. Events have a file of their own, so all exports of it
// are revoked.
void ipc_revoke_fd(int fd, uint64_t offset);

}  // namespace anyzero
