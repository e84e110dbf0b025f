#include "processor.h"

#include <cstdio>
#include <cstring>
#include <mutex>

#include "../objects/devices/context.h"
#include "../objects/devices/device.h"
#include "../objects/images/image.h"
#include "../objects/memory/allocation.h"
#include "../objects/memory/memory_advice.h"
#include "../objects/memory/residency.h"
#include "../objects/sync/event.h"
#include "../objects/sync/external_semaphore.h"
#include "../objects/sync/fence.h"
#include "../system/clock.h"
#include "../system/settings.h"
#include "../system/watched.h"
#include "../trace/recording.h"
#include "code.h"
#include "descriptor_waits.h"
#include "dispatch.h"
#include "engine.h"
#include "explain.h"
#include "program.h"

namespace anyzero {

namespace {

// Reading the clock costs as much as a small command, so it is read only after this many bytes of work.
constexpr uint64_t kUnlooked = 4096;

// The command will not run: fails the signals that others wait for. Of programs, the commands from `program`, `done` on.
void forsake(Packet& packet, uint64_t program = 0, uint64_t done = 0) {
  if (packet.signal) packet.signal->forsake();
  if (packet.op == Op::SignalFence) static_cast<SignalFencePacket&>(packet).fence->signal().fail();
  if (packet.op != Op::Execute) return;
  auto& execute = static_cast<ExecutePacket&>(packet);
  for (; program < execute.count; ++program, done = 0) {
    Cursor at{execute.programs()[program]->stream().first()};
    for (uint64_t i = 0; i < execute.programs()[program]->count(); ++i) {
      Packet& inner = at.packet();
      if (i >= done) forsake(inner);
      at.advance(inner);
    }
  }
}

uint32_t settled_waits(const Packet& packet) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < packet.n_waits; ++i) count += settled_at_execution(packet.waits()[i]);
  return count;
}

void query_timestamps(const QueryTimestampsPacket& packet) {
  for (uint32_t i = 0; i < packet.count; ++i) {
    size_t offset = packet.has_offsets ? packet.offsets()[i] : i * sizeof(ze_kernel_timestamp_result_t);
    ze_kernel_timestamp_result_t result = packet.events()[i]->timestamps();
    std::memcpy(packet.to + offset, &result, sizeof result);
  }
}

}  // namespace

Progress Walk::run() {
  for (;;) {
    Progress progress = Progress::Idle;
    ring.running_ = nullptr;
    Fault fault = trapped([&] { progress = walk(); });
    if (fault.signal == 0) return progress;
    if (ring.busy_.at_work()) ring.busy_.end(now_ns());
    report_fault(fault, ring.running_);
    ring.lose(ring.running_, explain(fault, ring.running_).c_str());
  }
}

bool Walk::should_yield() {
  if (!on_engine_thread) {
    if (deadline == kForever || (worked += 64) < kUnlooked) return false;
    worked = 0;
    return now_ns() >= deadline;
  }
  constexpr uint32_t kFairShare = 256;  // packets in a row while a ring of equal priority waits
  return ring.engine_.outranked(ring.priority()) || (++walked % kFairShare == 0 && ring.engine_.has_ready(ring.priority()));
}

Packet& Walk::front() {
  Cursor& head = ring.head_;
  if (!head.chunk) head.chunk = ring.stream_.first();
  while (head.offset == head.chunk->used.load(std::memory_order_acquire)) {
    std::lock_guard lock(ring.write_lock_);
    Chunk* spent = head.chunk;
    head = {spent->next.load(std::memory_order_acquire), 0};
    ring.oldest_ = head.chunk;
    ring.oldest_position_ = ring.done_;
    ring.stream_.recycle(spent);
  }
  return head.packet();
}

void Walk::pop(Packet& packet) {
  ring.head_.offset += packet.size;
  ring.done_ += packet.commands();
  if (holds_more(packet.op)) {
    std::lock_guard lock(ring.write_lock_);
    ring.given_up_ = ring.done_;
  }
  let_go(packet);
  if (ring.lost_.load(std::memory_order_relaxed)) return;
  // Sleepers are woken before the next packet, or by the caller when the walk has ended: one barrier less for each walk.
  ring.completed_.put(ring.done_);
  untold = true;
}

