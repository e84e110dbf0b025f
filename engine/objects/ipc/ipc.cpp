#include "ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <compare>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "../../abi/error.h"
#include "../../system/descriptor.h"
#include "../../system/thread.h"
#include "ipc_descriptor.h"

namespace anyzero {

namespace {

constexpr uint32_t kHandleMagic = 0x485a4c41;  // "ALZH"
constexpr uint16_t kVersion = 2;
constexpr char kTableMagic[8] = {'A', 'Z', 'I', 'P', 'C', 'T', 'A', 'B'};
constexpr char kTableName[] = "anyzero-ipc";
constexpr uint32_t kEntries = 65536;  // the file has holes: unused entries cost nothing

struct Nonce {
  uint64_t word[2];
  bool zero() const { return (word[0] | word[1]) == 0; }
};

// Constant-time comparison.
bool same(const Nonce& a, const Nonce& b) { return ((a.word[0] ^ b.word[0]) | (a.word[1] ^ b.word[1])) == 0; }

struct Handle {
  int32_t fd;  // of the process that made it, or that the program received with it
  uint32_t magic;
  uint16_t version;
  uint16_t kind;
  int32_t pid;
  int32_t table_fd;
  uint32_t index;
  uint64_t started;  // by the process's clock, so that a new process with the same number is not mistaken for the old one
  Nonce nonce;
  uint32_t file;  // the number of the file that `fd` stands for
  unsigned char payload[kIpcCarriedPayload];
};
static_assert(sizeof(Handle) == kIpcHandle);

struct TableHeader {
  char magic[8];
  uint32_t version;
  uint32_t entry_size;
  uint32_t entries;
  unsigned char reserved[108];
};

// The nonce is written last and erased first: an entry with the right nonce is whole.
struct TableEntry {
  std::atomic<uint64_t> nonce[2];
  uint32_t kind;
  int32_t fd;
  uint64_t offset;
  uint64_t size;
  unsigned char payload[kIpcPayload];
  int32_t lent;   // the descriptor in the handle
  uint32_t file;  // and its file
  unsigned char reserved[48];
};
static_assert(sizeof(TableHeader) == 128 && sizeof(TableEntry) == 128);

struct Table {
  TableHeader header;
  TableEntry entries[kEntries];
};

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// The start time of the process, in ticks since boot; 0 if it cannot be read.
uint64_t start_time(int process) {
  Fd file(openat(process, "stat", O_RDONLY | O_CLOEXEC));
  char text[1024];
  ssize_t length = file ? read(file.get(), text, sizeof text - 1) : -1;
  if (length <= 0) return 0;
  text[length] = 0;
  // The name, in brackets, may hold anything; the start time is the 20th field behind it.
  const char* at = std::strrchr(text, ')');
  for (int field = 0; at && field < 20; ++field) at = std::strchr(at + 1, ' ');
  return at ? std::strtoull(at, nullptr, 10) : 0;
}

// A tag that ties a descriptor to its handle: a hash of the handle without the descriptor's number and the payload, which differ
// between handles of the same bytes.
uint32_t tag_of(const Handle& handle) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&handle);
  uint32_t crc = ~0u;
  for (size_t i = sizeof handle.fd; i < offsetof(Handle, payload); ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return (crc ^ crc >> kIpcTagBits) & ((1u << kIpcTagBits) - 1);
}

// The exports of this process.
class Exporter {
 public:
  static Exporter& get() {
    static Exporter* exporter = [] {
      // In a forked child: its handles must name the child, so it gets a table of its own.
      at_fork_child([] {
        Exporter::get().close_inherited();
        new (&Exporter::get()) Exporter;
      });
      return new Exporter;
    }();
    return *exporter;
  }

