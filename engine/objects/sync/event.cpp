#include "event.h"

#include <cstring>
#include <mutex>
#include <string>

#include "../../abi/error.h"
#include "../../exec/output.h"
#include "../../exec/ring.h"
#include "../../exec/wait.h"
#include "../../system/clock.h"
#include "../devices/device.h"
#include "../ipc/ipc.h"

namespace anyzero {

namespace {

constexpr uint32_t kTimed = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP;

// The payload of an exported counting event: other processes wait for the value that was promised at the export.
struct CounterPayload {
  uint64_t promised;
  uint32_t counter_flags;
};
static_assert(offsetof(CounterPayload, counter_flags) + sizeof(uint32_t) <= kIpcCarriedPayload);

uint32_t pool_flags_for(ze_event_counter_based_flags_t flags) {
  uint32_t pool = 0;
  if (flags & ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE) pool |= ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  if (flags & ZE_EVENT_COUNTER_BASED_FLAG_IPC) pool |= ZE_EVENT_POOL_FLAG_IPC;
  if (flags & ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP) pool |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  if (flags & ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP) pool |= ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP;
  return pool;
}

}  // namespace

Event::Event(Ref<EventPool> pool, uint32_t index, uint32_t signal_scope, uint32_t wait_scope)
    : pool_(std::move(pool)),
      signal_(pool_->take(index)),
      index_(index),
      signal_scope_(signal_scope),
      wait_scope_(wait_scope),
      timed_((pool_->flags() & kTimed) != 0),
      counts_(pool_->counts()) {
  if (!signal_) signal_ = &own_signal_;
}

Event::~Event() {
  if (counts_ && point_.ring) point_.ring->release();
}

// The slot in the pool is free once the handle is destroyed: packets that still hold the event have signalled it, or nothing waits
// for them.
void Event::die() {
  Ref<EventPool> pool = pool_;
  const uint32_t index = index_;
  if (retire()) pool->give_back(index);
}

void Event::move_to(Ring& ring, uint64_t position) {
  if (shared_) promised_.fetch_add(1, std::memory_order_acq_rel);
  ring.retain();
  Ring* before;
  {
    std::lock_guard lock(point_lock_);
    before = std::exchange(point_, {&ring, position}).ring;
  }
  if (before) before->release();
}

Point Event::hint() {
  std::atomic_ref<Ring*> where(point_.ring);
  Ring* ring = where.load(std::memory_order_acquire);
  const uint64_t position = std::atomic_ref(point_.position).load(std::memory_order_acquire);
  return {where.load(std::memory_order_relaxed) == ring ? ring : nullptr, position};
}

Point Event::point() {
  Point now;
  if (counts_) {
    std::lock_guard lock(point_lock_);
    now = point_;
    if (now.ring) now.ring->retain();  // the event holds it
    return now;
  }
  now = hint();
  if (now.ring && !now.ring->retain_if_alive()) now.ring = nullptr;
  return now;
}

WaitFor Event::wait_from_now() {
  if (counts_ && !imported_) return {nullptr, point()};
  retain();
  return {this, {nullptr, promised_.load(std::memory_order_acquire)}};
}

ze_result_t Event::create(EventPool& pool, const ze_event_desc_t* desc, ze_event_handle_t* handle) {
  if (desc->index >= pool.count())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "event index %u: the pool holds %u", desc->index, pool.count());
  *handle = handle_of<ze_event_handle_t>(make(Ref<EventPool>(&pool), desc->index, desc->signal, desc->wait));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::counterBasedCreate(Context& context, Device& device, const ze_event_counter_based_desc_t* desc,
                                      ze_event_handle_t* handle) {
  if (ze_result_t r = context.require(device)) return r;
  constexpr uint32_t kBoth = ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP | ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP;
  if ((desc->flags & kBoth) == kBoth)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "timestamps are either in device time or in host time, not both");
  if (find_next(desc->pNext, ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC) ||
      find_next(desc->pNext, ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE_DESC))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "counters in the program's own memory are not supported");
  Ref<EventPool> pool = Ref<EventPool>::adopt(EventPool::make(context, pool_flags_for(desc->flags), 1, true));
  Event* event = make(std::move(pool), 0, desc->signal, desc->wait);
  event->counter_flags_ = desc->flags;
  event->standalone_ = true;
  event->shared_ = desc->flags & ZE_EVENT_COUNTER_BASED_FLAG_IPC;
  *handle = handle_of<ze_event_handle_t>(event);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::destroy() {
  die();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::refuse_counting(const char* what) const {
  return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "a counter-based event cannot be %s from the host", what);
}