Progress Walk::walk() {
  while (ring.done_ < ring.runnable()) {
    if (ring.done_ >= until) return Progress::Yield;
    Packet& packet = front();
    if (untold && packet.op != Op::SignalFence) {
      full_barrier();
      ring.completed_.wake_sleepers();
      untold = false;
    }
    if (ring.lost_.load(std::memory_order_relaxed)) {
      if (ring.inside_) {
        forsake(packet, ring.inside_ - 1, ring.inner_done_);
      } else {
        forsake(packet);
      }
      ring.inside_ = 0;
      pop(packet);
      continue;
    }
    if (packet.op == Op::Execute) {
      Progress progress = execute(static_cast<ExecutePacket&>(packet));
      if (progress != Progress::Idle) return progress;
      if (ring.lost_.load(std::memory_order_relaxed)) continue;
    } else {
      Step result = step(packet, nullptr, ring.done_ + 1);
      if (result == Step::Blocked) return Progress::Blocked;
      if (result == Step::NeedsEngine) return Progress::NeedsEngine;
      if (ring.lost_.load(std::memory_order_relaxed)) continue;
    }
    pop(packet);
    if (should_yield()) return Progress::Yield;
  }
  return Progress::Idle;
}

// Runs the programs of an Execute packet from where it last stopped.
Progress Walk::execute(ExecutePacket& packet) {
  if (ring.inside_ == 0) {
    Step result = ready(packet, nullptr);
    if (result == Step::Blocked) return Progress::Blocked;
    if (ring.lost_.load(std::memory_order_relaxed)) return Progress::Idle;
    ring.inside_ = 1;
    ring.targets_ = packet.targets();
    ring.inner_ = {packet.programs()[0]->stream().first(), 0};
    ring.inner_done_ = ring.inner_before_ = 0;
    ring.execute_start_ = packet.signal && packet.signal->timed() ? now_ns() : 0;
  }
  while (!ring.lost_.load(std::memory_order_relaxed)) {
    Program& program = *packet.programs()[ring.inside_ - 1];
    if (ring.inner_done_ == program.count()) {
      if (ring.inside_ == packet.count) break;
      ring.inner_before_ += ring.inner_done_;
      ring.inner_ = {packet.programs()[ring.inside_++]->stream().first(), 0};
      ring.inner_done_ = 0;
      continue;
    }
    if (program.overlaps() && overlap(program)) [[unlikely]] {
      if (ring.done_ + ring.inner_before_ + ring.inner_done_ >= until || should_yield()) return Progress::Yield;
      continue;
    }
    const Packet& inner = ring.inner_.packet();
    const bool last = inner.signal && !packet.signal && ring.inside_ == packet.count && ring.inner_done_ + 1 == program.count();
    Step result = step(inner, ring.targets_, last ? ring.done_ + packet.commands + 1 : 0);
    if (result == Step::Blocked) return Progress::Blocked;
    if (result == Step::NeedsEngine) return Progress::NeedsEngine;
    if (ring.lost_.load(std::memory_order_relaxed)) break;
    if (inner.n_waits) ring.targets_ += settled_waits(inner);
    ring.inner_.advance(inner);
    const uint64_t done = ring.done_ + ring.inner_before_ + ++ring.inner_done_;
    if (inner.announced) ring.completed_.set(done);
    if (done >= until || should_yield()) return Progress::Yield;
  }
  if (ring.lost_.load(std::memory_order_relaxed)) return Progress::Idle;  // the outer walk abandons the rest
  ring.inside_ = 0;
  if (packet.signal) {
    ring.ended_.store(ring.done_ + packet.commands + 1, std::memory_order_relaxed);
    packet.signal->complete(ring.execute_start_);
  }
  return Progress::Idle;
}

// Runs the next commands at the same time, if the list permits it and it pays.
bool Walk::overlap(const Program& program) {
  const Overlap* next = program.overlap_at(ring.inner_done_);
  if (!next || settings.threads == 1 || !ring.device_.pages_on_demand()) return false;
  uint64_t cost = next->cost;
  bool brief = true;
  for (const OverlapShare& share : next->shares) {
    Cursor at = share.begin;
    const Packet& packet = at.packet();
    if (packet.op != Op::Launch) continue;
    if (!on_engine_thread && needs_engine(packet)) return false;
    const uint64_t launch = cost_of(static_cast<const LaunchPacket&>(packet));
    cost = launch > UINT64_MAX - cost ? UINT64_MAX : cost + launch;
    brief = brief && launch <= kBriefNs;
  }
  if (cost < kWorthSharing / 1000) return false;
  worked += kUnlooked;
  const uint64_t start = is_recording() ? ticks() : 0;
  ring.busy_.begin(now_ns());
  run_overlap(*next, ring.context_, ring.device_, brief, &ring.running_);
  ring.busy_.end(now_ns());
  for (uint64_t i = 0; i < next->count; ++i, ++ring.inner_done_) {
    const Packet& packet = ring.inner_.packet();
    if (start) [[unlikely]]
      record(packet, start);
    ring.inner_.advance(packet);
  }
  return true;
}