  ze_result_t add(IpcKind kind, int fd, uint64_t offset, uint64_t size, const void* payload, size_t payload_size, bool adopt,
                  Handle* handle) {
    std::lock_guard lock(mutex_);
    if (!table_ && !make_table()) {
      return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the table of exported handles cannot be created: %s", std::strerror(errno));
    }
    auto known = by_bytes_.find({fd, offset, kind});
    if (known != by_bytes_.end()) {
      const uint32_t index = known->second;
      if (payload_size) std::memcpy(table_->entries[index].payload, payload, payload_size);
      ++states_[index].users;
      *handle = make_handle(index);
      return ZE_RESULT_SUCCESS;
    }
    if (free_.empty() && used_ == kEntries)
      return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "%u handles are exported already; put back what is no longer needed",
                  kEntries);
    Nonce nonce;
    do {
      if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no random numbers: %s", std::strerror(errno));
    } while (nonce.zero());
    if (free_.empty()) {
      states_.resize(used_ + 1);
      free_.push_back(used_++);
    }
    const uint32_t index = free_.back();
    TableEntry& entry = table_->entries[index];
    entry.kind = static_cast<uint32_t>(kind);
    entry.fd = fd;
    entry.offset = offset;
    entry.size = size;
    entry.file = ipc_file_number(fd);
    std::memset(entry.payload, 0, sizeof entry.payload);
    if (payload_size) std::memcpy(entry.payload, payload, payload_size);
    states_[index] = {nonce, 1, adopt};
    *handle = make_handle(index);
    entry.lent = handle->fd = ipc_lend(fd, offset, size, tag_of(*handle));
    if (entry.lent < 0) {
      const int reason = errno;
      states_[index] = {};
      return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                  "no file descriptor for the handle (%s); every handle has one until it is put back: put back what is no longer "
                  "needed, or raise the limit (ulimit -n)",
                  std::strerror(reason));
    }
    free_.pop_back();
    by_bytes_[{fd, offset, kind}] = index;
    entry.nonce[0].store(nonce.word[0], std::memory_order_release);
    entry.nonce[1].store(nonce.word[1], std::memory_order_release);
    return ZE_RESULT_SUCCESS;
  }

  ze_result_t put(const Handle& handle) {
    if (handle.magic != kHandleMagic || handle.version != kVersion) {
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "this is not a handle of this driver");
    }
    std::lock_guard lock(mutex_);
    if (handle.pid != getpid() || handle.started != started_) {
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "process %d made this handle; only that process can put it back", handle.pid);
    }
    if (handle.index >= used_ || !same(states_[handle.index].nonce, handle.nonce)) {
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is forged, or was put back long ago");
    }
    State& state = states_[handle.index];
    if (state.users && --state.users == 0) erase(handle.index);
    return ZE_RESULT_SUCCESS;
  }

  void forget(int fd, uint64_t offset) {
    std::lock_guard lock(mutex_);
    for (auto at = by_bytes_.lower_bound({fd, 0, IpcKind{}}); at != by_bytes_.end() && at->first.fd == fd;) {
      auto [key, index] = *at++;
      if (key.offset != offset && key.kind == IpcKind::Memory) continue;
      states_[index].users = 0;
      erase(index);
    }
  }

 private:
  struct Key {
    int fd;
    uint64_t offset;
    IpcKind kind;
    auto operator<=>(const Key&) const = default;
  };
  struct State {
    Nonce nonce;  // stays when the entry is erased, so that a late put is recognised
    uint32_t users;
    bool adopted;
  };

  Handle make_handle(uint32_t index) const {
    const TableEntry& entry = table_->entries[index];
    Handle handle = {.fd = entry.lent,
                     .magic = kHandleMagic,
                     .version = kVersion,
                     .kind = static_cast<uint16_t>(entry.kind),
                     .pid = getpid(),
                     .table_fd = table_fd_,
                     .index = index,
                     .started = started_,
                     .nonce = states_[index].nonce,
                     .file = entry.file,
                     .payload = {}};
    std::memcpy(handle.payload, entry.payload, sizeof handle.payload);
    return handle;
  }

  // In a forked child: handles belong to the parent, and their descriptors' locks must not outlive them here. The parent may change
  // the table meanwhile, so only descriptors that are still valid are closed.
  void close_inherited() {
    for (uint32_t i = 0; table_ && i < used_; ++i) {
      const TableEntry& entry = table_->entries[i];
      if (entry.lent >= 0 && entry.file && ipc_file_number(entry.lent) == entry.file) close(entry.lent);
    }
  }

  bool make_table() {
    Fd process(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!process) return false;
    started_ = start_time(process.get());
    Fd fd(behind_streams(memfd_create(kTableName, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
    if (!fd || ftruncate(fd.get(), sizeof(Table)) != 0) return false;
    void* memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED) return false;
#ifdef F_SEAL_FUTURE_WRITE
    // Others may read the table; only this mapping may write it. Linux before 5.1 lacks this seal.
    fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
#endif
    table_ = static_cast<Table*>(memory);
    table_->header = {.magic = {}, .version = kVersion, .entry_size = sizeof(TableEntry), .entries = kEntries, .reserved = {}};
    std::memcpy(table_->header.magic, kTableMagic, sizeof kTableMagic);
    table_fd_ = fd.release();
    return true;
  }

  void erase(uint32_t index) {
    TableEntry& entry = table_->entries[index];
    entry.nonce[0].store(0, std::memory_order_seq_cst);
    entry.nonce[1].store(0, std::memory_order_seq_cst);
    by_bytes_.erase({entry.fd, entry.offset, static_cast<IpcKind>(entry.kind)});
    close(entry.lent);
    entry.lent = -1;
    if (states_[index].adopted) close(entry.fd);
    free_.push_back(index);
  }

  std::mutex mutex_;
  Table* table_ = nullptr;
  int table_fd_ = -1;
  uint64_t started_ = 0;
  uint32_t used_ = 0;
  std::vector<State> states_;
  std::vector<uint32_t> free_;
  std::map<Key, uint32_t> by_bytes_;
};

ze_result_t refused(const Handle& handle, const char* what) {
  if (errno == EACCES || errno == EPERM) {
    return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "process %d does not let this process see its %s: %s", handle.pid, what,
                std::strerror(errno));
  }
  if (errno == EMFILE || errno == ENFILE) {
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "no file descriptors left to open process %d's %s", handle.pid, what);
  }
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "process %d has no such %s: the process has ended, or the handle is forged",
              handle.pid, what);
}

