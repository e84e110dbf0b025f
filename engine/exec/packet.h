// The one vocabulary of commands. Regular lists, immediate lists, queues and fences all emit these packets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../abi/gen/ze_api.h"
#include "../backends/backend.h"

namespace anyzero {

class Event;
class Image;
class Fence;
class Program;
class Device;
class Ring;
struct Signal;

enum class Op : uint16_t {
  Barrier,  // nothing of its own: waits, then signals
  Copy,
  Fill,
  CopyBoxes,
  Reset,
  Timestamp,
  QueryTimestamps,
  Prefetch,
  Advise,
  HostFunction,
  Execute,  // a recorded program
  SignalFence,
};

// A point in a ring's life: so many of its commands are done.
struct Point {
  Ring* ring;
  uint64_t position;
};

// What a packet waits for, and holds: a binary event; or the point that a counting event stood for when the wait was appended; or,
// in a recorded packet, the counting event itself, whose point each execution finds anew. Neither: nothing to wait for.
struct WaitFor {
  Event* event;
  Point point;
};

// The signal behind a wait and the value that ends it; no signal when there is nothing to wait for.
struct Awaited {
  Signal* signal;
  uint64_t target;
};
Awaited awaited(const WaitFor& wait);
void hold(const WaitFor& wait);
void let_go(const WaitFor& wait);

// Header of every packet. The body follows in the derived struct, then `n_waits` WaitFor entries at the very end.
struct Packet {
  uint32_t size;
  Op op;
  uint16_t n_waits;
  Event* signal;

  const WaitFor* waits() const {
    return reinterpret_cast<const WaitFor*>(reinterpret_cast<const unsigned char*>(this) + size) - n_waits;
  }
  WaitFor* waits() { return const_cast<WaitFor*>(static_cast<const Packet*>(this)->waits()); }
  uint64_t commands() const;
};
static_assert(sizeof(Packet) == 16);

struct CopyPacket : Packet {
  static constexpr Op kOp = Op::Copy;
  void* to;
  const void* from;
  size_t bytes;
};

struct FillPacket : Packet {
  static constexpr Op kOp = Op::Fill;
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

struct BarrierPacket : Packet {
  static constexpr Op kOp = Op::Barrier;
};

struct ResetPacket : Packet {
  static constexpr Op kOp = Op::Reset;
  Event* event;
};

struct TimestampPacket : Packet {
  static constexpr Op kOp = Op::Timestamp;
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
  const void* at;
  size_t bytes;
};
struct PrefetchPacket : MemoryHintPacket {
  static constexpr Op kOp = Op::Prefetch;
};
struct AdvisePacket : MemoryHintPacket {
  static constexpr Op kOp = Op::Advise;
};

struct HostFunctionPacket : Packet {
  static constexpr Op kOp = Op::HostFunction;
  ze_host_function_callback_t function;
  void* argument;
};

struct ExecutePacket : Packet {
  static constexpr Op kOp = Op::Execute;
  uint32_t count;
  uint32_t n_targets;
  uint64_t commands;  // of all programs together
  Program** programs() { return reinterpret_cast<Program**>(this + 1); }
  Program* const* programs() const { return reinterpret_cast<Program* const*>(this + 1); }
  // What each wait for a counting event waits for in this execution, in the order of the waits.
  WaitFor* targets() { return reinterpret_cast<WaitFor*>(programs() + count); }
};

inline uint64_t Packet::commands() const { return op == Op::Execute ? static_cast<const ExecutePacket*>(this)->commands + 1 : 1; }

struct SignalFencePacket : Packet {
  static constexpr Op kOp = Op::SignalFence;
  Fence* fence;
};

// Packets hold the objects they name. Taking hold happens once, when the packet is complete; letting go once, when it will not run
// again.
void hold(Packet& packet);
void let_go(Packet& packet);

// True when the command reads, writes or hints at a byte of that range, as far as the packet tells.
bool names(const Packet& packet, uintptr_t begin, uintptr_t end);

// What a fault report calls the command, e.g. "memory copy of 64 bytes from 0x… to 0x…".
void describe(const Packet& packet, char* text, size_t size);

}  // namespace anyzero
