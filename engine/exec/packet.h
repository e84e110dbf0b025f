// The one vocabulary of commands. Regular lists, immediate lists, queues and fences all emit these packets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../abi/gen/ze_api.h"
#include "../backends/backend.h"

namespace anyzero {

class Event;
class Code;
class Image;
class Sampler;
class Fence;
class Program;
class Device;
class ExternalSemaphore;
class Ring;
struct Signal;

enum class Op : uint8_t {
  Barrier,  // no work of its own: waits, then signals
  Copy,
  Fill,
  CopyBoxes,
  Launch,
  Reset,
  Timestamp,
  QueryTimestamps,
  Prefetch,
  Advise,
  HostFunction,
  Infer,
  Execute,  // a recorded program
  SignalFence,
  SignalSemaphores,
  AwaitSemaphores,  // registers the descriptors; the barrier that follows waits
};

// True if packets of that kind name memory only through objects, which are released with the packet.
inline bool holds_more(Op op) { return op == Op::Execute || op == Op::Launch || op == Op::Infer; }

// A position in a ring: reached when that many of its commands are done.
struct Point {
  Ring* ring;
  uint64_t position;
};

// The target of a wait, which the packet holds: a binary event; or the ring position of a counting event when the wait was
// appended; or, in a recorded packet, the counting event itself or a command of the same graph, whose position each execution
// resolves. Neither: no wait.
struct WaitFor {
  Event* event;
  Point point;
};

// A command of a graph: the branch it was recorded into, and its index there. A recorded wait for one has neither event nor ring
// and a position that is not zero.
struct GraphPlace {
  uint32_t branch;
  uint64_t command;

  static constexpr uint32_t kCommandBits = 40;
  WaitFor wait() const { return {nullptr, {nullptr, (uint64_t{branch} << kCommandBits | command) + 1}}; }
  static bool is_awaited_by(const WaitFor& wait) { return !wait.event && !wait.point.ring && wait.point.position; }
  static GraphPlace of(const WaitFor& wait) {
    const uint64_t packed = wait.point.position - 1;
    return {static_cast<uint32_t>(packed >> kCommandBits), packed & ((uint64_t{1} << kCommandBits) - 1)};
  }
};

// The signal of a wait and the value that ends it; no signal if there is no wait.
struct Awaited {
  Signal* signal;
  uint64_t target;
};
Awaited awaited(const WaitFor& wait);
// The target of a wait in one execution: the next of `targets`, if each execution resolves it. `targets` is null or points to null
// outside of executions.
const WaitFor& settled(const WaitFor& written, const WaitFor** targets);
void hold(const WaitFor& wait);
void let_go(const WaitFor& wait);

// Header of every packet. The body follows in the derived struct, then `n_waits` WaitFor entries at the very end.
struct Packet {
  uint32_t size;
  Op op;
  bool announced;  // inside a program: its completion is published at once, because other rings wait for it
  uint16_t n_waits;
  Event* signal;

  // True if its body names objects, which the packet holds besides its events.
  static constexpr bool kNamesObjects = true;

