// Appends of barriers, event signals, timestamps and host functions.
#include <cstring>

#include "command_list_append.h"

namespace anyzero {

ze_result_t CommandList::appendBarrier(Event* signal, uint32_t n, Event* const* waits) {
  return append<BarrierPacket>(kTiny, 0, signal, n, waits, [](BarrierPacket&) {});
}

ze_result_t CommandList::appendMemoryRangesBarrier(uint32_t, const size_t*, const void**, Event* signal, uint32_t n,
                                                   Event* const* waits) {
  // Commands of a list run one after another and memory is coherent, so ranges need no barrier of their own.
  return appendBarrier(signal, n, waits);
}

ze_result_t CommandList::appendSignalEvent(Event& event) { return appendBarrier(&event, 0, nullptr); }

ze_result_t CommandList::appendWaitOnEvents(uint32_t n, Event* const* events) { return appendBarrier(nullptr, n, events); }

ze_result_t CommandList::appendEventReset(Event& event) {
  if (event.counts())
    return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "a counter-based event is never reset; its next signal re-arms it");
  return append<ResetPacket>(kTiny, 0, nullptr, 0, nullptr, [&](ResetPacket& packet) { packet.event = &event; });
}

ze_result_t CommandList::appendWriteGlobalTimestamp(uint64_t* to, Event* signal, uint32_t n, Event* const* waits) {
  note_use(to);
  return append<TimestampPacket>(kTiny, 0, signal, n, waits, [&](TimestampPacket& packet) { packet.to = to; });
}

ze_result_t CommandList::appendQueryKernelTimestamps(uint32_t n_events, Event* const* events, void* to, const size_t* offsets,
                                                     Event* signal, uint32_t n, Event* const* waits) {
  for (uint32_t i = 0; i < n_events; ++i)
    if (!events[i]->timed())
      return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                  "event %u carries no timestamps; create its pool with ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP", i);
  note_use(to);
  size_t extra = n_events * (sizeof(Event*) + (offsets ? sizeof(size_t) : 0));
  return append<QueryTimestampsPacket>(kTiny * (1 + n_events), extra, signal, n, waits, [&](QueryTimestampsPacket& packet) {
    packet.to = static_cast<unsigned char*>(to);
    packet.count = n_events;
    packet.has_offsets = offsets != nullptr;
    std::memcpy(packet.events(), events, n_events * sizeof(Event*));
    if (offsets) std::memcpy(packet.offsets(), offsets, n_events * sizeof(size_t));
  });
}

ze_result_t CommandList::appendHostFunction(ze_host_function_callback_t function, void* argument, const void* next, Event* signal,
                                            uint32_t n, Event* const* waits) {
  if (next) return refuse_parameters();
  // A program's callback may block, or take locks that its caller holds: it runs on the engine's thread, never on this one.
  return append<HostFunctionPacket>(kNeverInline, 0, signal, n, waits, [&](HostFunctionPacket& packet) {
    packet.function = function;
    packet.argument = argument;
  });
}

}  // namespace anyzero
