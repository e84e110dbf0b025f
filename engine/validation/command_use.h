// The memory, the waits and the signals of a submitted command, read from its packet.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../exec/packet.h"
#include "call_site.h"

namespace anyzero {

// Bytes that a command is sure to touch.
struct Span {
  uintptr_t begin;
  uintptr_t end;
  bool writes;
};

// A command in a report.
struct CommandName {
  Op op = Op::Barrier;
  uint64_t bytes = 0;                   // of a copy or a fill
  const std::string* kernel = nullptr;  // of a launch; lives as long as the process
  const CallSite* site = nullptr;       // that appended it, or nullptr
  uint64_t ring = 0;
  uint64_t position = 0;

  std::string text() const;
};

// A binary event by its address, or a point of a ring.
struct CommandWait {
  const void* event = nullptr;
  uint64_t ring = 0;
  uint64_t position = 0;
};

struct CommandUse {
  CommandName name;
  const void* device = nullptr;
  const void* card = nullptr;  // the device that it is a tile of, or itself
  uint64_t behind = 0;         // so many commands of its own ring are done when it begins, even without an event
  bool blocks = false;         // later commands of its ring begin when it is done
  std::vector<CommandWait> waits;
  const void* signals = nullptr;  // a binary event or a fence, by its address
  uint32_t scopes = 0;            // of the event that it signals, of signals and of waits
  const void* resets = nullptr;
  std::vector<Span> spans;
  bool tells_host = false;  // a host function: the program may go by it
  bool unknown = false;     // waits for something that calls do not tell

  // For another command, in the memory that it has.
  void clear() {
    std::vector<CommandWait> no_waits = std::move(waits);
    std::vector<Span> no_spans = std::move(spans);
    no_waits.clear();
    no_spans.clear();
    *this = {};
    waits = std::move(no_waits);
    spans = std::move(no_spans);
  }
};

// Whether an event with these scopes makes what a device wrote visible to other devices.
inline bool reaches_devices(uint32_t scopes) { return scopes & (ZE_EVENT_SCOPE_FLAG_DEVICE | ZE_EVENT_SCOPE_FLAG_HOST); }

// Writes what a packet does to `use`. `targets`: what the waits that each execution settles wait for, advanced by as many as the
// packet has; or nullptr.
void read_command_use(const Packet& packet, const WaitFor** targets, CommandUse& use);

// Adds the memory with the numbers of groups, which a launch reads before its kernel runs.
void add_group_counts(CommandUse& use, const LaunchPacket& packet);

}  // namespace anyzero