  const WaitFor* waits() const {
    return reinterpret_cast<const WaitFor*>(reinterpret_cast<const unsigned char*>(this) + size) - n_waits;
  }
  WaitFor* waits() { return const_cast<WaitFor*>(static_cast<const Packet*>(this)->waits()); }
  uint64_t commands() const;
};
static_assert(sizeof(Packet) == 16);

// Estimated nanoseconds of a copy or fill.
inline uint64_t cost_of_bytes(uint64_t bytes) { return 20 + bytes / 16; }

struct CopyPacket : Packet {
  static constexpr Op kOp = Op::Copy;
  static constexpr bool kNamesObjects = false;
  void* to;
  const void* from;
  size_t bytes;
};

struct FillPacket : Packet {
  static constexpr Op kOp = Op::Fill;
  static constexpr bool kNamesObjects = false;
  void* to;
  size_t bytes;
  size_t pattern_size;
  unsigned char* pattern() { return reinterpret_cast<unsigned char*>(this + 1); }
  const unsigned char* pattern() const { return reinterpret_cast<const unsigned char*>(this + 1); }
};

// One strided copy.
struct BoxCopy {
  Box to;
  Box from;
  size_t row;
  size_t rows;
  size_t slices;
};

struct CopyBoxesPacket : Packet {
  static constexpr Op kOp = Op::CopyBoxes;
  Image* images[2];  // held while the packet lives
  uint64_t count;
  BoxCopy* boxes() { return reinterpret_cast<BoxCopy*>(this + 1); }
  const BoxCopy* boxes() const { return reinterpret_cast<const BoxCopy*>(this + 1); }
};

// One launch, with the kernel's state when it was appended. The images and samplers of its arguments follow, an entry for each such
// argument, then the block of arguments.
struct Launch {
  enum Flag : uint32_t { kCooperative = 1, kAllResident = 2, kOwnResidency = 4, kLargeLocal = 8 };

  uint32_t size;  // in bytes, with the data that follows
  uint32_t args_at;
  Code* code;  // held, as are images and samplers
  uint32_t group_count[3];
  uint32_t group_size[3];
  uint32_t global_offset[3];
  uint32_t local_bytes;
  uint32_t flags;
  uint32_t indirect;  // ze_kernel_indirect_access_flags_t
  uint32_t n_images;
  uint32_t n_samplers;
  const ze_group_count_t* count_at;  // the number of groups, read at execution; or nullptr