const char* kind_name(uint32_t kind) {
  switch (static_cast<IpcKind>(kind)) {
    case IpcKind::Memory:
      return "memory";
    case IpcKind::EventPool:
      return "an event pool";
    case IpcKind::CounterEvent:
      return "a counter-based event";
  }
  return "nothing known";
}

bool read_entry(int table, uint32_t index, TableEntry* entry) {
  off_t at = static_cast<off_t>(sizeof(TableHeader) + size_t{index} * sizeof(TableEntry));
  return pread(table, static_cast<void*>(entry), sizeof *entry, at) == sizeof *entry;
}

bool proves(const TableEntry& entry, const Handle& handle) {
  Nonce nonce{{entry.nonce[0].load(), entry.nonce[1].load()}};
  return !nonce.zero() && same(nonce, handle.nonce);
}

// Opens the handle by the descriptor in it: the exporter's own, or one that was sent along. False when there is none, or it belongs
// to another handle.
bool open_carried(IpcKind kind, const Handle& handle, IpcImport* import) {
  if (handle.kind != static_cast<uint16_t>(kind) ||
      !ipc_describe_tagged(handle.fd, handle.file, tag_of(handle), &import->offset, &import->size))
    return false;
  // It shares the lock that came with it.
  import->fd = fcntl(handle.fd, F_DUPFD_CLOEXEC, 3);
  std::memcpy(import->payload, handle.payload, sizeof handle.payload);
  return import->fd >= 0;
}

