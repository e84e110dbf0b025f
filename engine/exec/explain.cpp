#include "explain.h"

#include <csignal>
#include <cstdio>
#include <functional>
#include <utility>

#include "../check/finding.h"
#include "../layouts/gen/kernel.h"
#include "../objects/memory/allocation.h"
#include "../system/settings.h"
#include "bounds.h"
#include "code.h"
#include "explain_place.h"
#include "fault_site.h"

namespace anyzero {

namespace {

void explain_raised(int kind, uintptr_t value, char* text, size_t size) {
  switch (static_cast<FaultKind>(kind)) {
    case FaultKind::Division:
      std::snprintf(text, size, "an integer was divided by zero");
      return;
    case FaultKind::Unreachable:
      std::snprintf(text, size, "it reached code that is marked as unreachable");
      return;
    case FaultKind::FunctionPointer:
      std::snprintf(text, size, "%#zx is not a function that can be called", static_cast<size_t>(value));
      return;
    case FaultKind::Barrier:
      std::snprintf(text, size, "not all work-items of a group reached the same barrier");
      return;
    case FaultKind::PrivateOverrun:
      std::snprintf(text, size, "it wrote over the end of its private memory: look for an index out of an array's range");
      return;
  }
  std::snprintf(text, size, "it stopped with code %d, value %#zx", kind, static_cast<size_t>(value));
}

void explain_not_resident(uintptr_t address, char* text, size_t size) {
  const bool ours = with_allocation(reinterpret_cast<void*>(address), [](Allocation&) {});
  char where[256];
  describe_address(address, where, sizeof where);
  std::snprintf(text, size, "it reached %#zx, which is not resident, and this device has no on-demand paging (%s); %s",
                static_cast<size_t>(address), where,
                ours ? "make it resident (zeContextMakeMemoryResident) or let the kernel reach all memory of that kind "
                       "(zeKernelSetIndirectAccess)"
                     : "allocate it with zeMemAlloc*: it cannot access memory of the system's allocator");
}

void explain_kind(const Fault& fault, char* text, size_t size) {
  switch (fault.signal) {
    case Fault::kStackOverflow:
      std::snprintf(text, size, "the stack overflowed");
      return;
    case Fault::kWildAddress:
      std::snprintf(text, size, "an invalid address, which no memory can have, or a misaligned one");
      return;
    case Fault::kTimeLimit:
      std::snprintf(text, size, "it ran longer than the limit of %g s (ANYZERO_KERNEL_TIMEOUT)",
                    static_cast<double>(settings.kernel_timeout_ms) / 1000);
      return;
    case Fault::kMistake:
      std::snprintf(text, size, "check mode stopped it at its first mistake, which it has reported");
      return;
    case Fault::kGivenUp:
      std::snprintf(text, size, "another thread of the launch faulted");
      return;
    case Fault::kNoMemory:
      std::snprintf(text, size, "there is no memory for its work-groups");
      return;
    case Fault::kNoThreads:
      std::snprintf(text, size, "the system grants no threads to run its groups at the same time");
      return;
    case Fault::kTooManyGroups:
      std::snprintf(text, size, "there are more groups than can be launched");
      return;
    case Fault::kPrivateOverrun:
      std::snprintf(text, size, "it ran over the end of its private memory at %#zx: look for an index out of an array's range",
                    static_cast<size_t>(fault.address));
      return;
    case Fault::kLocalOverrun:
      std::snprintf(text, size, "it ran over the end of its local memory at %#zx: look for an index out of an array's range",
                    static_cast<size_t>(fault.address));
      return;
    case Fault::kNoCode:
      std::snprintf(text, size,
                    "it jumped to %#zx, where there is no code: a return address or a function's address was overwritten",
                    static_cast<size_t>(fault.address));
      return;
    case Fault::kNotResident:
      explain_not_resident(fault.address, text, size);
      return;
    default:
      break;
  }
  if (fault.signal >= Fault::kRaised) return explain_raised(fault.signal - Fault::kRaised, fault.address, text, size);
  const char* kind = fault.signal == SIGBUS    ? "memory that no longer exists"
                     : fault.signal == SIGFPE  ? "an arithmetic error"
                     : fault.signal == SIGILL  ? "an illegal instruction"
                     : fault.signal == SIGTRAP ? "a breakpoint in code that no kernel should reach"
                                               : "an invalid address";
  char where[256];
  describe_address(fault.address, where, sizeof where);
  if (fault.signal == SIGFPE || fault.signal == SIGILL || fault.signal == SIGTRAP) {
    std::snprintf(text, size, "%s", kind);
  } else {
    std::snprintf(text, size, "%s at %#zx (%s)", kind, static_cast<size_t>(fault.address), where);
  }
}

}  // namespace

namespace {

struct Explained {
  std::string what;        // happened, in words
  std::string work_items;  // in which ones, or empty
  std::string offset;      // of the instruction in the kernel's code, or empty
  std::string stack;       // the source lines, or empty
  uintptr_t instruction = 0;
};

Explained explained(const Fault& fault, const Packet* packet) {
  char kind[512];
  explain_kind(fault, kind, sizeof kind);
  const bool assertion = fault.signal == SIGSEGV && is_assertion(fault.address);
  Explained made;
  made.what = assertion ? "an assertion failed" : kind;
  if (!packet || packet->op != Op::Launch) return made;
  FaultSite site;
  const bool known = find_site(fault.site, &site);
  made.instruction = known ? site.instruction : fault.instruction;
  bool found = false;
  for_each_launch(*static_cast<const LaunchPacket*>(packet), [&](const Launch& launch) {
    size_t offset;
    const Code* code;
    if (found || !made.instruction || !launch.code->offset_of(made.instruction, &offset, &code)) return;
    found = true;
    if (known) made.work_items = assertion ? asserting(launch, site, fault.address) : work_items(launch, site);
    char where[32];
    std::snprintf(where, sizeof where, "at offset %#zx", offset);
    made.offset = where + (" of the code of " + code->facts().name);
    made.stack = source_stack(*code, offset);
  });
  return made;
}

}  // namespace

std::string explain(const Fault& fault, const Packet* packet) {
  const Explained made = explained(fault, packet);
  return made.what + (made.work_items.empty() ? "" : "; " + made.work_items) + (made.offset.empty() ? "" : "; " + made.offset) +
         made.stack;
}

void report_fault(const Fault& fault, const Packet* packet) {
  // A mistake has been reported.
  if (!packet || !is_checked(kCheckMemory) || fault.signal == Fault::kMistake) return;
  Explained made = explained(fault, packet);
  char command[256];
  describe(*packet, command, sizeof command);
  const uint64_t place = made.instruction ? made.instruction : std::hash<std::string>{}(command);
  if (seen(Rule::DeviceLost, place)) return;
  Finding finding{Rule::DeviceLost, place, std::string(command) + ": " + made.what, {}, {}, {}, {}, {}};
  if (packet->op == Op::Launch)
    for_each_launch(*static_cast<const LaunchPacket*>(packet), [&](const Launch& launch) {
      if (finding.kernel.empty()) finding.kernel = launch.code->facts().name;
    });
  finding.work_item = made.work_items.substr(made.work_items.starts_with("in ") ? 3 : 0);
  finding.stack = std::move(made.stack);
  if (fault.address) finding.memory = memory_at(fault.address);
  report(std::move(finding));
}

}  // namespace anyzero