  unsigned char* args() { return reinterpret_cast<unsigned char*>(this) + args_at; }
  const unsigned char* args() const { return reinterpret_cast<const unsigned char*>(this) + args_at; }
  Image** images() { return reinterpret_cast<Image**>(this + 1); }
  Image* const* images() const { return reinterpret_cast<Image* const*>(this + 1); }
  Sampler** samplers() { return reinterpret_cast<Sampler**>(images() + n_images); }
  Launch* next() { return reinterpret_cast<Launch*>(reinterpret_cast<unsigned char*>(this) + size); }
  const Launch* next() const { return const_cast<Launch*>(this)->next(); }
};

// One launch, or several, of which a number that is read at execution decides how many run.
struct LaunchPacket : Packet {
  static constexpr Op kOp = Op::Launch;
  const uint32_t* enabled_at;
  uint64_t count;
  Launch* first() { return reinterpret_cast<Launch*>(this + 1); }
  const Launch* first() const { return reinterpret_cast<const Launch*>(this + 1); }
};

struct BarrierPacket : Packet {
  static constexpr Op kOp = Op::Barrier;
  static constexpr bool kNamesObjects = false;
};

struct ResetPacket : Packet {
  static constexpr Op kOp = Op::Reset;
  Event* event;
};

struct TimestampPacket : Packet {
  static constexpr Op kOp = Op::Timestamp;
  static constexpr bool kNamesObjects = false;
  uint64_t* to;
};

struct QueryTimestampsPacket : Packet {
  static constexpr Op kOp = Op::QueryTimestamps;
  unsigned char* to;
  uint32_t count;
  uint32_t has_offsets;
  Event** events() { return reinterpret_cast<Event**>(this + 1); }
  Event* const* events() const { return reinterpret_cast<Event* const*>(this + 1); }
  size_t* offsets() { return reinterpret_cast<size_t*>(events() + count); }
  const size_t* offsets() const { return reinterpret_cast<const size_t*>(events() + count); }
};

struct MemoryHintPacket : Packet {
  static constexpr bool kNamesObjects = false;
  const void* at;
  size_t bytes;
};
struct PrefetchPacket : MemoryHintPacket {
  static constexpr Op kOp = Op::Prefetch;
};
struct AdvisePacket : MemoryHintPacket {
  static constexpr Op kOp = Op::Advise;
  Device* device;
  ze_memory_advice_t advice;
};

struct HostFunctionPacket : Packet {
  static constexpr Op kOp = Op::HostFunction;
  static constexpr bool kNamesObjects = false;
  ze_host_function_callback_t function;
  void* argument;
};

// One execution of a graph, as rings see it. Threading: run from any thread, one after the other.
class InferenceRun {
 public:
  void retain() { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // False with the reason if it failed.
  virtual bool run(char* reason, size_t size) = 0;
  // True if an argument overlaps that range.
  virtual bool uses(uintptr_t begin, uintptr_t end) const = 0;
  virtual const char* name() const = 0;
  // Bytes of its inputs, outputs and states.
  virtual uint64_t bytes() const = 0;

 protected:
  virtual ~InferenceRun() = default;

 private:
  std::atomic<uint32_t> users_{1};
};

// One execution of a graph, with the graph's arguments when it was appended.
struct InferPacket : Packet {
  static constexpr Op kOp = Op::Infer;
  InferenceRun* inference;  // held
};

struct SemaphoreUse {
  ExternalSemaphore* semaphore;  // held
  uint64_t value;                // of a signal
  Event* arrival;                // held: signalled when the wait ends
};

struct SemaphorePacket : Packet {
  uint64_t count;
  SemaphoreUse* uses() { return reinterpret_cast<SemaphoreUse*>(this + 1); }
  const SemaphoreUse* uses() const { return reinterpret_cast<const SemaphoreUse*>(this + 1); }
};
struct SignalSemaphoresPacket : SemaphorePacket {
  static constexpr Op kOp = Op::SignalSemaphores;
};
struct AwaitSemaphoresPacket : SemaphorePacket {
  static constexpr Op kOp = Op::AwaitSemaphores;
};

struct ExecutePacket : Packet {
  static constexpr Op kOp = Op::Execute;
  uint32_t count;
  uint32_t n_targets;
  uint64_t commands;  // of all programs together
  Program** programs() { return reinterpret_cast<Program**>(this + 1); }
  Program* const* programs() const { return reinterpret_cast<Program* const*>(this + 1); }
  // The resolved positions of waits for counting events in this execution, in the order of the waits.
  WaitFor* targets() { return reinterpret_cast<WaitFor*>(programs() + count); }
};

inline uint64_t Packet::commands() const { return op == Op::Execute ? static_cast<const ExecutePacket*>(this)->commands + 1 : 1; }

struct SignalFencePacket : Packet {
  static constexpr Op kOp = Op::SignalFence;
  Fence* fence;
};

// Packets hold references to the objects they name: acquired once, when the packet is complete, and released once, when it will
// not run again.
void hold(Packet& packet);
void let_go(Packet& packet);
void hold(Launch& launch);
void let_go(Launch& launch);

// A range of memory, and its kind.
struct MemoryRange {
  uintptr_t begin;
  uintptr_t end;
  ze_memory_type_t type;

  bool contains(uintptr_t address) const { return address - begin < end - begin; }
};

// True if a kernel with these flags (ze_kernel_indirect_access_flags_t) may access any memory of that type.
bool reaches_all_of(uint32_t indirect, ze_memory_type_t type);

// True if the command reads, writes or advises a byte of that range, as far as the packet shows. A kernel with indirect access
// counts as a user of all memory of the kinds in its flags.
bool names(const Packet& packet, const MemoryRange& range);
bool names(const Launch& launch, const MemoryRange& range);

// Every launch of the packet, in order.
template <class P, class Visit>
void for_each_launch(P& packet, Visit visit) {
  auto* launch = packet.first();
  for (uint64_t i = 0; i < packet.count; ++i, launch = launch->next()) visit(*launch);
}

// The name of the command in fault reports, e.g. "memory copy of 64 bytes from 0x… to 0x…".
void describe(const Packet& packet, char* text, size_t size);

}  // namespace anyzero
