// Handles that another process of the same user can open: 64 bytes, moved there by any means.
//
// A process that exports keeps a table in a file in memory. A handle names the process, the table and an entry, and proves by a
// random number that it was made there; whoever opens it reaches the table through /proc, which the kernel opens to the same user
// only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../abi/gen/ze_api.h"

namespace anyzero {

enum class IpcKind : uint32_t { Memory = 1, EventPool, CounterEvent };

inline constexpr uint32_t kIpcPayload = 32;
inline constexpr size_t kIpcHandle = 64;

struct IpcImport {
  int fd =
      -1;  // owned by whoever asked; keep it as long as the bytes are in use, for it holds a lock on them that the exporter sees
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

// Takes one export back. A handle that the free of its memory has revoked already is no error.
ze_result_t ipc_revoke(const void* handle);

// Takes back every export of the bytes at `offset`: they are about to be freed. Events have a file of their own, so all of theirs
// go.
void ipc_revoke_fd(int fd, uint64_t offset);

// A new descriptor of the same bytes for others to keep, positioned at their start and holding the lock that tells us it is kept;
// -1 on failure.
int ipc_lend(int fd, uint64_t offset, uint64_t size);

// What a descriptor stands for: the bytes it was lent for, or a whole file. False when it is no file.
bool ipc_describe(int fd, uint64_t* offset, uint64_t* size);

}  // namespace anyzero
