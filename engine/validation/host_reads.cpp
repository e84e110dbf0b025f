// Reads of memory by the host itself, as far as languages tell of them, while a command is still to write it.
#include "../check/finding.h"
#include "../objects/devices/driver.h"
#include "../objects/memory/allocation.h"
#include "call.h"
#include "command_use.h"
#include "commands.h"

namespace anyzero {

namespace {

bool writes_to(const Packet& packet, uintptr_t begin, uintptr_t end) {
  if (packet.op == Op::Execute) {
    auto& execute = static_cast<const ExecutePacket&>(packet);
    bool found = false;
    for (uint32_t i = 0; i < execute.count; ++i)
      each_of(*execute.programs()[i], [&](const Packet& inner) { found = found || writes_to(inner, begin, end); });
    return found;
  }
  CommandUse use;
  read_command_use(packet, nullptr, use);
  for (const Span& span : use.spans)
    if (span.writes && span.begin < end && begin < span.end) return true;
  return false;
}

// The first command that is to write there, in words; empty where there is none.
std::string writer_of(Driver& driver, uintptr_t begin, uintptr_t end) {
  std::string found;
  for (RingPoint& point : busy_rings(driver)) {
    Ring& ring = point.ring();
    const uint64_t done = ring.completed().value.load(std::memory_order_acquire);
    ring.each_submitted([&](const Packet& packet, uint64_t position) {
      if (found.empty() && position > done && writes_to(packet, begin, end)) found = command_text(packet, ring, position);
    });
  }
  return found;
}

}  // namespace

extern "C" {

// The calling thread is about to read so many bytes. Costs nothing worth mentioning where no checks are made.
ZE_APIEXPORT void zexCheckHostRead(const void* memory, size_t bytes) {
  if (!is_checked(kCheckSync)) return;
  CheckedCall call("a read by the host", __builtin_return_address(0));
  Driver* driver = nullptr;
  with_allocation(memory, [&](Allocation& allocation) { driver = &allocation.context->driver(); });
  if (!driver) return;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const std::string writer = writer_of(*driver, begin, begin + bytes);
  let_held_commands_go();  // the read is no mistake of its own
  if (writer.empty()) return;
  const uint64_t place = CallPlace().number;
  if (seen(Rule::EarlyHostRead, place)) return;
  char where[256];
  describe_address(begin, where, sizeof where);
  report({Rule::EarlyHostRead, place, "the host reads memory that a command is still to write", "", "", "", where, writer});
}

}  // extern "C"

}  // namespace anyzero