Walk::Step Walk::ready(const Packet& packet, const WaitFor* targets) {
  const WaitFor* waits = packet.waits();
  for (uint32_t i = 0; i < packet.n_waits; ++i) {
    const WaitFor* wait = &waits[i];
    if (targets && settled_at_execution(*wait)) wait = targets++;
    const Awaited what = awaited(*wait);
    if (!what.signal) continue;
    switch (what.signal->state(what.target)) {
      case Signal::State::Reached:
        break;
      case Signal::State::Pending:
        ring.blocked_on_ = *wait;
        if (is_recording() && !ring.blocked_since_) [[unlikely]]
          ring.blocked_since_ = ticks();
        return Step::Blocked;
      case Signal::State::Failed:
        ring.lose(&packet, "it waits for an event whose command was lost");
        return Step::Done;
    }
  }
  return Step::Done;
}

Walk::Step Walk::step(const Packet& packet, const WaitFor* targets, uint64_t ends) {
  if (packet.n_waits) {
    Step result = ready(packet, targets);
    if (result != Step::Done || ring.lost_.load(std::memory_order_relaxed)) return result;
  }
  if (!on_engine_thread && needs_engine(packet)) return Step::NeedsEngine;
  Event* signal = packet.signal;
  const bool recorded = is_recording();
  uint64_t start = signal && signal->timed() ? now_ns() : 0;
  // A command begins where the one before it has ended: reading the counter takes longer than going on.
  const uint64_t tick = !recorded ? 0 : recorded_until ? recorded_until : ticks();
  ring.running_ = &packet;
  if (!ring.device_.pages_on_demand() && !resident(packet)) return Step::Done;
  act(packet);
  if (packet.op == Op::Infer && ring.lost_.load(std::memory_order_relaxed)) return Step::Done;
  if (recorded) [[unlikely]]
    record(packet, tick);
  if (signal) {
    if (ends) ring.ended_.store(ends, std::memory_order_relaxed);
    signal->complete(start);
  }
  return Step::Done;
}

bool Walk::needs_engine(const Packet& packet) const {
  // A kernel may never end; a helper with a deadline begins only kernels that are known to be short.
  constexpr uint64_t kBearable = 2'000'000;
  switch (packet.op) {
    case Op::HostFunction:
      return true;
    case Op::Launch:
      return deadline != kForever && cost_of(static_cast<const LaunchPacket&>(packet)) > kBearable;
    case Op::Infer:  // a helper would overtake inferences of a higher priority
      return deadline != kForever || ring.engine_.outranked(ring.priority());
    default:
      return false;
  }
}

template <class Work>
void Walk::move(uint64_t bytes, Work&& work) {
  worked += bytes;
  constexpr uint64_t kTimed = 128 * 1024;  // below that, reading the clock twice costs too much
  if (bytes < kTimed) {
    ring.busy_.add(16 + bytes / 16);  // an estimate of its time
    return work();
  }
  ring.busy_.begin(now_ns());
  work();
  ring.busy_.end(now_ns());
}

