// Turns appended commands into packets; shared by the files that define the appends.
#pragma once

#include "../../abi/error.h"
#include "../../exec/engine.h"
#include "../../exec/submission.h"
#include "../../system/settings.h"
#include "../graphs/capture.h"
#include "../memory/residency.h"
#include "command_list.h"

namespace anyzero {

inline ze_result_t refuse_parameters() {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "no extension structure is known for this append; pass pNext = NULL");
}

// The cost above which a hand-over to the engine pays.
inline uint64_t cheap_limit() { return cost_of_bytes(settings.inline_bytes); }
inline constexpr uint64_t kTiny = 20;
inline constexpr uint64_t kNeverInline = UINT64_MAX / 2;

inline constexpr uint32_t kMostWaits = 65535;

// Acquires the objects that a packet names; for most kinds these are its events alone.
template <class P>
inline void hold_all_of(P& packet) {
  if constexpr (P::kNamesObjects) {
    hold(packet);
  } else if (packet.signal) {
    packet.signal->retain();
  }
}

// Inlined into each append: the body, the size and the objects of the packet are compile-time constants there.
template <class P, class Fill>
inline ze_result_t CommandList::append(uint64_t cost, size_t extra, Event* signal, uint32_t n, Event* const* waits, Fill&& fill) {
  Exclusive turn(*this, solitude());
  if (closed_) [[unlikely]]
    return settings.strict ? refuse_closed() : ignore_closed();
  if (n > kMostWaits) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%u wait events: more than %u", n, kMostWaits);
  const size_t size = sizeof(P) + (extra + 7) / 8 * 8 + n * sizeof(WaitFor);
  if (size > kLargestPacket) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the command is too large");
  if (ring_ && ring_->lost()) return ring_->tell_lost();
  if (captures_in_progress.load(std::memory_order_relaxed)) [[unlikely]] {
    ze_result_t result;
    auto write = [](void* body, Packet& packet) { (*static_cast<std::remove_reference_t<Fill>*>(body))(static_cast<P&>(packet)); };
    if (append_captured({P::kOp, size, cost, signal, n, waits, write, &fill}, &result)) return result;
  }

  P* packet = static_cast<P*>(ring_ ? ring_->begin(size) : program_->stream().reserve(size));
  packet->size = static_cast<uint32_t>(size);
  packet->op = P::kOp;
  packet->announced = false;
  packet->n_waits = static_cast<uint16_t>(n);
  packet->signal = signal;
  WaitFor* entry = packet->waits();
  for (uint32_t i = 0; i < n; ++i) entry[i] = ring_ ? waits[i]->wait_from_now() : waits[i]->wait_when_executed();
  fill(*packet);  // it may change the target of a wait
  hold_all_of(*packet);
  if (!ring_) {
    program_->added_held(*packet, cost);
    return ZE_RESULT_SUCCESS;
  }
  const uint64_t before = ring_->before();
  // Before the packet can run: the event may be destroyed as soon as it is signalled.
  if (signal) signal->track(*ring_, before + 1);
  note_submission(*ring_, packet, before);
  const uint64_t position = ring_->publish_held(*packet);
  return submit(before, position, cost <= cheap_limit());
}

}  // namespace anyzero