ze_result_t open_handle(IpcKind kind, const Handle& handle, IpcImport* import) {
  if (handle.magic != kHandleMagic || handle.version != kVersion || handle.pid <= 0 || handle.table_fd < 0 ||
      handle.index >= kEntries) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "this is not a handle of this driver");
  }
  if (open_carried(kind, handle, import)) return ZE_RESULT_SUCCESS;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d", handle.pid);
  // From here on everything goes through `process`, which stays the same process even if its id is reused.
  Fd process(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!process) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "process %d, which made the handle, has ended", handle.pid);
  struct stat owner;
  if (fstat(process.get(), &owner) != 0) return refused(handle, "directory");
  if (handle.pid != getpid() && owner.st_uid != geteuid()) {
    return fail(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, "process %d belongs to another user (%u)", handle.pid, owner.st_uid);
  }
  uint64_t started = start_time(process.get());
  if (started == 0 || started != handle.started) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the process that made the handle has ended; process %d is a different one now",
                handle.pid);
  }
  // Check before opening: opening another program's pipe or terminal could block or have effects.
  std::snprintf(path, sizeof path, "fd/%d", handle.table_fd);
  char target[64] = {};
  if (readlinkat(process.get(), path, target, sizeof target - 1) < 0) return refused(handle, "table of handles");
  char expected[32];
  std::snprintf(expected, sizeof expected, "/memfd:%s", kTableName);
  if (std::strncmp(target, expected, std::strlen(expected)) != 0) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is forged: it names no table of handles");
  }
  Fd table(openat(process.get(), path, O_RDONLY | O_CLOEXEC));
  if (!table) return refused(handle, "table of handles");
  TableHeader header;
  TableEntry entry;
  if (pread(table.get(), &header, sizeof header, 0) != sizeof header ||
      std::memcmp(header.magic, kTableMagic, sizeof kTableMagic) != 0 || header.version != kVersion ||
      header.entry_size != sizeof(TableEntry) || !read_entry(table.get(), handle.index, &entry)) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "process %d uses another version of this driver", handle.pid);
  }
  if (!proves(entry, handle)) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle is stale or forged: its object was freed or the handle was put back");
  }
  if (entry.kind != static_cast<uint32_t>(kind)) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle refers to %s, not to %s", kind_name(entry.kind),
                kind_name(static_cast<uint32_t>(kind)));
  }
  std::snprintf(path, sizeof path, "fd/%d", entry.fd);
  struct stat file;
  if (fstatat(process.get(), path, &file, 0) != 0) return refused(handle, "shared memory");
  if (!S_ISREG(file.st_mode) || entry.size == 0 || entry.offset + entry.size < entry.size ||
      entry.offset + entry.size > static_cast<uint64_t>(file.st_size)) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle names bytes that do not exist");
  }
  Fd bytes(openat(process.get(), path, O_RDWR | O_CLOEXEC));
  if (!bytes) return refused(handle, "shared memory");
  if (!ipc_lock_bytes(bytes.get(), entry.offset, entry.size)) return refused(handle, "shared memory");
  // The exporter erases the entry and then checks the locks, so one of the two notices the other.
  TableEntry again;
  if (!read_entry(table.get(), handle.index, &again) || !proves(again, handle)) {
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the handle was put back or its memory freed while it was being opened");
  }
  import->fd = bytes.release();
  import->offset = entry.offset;
  import->size = entry.size;
  std::memcpy(import->payload, entry.payload, sizeof import->payload);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t ipc_export(IpcKind kind, int fd, uint64_t offset, uint64_t size, const void* payload, size_t payload_size, void* handle,
                       bool adopt) {
  Handle made;
  ze_result_t result =
      Exporter::get().add(kind, fd, offset, size, payload, std::min(payload_size, size_t{kIpcPayload}), adopt, &made);
  if (result == ZE_RESULT_SUCCESS) std::memcpy(handle, &made, sizeof made);
  return result;
}

ze_result_t ipc_open(IpcKind kind, const void* handle, IpcImport* import) {
  Handle given;
  std::memcpy(&given, handle, sizeof given);
  return open_handle(kind, given, import);
}

ze_result_t ipc_descriptor_of(IpcKind kind, const void* handle, int* fd) {
  Handle given;
  std::memcpy(&given, handle, sizeof given);
  IpcImport import;
  if (ze_result_t r = open_handle(kind, given, &import)) return r;
  uint64_t offset, size;
  if (!ipc_describe_tagged(given.fd, given.file, tag_of(given), &offset, &size)) {
    lseek(import.fd, static_cast<off_t>(import.offset), SEEK_SET);
    *fd = import.fd;
    return ZE_RESULT_SUCCESS;
  }
  close(import.fd);
  *fd = given.fd;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ipc_revoke(const void* handle) {
  Handle given;
  std::memcpy(&given, handle, sizeof given);
  return Exporter::get().put(given);
}

void ipc_revoke_fd(int fd, uint64_t offset) { Exporter::get().forget(fd, offset); }

}  // namespace anyzero