ze_result_t Event::hostSignal() {
  if (counts_) return refuse_counting("signalled");
  uint64_t time = timed_ ? now_ns() : 0;
  complete(time);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::hostReset() {
  // Programs reset reused events of any kind; a counting event is re-armed by its next signal anyway.
  if (!counts_) signal_->reset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::tell_failed() const {
  std::string report = pool_->context().loss_report();
  return fail(ZE_RESULT_ERROR_DEVICE_LOST, "the command that should have signalled this event is lost with its queue%s%s",
              report.empty() ? "" : "; ", report.c_str());
}

ze_result_t Event::hostSynchronize(uint64_t timeout) {
  if (capture()) [[unlikely]]
    return fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                "the command that signals this event is being captured into a graph and does not run; end the capture first");
  Signal* signal = signal_;
  uint64_t target = 1;
  Point source{};
  if (counts_ && imported_) {
    target = promised_.load(std::memory_order_acquire);
  } else if (counts_) {
    source = point();
    if (!source.ring) return ZE_RESULT_SUCCESS;  // nothing has been asked to signal it
    signal = &source.ring->completed();
    target = source.position;
  }
  Signal::State state = signal->state(target);
  if (state == Signal::State::Pending && timeout != 0) {
    if (!source.ring) source = point();
    state = host_wait(*signal, target, timeout, {"event", this}, source.ring, source.position);
  } else if (state != Signal::State::Pending) {
    show_output();
  }
  ze_result_t result = state == Signal::State::Reached  ? ZE_RESULT_SUCCESS
                       : state == Signal::State::Failed ? counts_ && source.ring ? source.ring->tell_lost() : tell_failed()
                                                        : ZE_RESULT_NOT_READY;
  if (source.ring) source.ring->release();
  return result;
}

ze_result_t Event::queryStatus() { return hostSynchronize(0); }

void Event::stamp(uint64_t start) {
  signal_->start.store(start, std::memory_order_relaxed);
  signal_->end.store(now_ns(), std::memory_order_relaxed);
}

ze_kernel_timestamp_result_t Event::timestamps() const {
  ze_kernel_timestamp_data_t data{signal_->start.load(std::memory_order_relaxed), signal_->end.load(std::memory_order_relaxed)};
  return {data, data};
}

ze_result_t Event::queryKernelTimestamp(ze_kernel_timestamp_result_t* result) {
  if (!timed_)
    return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                "this event carries no timestamps; create its pool with ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP");
  if (ze_result_t r = queryStatus()) return r;
  *result = timestamps();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::queryTimestampsExp(Device&, uint32_t* count, ze_kernel_timestamp_result_t* results) {
  // One command, one pair of timestamps, whatever the number of tiles.
  if (!results || *count == 0) {
    *count = 1;
    return ZE_RESULT_SUCCESS;
  }
  *count = 1;
  return queryKernelTimestamp(results);
}

ze_result_t Event::queryKernelTimestampsExt(Device& device, uint32_t* count,
                                            ze_event_query_kernel_timestamps_results_ext_properties_t* results) {
  if (!results || *count == 0) return queryTimestampsExp(device, count, nullptr);
  ze_kernel_timestamp_result_t result;
  *count = 1;
  if (ze_result_t r = queryKernelTimestamp(&result)) return r;
  if (results->pKernelTimestampsBuffer) results->pKernelTimestampsBuffer[0] = result;
  if (!results->pSynchronizedTimestampsBuffer) return ZE_RESULT_SUCCESS;
  if (!(pool_->flags() & ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "synchronized timestamps need a pool created with ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP");
  // Device time and host time are one clock.
  ze_synchronized_timestamp_data_ext_t data{result.global.kernelStart, result.global.kernelEnd};
  results->pSynchronizedTimestampsBuffer[0] = {data, data};
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::getEventPool(ze_event_pool_handle_t* handle) {
  if (standalone_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "this event was created without a pool");
  *handle = handle_of<ze_event_pool_handle_t>(pool_.get());
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::getSignalScope(ze_event_scope_flags_t* scope) {
  *scope = signal_scope_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::getWaitScope(ze_event_scope_flags_t* scope) {
  *scope = wait_scope_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::getCounterBasedFlags(ze_event_counter_based_flags_t* flags) {
  *flags = counter_flags_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::counterBasedGetIpcHandle(ze_ipc_event_counter_based_handle_t* handle) {
  if (!counts_ || !(pool_->flags() & ZE_EVENT_POOL_FLAG_IPC) || imported_)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "only a counter-based event created here with the IPC flag can be shared");
  CounterPayload payload{promised_.load(std::memory_order_acquire), counter_flags_};
  size_t offset = index_ * sizeof(Signal);
  return ipc_export(IpcKind::CounterEvent, pool_->fd(), offset, sizeof(Signal), &payload, sizeof payload, handle->data);
}

ze_result_t Event::counterBasedOpenIpcHandle(Context& context, ze_ipc_event_counter_based_handle_t ipc, ze_event_handle_t* handle) {
  IpcImport import;
  if (ze_result_t r = ipc_open(IpcKind::CounterEvent, ipc.data, &import)) return r;
  CounterPayload payload;
  std::memcpy(&payload, import.payload, sizeof payload);
  uint32_t index = static_cast<uint32_t>(import.offset / sizeof(Signal));
  Ref<EventPool> pool =
      Ref<EventPool>::adopt(EventPool::make(context, pool_flags_for(payload.counter_flags), index + 1, true, import.fd));
  Event* event = make(std::move(pool), index, 0u, 0u);
  event->promised_.store(payload.promised, std::memory_order_release);
  event->counter_flags_ = payload.counter_flags;
  event->standalone_ = event->imported_ = true;
  *handle = handle_of<ze_event_handle_t>(event);
  return ZE_RESULT_SUCCESS;
}

Ref<Event> Event::counting_over(Context& context, int fd) {
  Ref<EventPool> pool = Ref<EventPool>::adopt(EventPool::make(context, 0u, 1u, true, fd));
  Ref<Event> event = Ref<Event>::adopt(make(std::move(pool), 0u, 0u, 0u));
  event->standalone_ = event->imported_ = true;
  return event;
}

ze_result_t Event::counterBasedCloseIpcHandle() {
  if (!imported_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "this event was created here, not opened; destroy it instead");
  die();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Event::counterBasedGetDeviceAddress(uint64_t* completion_value, uint64_t* device_address) {
  if (!counts_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "only a counter-based event has a counter");
  Point now = imported_ ? Point{} : point();
  *completion_value = now.ring ? now.position : promised_.load(std::memory_order_acquire);
  *device_address = reinterpret_cast<uint64_t>(now.ring ? &now.ring->completed().value : &signal_->value);
  if (now.ring) now.ring->release();  // the event holds it
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