void Walk::act(const Packet& packet) {
  Backend& backend = ring.device_.backend();
  switch (packet.op) {
    case Op::Barrier:
      break;
    case Op::Copy: {
      auto& p = static_cast<const CopyPacket&>(packet);
      move(p.bytes, [&] { backend.copy(p.to, p.from, p.bytes, caching_of(p.to, p.bytes)); });
      break;
    }
    case Op::Fill: {
      auto& p = static_cast<const FillPacket&>(packet);
      move(p.bytes, [&] { backend.fill(p.to, p.pattern(), p.pattern_size, p.bytes, caching_of(p.to, p.bytes)); });
      break;
    }
    case Op::CopyBoxes: {
      auto& p = static_cast<const CopyBoxesPacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i) {
        const BoxCopy& box = p.boxes()[i];
        move(box.row * box.rows * box.slices, [&] { backend.copy_box(box.to, box.from, box.row, box.rows, box.slices); });
      }
      break;
    }
    case Op::Launch:
      worked += kUnlooked;
      run_launches(static_cast<const LaunchPacket&>(packet), ring.context_, ring.device_, ring.busy_);
      break;
    case Op::Reset:
      static_cast<const ResetPacket&>(packet).event->signal().reset();
      break;
    case Op::Timestamp: {
      uint64_t time = now_ns();
      std::memcpy(static_cast<const TimestampPacket&>(packet).to, &time, sizeof time);
      break;
    }
    case Op::QueryTimestamps:
      query_timestamps(static_cast<const QueryTimestampsPacket&>(packet));
      break;
    case Op::Prefetch: {
      auto& p = static_cast<const PrefetchPacket&>(packet);
      prefetch_memory(ring.device_, p.at, p.bytes);
      break;
    }
    case Op::Advise:
      advise_memory(static_cast<const AdvisePacket&>(packet));
      break;
    case Op::HostFunction: {
      TrapPause users_code;
      auto& p = static_cast<const HostFunctionPacket&>(packet);
      host_function_queue = ring.number();
      p.function(p.argument);
      host_function_queue = 0;
      break;
    }
    case Op::Infer:
      infer(static_cast<const InferPacket&>(packet));
      break;
    case Op::SignalFence:
      ring.ended_.store(ring.done_ + 1, std::memory_order_relaxed);
      static_cast<const SignalFencePacket&>(packet).fence->signal().set(1);
      break;
    case Op::SignalSemaphores: {
      auto& p = static_cast<const SemaphorePacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i) p.uses()[i].semaphore->signal(p.uses()[i].value);
      break;
    }
    case Op::AwaitSemaphores: {
      auto& p = static_cast<const SemaphorePacket&>(packet);
      for (uint64_t i = 0; i < p.count; ++i) signal_when_readable(p.uses()[i].semaphore->fd(), *p.uses()[i].arrival);
      break;
    }
    case Op::Execute:  // walk() handles it
      break;
  }
}

void Walk::infer(const InferPacket& packet) {
  worked += kUnlooked;
  char reason[512];
  ring.busy_.begin(now_ns());
  const bool good = packet.inference->run(reason, sizeof reason);
  ring.busy_.end(now_ns());
  if (!good) ring.lose(&packet, reason);
}

// A device without on-demand paging may only access memory that is resident on it.
bool Walk::resident(const Packet& packet) {
  Device& device = ring.device_;
  const void* missing = nullptr;
  auto need = [&](const void* at, size_t bytes) {
    if (!missing && !residency_ok(device, at, bytes)) missing = at;
  };
  if (packet.op == Op::Copy) {
    auto& p = static_cast<const CopyPacket&>(packet);
    need(p.to, p.bytes);
    need(p.from, p.bytes);
  } else if (packet.op == Op::Fill) {
    auto& p = static_cast<const FillPacket&>(packet);
    need(p.to, p.bytes);
  } else if (packet.op == Op::Timestamp) {
    need(static_cast<const TimestampPacket&>(packet).to, sizeof(uint64_t));
  } else if (packet.op == Op::QueryTimestamps) {
    need(static_cast<const QueryTimestampsPacket&>(packet).to, 1);
  } else if (packet.op == Op::Launch) {
    auto& p = static_cast<const LaunchPacket&>(packet);
    if (p.enabled_at) need(p.enabled_at, sizeof *p.enabled_at);
    for_each_launch(p, [&](const Launch& launch) {
      if (launch.count_at) need(launch.count_at, sizeof *launch.count_at);
      if (!missing) missing = residency_missing({ring.context_, device, launch});
      if (launch.flags & Launch::kAllResident) return;
      for (uint32_t i = 0; i < launch.n_images; ++i)
        if (const Image* image = launch.images()[i]; image && !image->resident(device)) missing = image;
    });
  } else if (packet.op == Op::CopyBoxes) {
    auto& p = static_cast<const CopyBoxesPacket&>(packet);
    for (uint64_t i = 0; i < p.count; ++i) {
      need(p.boxes()[i].to.base, 1);
      need(p.boxes()[i].from.base, 1);
    }
    for (const Image* image : p.images)
      if (image && !image->resident(device)) missing = image;
  }
  if (!missing) return true;
  char where[256] = "an image", reason[512];
  if (!checked<Image>(missing)) describe_address(reinterpret_cast<uintptr_t>(missing), where, sizeof where);
  std::snprintf(reason, sizeof reason,
                "%p is not resident and this device has no on-demand paging (%s); make it resident before executing", missing,
                where);
  ring.lose(&packet, reason);
  return false;
}

}  // namespace anyzero
