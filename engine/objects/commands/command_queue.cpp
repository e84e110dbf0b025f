#include "command_queue.h"

#include <algorithm>
#include <mutex>

#include "../../abi/error.h"
#include "../../abi/gen/ze_npu_ext.h"
#include "../../abi/properties.h"
#include "../../system/clock.h"
#include "../../system/long_steps.h"
#include "../devices/driver.h"
#include "../sync/fence.h"
#include "command_list.h"
#include "command_list_append.h"

namespace anyzero {

namespace {

constexpr size_t kMostJobs = 64;
constexpr uint32_t kBackground = kPriorities - 1;

// Extension structures of an NPU's queue descriptor; their numbers overlap with those of the specification.
bool keeps_order(const void* chain) {
  const auto* options =
      static_cast<const ze_command_queue_desc_npu_ext_2_t*>(find_next(chain, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC_NPU_EXT_2));
  return options && (options->options & ZE_NPU_COMMAND_QUEUE_OPTION_DEVICE_SYNC);
}

}  // namespace

ze_result_t check_list(const Device& device, bool copy_only, const CommandList& list) {
  if (list.immediate()) return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "an immediate command list executes by itself");
  if (!list.closed()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "close the command list before executing it");
  if (list.copy_only() != copy_only)
    return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "a %s command list cannot run on a %s queue",
                list.copy_only() ? "copy-only" : "compute", copy_only ? "copy-only" : "compute");
  if (!list.device().is_or_is_tile_of(device) && !device.is_or_is_tile_of(list.device()))
    return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                "the command list was made for another device, and a clone of it would be, too: record its commands into a list of "
                "this one");
  return ZE_RESULT_SUCCESS;
}

ze_result_t QueueChoice::check(Context& context, Device& device, const ze_command_queue_desc_t* desc, QueueChoice* choice) {
  if (ze_result_t r = context.require(device)) return r;
  const auto& groups = device.groups();
  if (desc->ordinal >= groups.size())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "queue group ordinal %u: the device has %zu groups", desc->ordinal,
                groups.size());
  size_t engines = groups[desc->ordinal].engines.size();
  if (desc->index >= engines)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "queue index %u: group %u has %zu queues", desc->index, desc->ordinal, engines);
  if (device.queues.load(std::memory_order_relaxed) >= device.most_queues())
    return fail(
        ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
        "the device has %zu logical hardware contexts (maxHardwareContexts), and as many command queues and immediate lists; "
        "destroy some of them",
        device.most_queues());
  const bool infers = device.driver().kind() == DriverKind::Npu && !groups[desc->ordinal].copy_only();
  *choice = {desc->ordinal, desc->index, desc->flags, desc->mode, desc->priority, infers && !keeps_order(desc->pNext)};
  return ZE_RESULT_SUCCESS;
}

uint32_t QueueChoice::rank() const {
  switch (priority) {
    case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH:
      return 0;
    case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW:
      return 2;
    default:
      return 1;
  }
}

Ring* QueueChoice::make_ring(Context& context, Device& device) const {
  return Ring::make(context, device, *device.groups()[ordinal].engines[index], rank());
}

CommandQueue::CommandQueue(Context& context, Device& device, const QueueChoice& choice)
    : context_(&context), device_(device), choice_(choice), rings_{choice.make_ring(context, device)} {
  device_.queues.fetch_add(1, std::memory_order_relaxed);
}

CommandQueue::~CommandQueue() {
  device_.queues.fetch_sub(1, std::memory_order_relaxed);
  for (Ring* ring : rings_) ring->release();
}

Ring& CommandQueue::choose_among_rings() {
  std::lock_guard lock(mutex_);
  auto pending = [](Ring* ring) { return ring->lost() ? UINT64_MAX : ring->submitted() - ring->completed().value.load(); };
  Ring* least = *std::min_element(rings_.begin(), rings_.end(), [&](Ring* a, Ring* b) { return pending(a) < pending(b); });
  if (pending(least) == 0 || rings_.size() == kMostJobs) return *least;
  rings_.push_back(choice_.make_ring(*context_, device_));
  if (background_) rings_.back()->set_priority(kBackground);
  return *rings_.back();
}

void CommandQueue::set_background(bool background) {
  std::lock_guard lock(mutex_);
  background_ = background;
  for (Ring* ring : rings_) ring->set_priority(background ? kBackground : choice_.rank());
}

ze_result_t CommandQueue::create(Context& context, Device& device, const ze_command_queue_desc_t* desc,
                                 ze_command_queue_handle_t* handle) {
  QueueChoice choice;
  if (ze_result_t r = QueueChoice::check(context, device, desc, &choice)) return r;
  *handle = handle_of<ze_command_queue_handle_t>(make(context, device, choice));
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueue::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

namespace {

// Programs with references, until their packet holds them.
class TakenPrograms {
 public:
  explicit TakenPrograms(uint32_t count) {
    if (count <= kFew) return;
    many_.resize(count);
    at_ = many_.data();
  }
  ~TakenPrograms() {
    for (uint32_t i = 0; i < taken_; ++i)
      if (at_[i]) at_[i]->release();
  }
  Program*& next() { return at_[taken_++]; }
  Program& operator[](uint32_t index) const { return *at_[index]; }
  // Their packet holds them from here on.
  void hand_over() { taken_ = 0; }

 private:
  static constexpr uint32_t kFew = 8;
  Program* few_[kFew] = {};
  std::vector<Program*> many_;
  Program** at_ = few_;
  uint32_t taken_ = 0;
};

}  // namespace

ze_result_t execute_on(Ring& ring, bool copy_only, uint32_t count, CommandList* const* lists, Fence* fence, Event* signal,
                       uint32_t n_waits, Event* const* waits, uint64_t* position) {
  if (ring.lost()) return ring.tell_lost();
  if (count == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "no command list to execute");
  if (n_waits > kMostWaits) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%u wait events: more than %u", n_waits, kMostWaits);
  uint64_t cost = 0;
  size_t targets = 0;
  TakenPrograms programs(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (ze_result_t r = lists[i]->take_program(ring.device(), copy_only, &programs.next())) return r;
    if (!ring.device().pages_on_demand())
      if (ze_result_t r = residency_check(ring.context(), ring.device(), programs[i])) return r;
    cost += std::min(programs[i].cost(), kNeverInline / (count + 1));
    targets += programs[i].settled_waits();
  }
  size_t size = sizeof(ExecutePacket) + count * sizeof(Program*) + (targets + n_waits) * sizeof(WaitFor);
  if (size > kLargestPacket) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "too many command lists at once");
  auto* packet = static_cast<ExecutePacket*>(ring.begin(size + (fence ? sizeof(SignalFencePacket) : 0)));
  const uint64_t before = ring.before();
  packet->size = static_cast<uint32_t>(size);
  packet->op = Op::Execute;
  packet->announced = false;
  packet->n_waits = static_cast<uint16_t>(n_waits);
  packet->signal = signal;
  packet->count = count;
  packet->n_targets = static_cast<uint32_t>(targets);
  packet->commands = 0;
  for (uint32_t i = 0; i < n_waits; ++i) packet->waits()[i] = waits[i]->wait_from_now();
  WaitFor* target = packet->targets();
  for (uint32_t i = 0; i < count; ++i) {
    Program& program = programs[i];
    packet->programs()[i] = &program;
    target = program.settle(ring, before + packet->commands, target);
    packet->commands += program.count();
  }
  const uint64_t commands = packet->commands + 1;
  if (signal) {
    signal->retain();
    signal->track(ring, before + commands);
  }
  programs.hand_over();
  note_submission(ring, packet, before, fence);
  if (fence) {
    auto* last = static_cast<SignalFencePacket*>(ring.begin_next(*packet));
    last->size = sizeof(SignalFencePacket);
    last->op = Op::SignalFence;
    last->announced = false;
    last->n_waits = 0;
    last->signal = nullptr;
    last->fence = fence;
    fence->comes_at(ring, before + commands + 1);
    fence->retain();
    *position = ring.publish_held(*last, commands + 1);
  } else {
    *position = ring.publish_held(*packet, commands);
  }
  ring.start(cost <= cheap_limit(), before, *position);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueue::executeCommandLists(uint32_t count, CommandList* const* lists, Fence* fence) {
  if (fence && &fence->queue() != this)
    return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "the fence belongs to another command queue");
  bool copy_only = device_.groups()[choice_.ordinal].copy_only();
  uint64_t position = 0;
  Ring& ring = choose_ring();
  if (ze_result_t r = execute_on(ring, copy_only, count, lists, fence, nullptr, 0, nullptr, &position)) return r;
  if (choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS) return ring.wait(position, kForever);
  return ZE_RESULT_SUCCESS;
}

std::vector<Ring*> CommandQueue::rings() {
  std::lock_guard lock(mutex_);
  return rings_;
}

ze_result_t CommandQueue::synchronize(uint64_t timeout) {
  if (!choice_.spread) return rings_.front()->wait(rings_.front()->submitted(), timeout);
  ++long_steps;
  std::vector<std::pair<Ring*, uint64_t>> until;
  {
    std::lock_guard lock(mutex_);
    for (Ring* ring : rings_) until.emplace_back(ring, ring->submitted());
  }
  const uint64_t begin = now_ns();
  for (const auto& [ring, position] : until) {
    const uint64_t spent = now_ns() - begin;
    if (ze_result_t r = ring->wait(position, timeout == kForever ? kForever : timeout - std::min(timeout, spent))) return r;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueue::getOrdinal(uint32_t* ordinal) {
  *ordinal = choice_.ordinal;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueue::getIndex(uint32_t* index) {
  *index = choice_.index;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueue::getFlags(ze_command_queue_flags_t* flags) {
  *flags = choice_.flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueue::getMode(ze_command_queue_mode_t* mode) {
  *mode = choice_.mode;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandQueue::getPriority(ze_command_queue_priority_t* priority) {
  *priority = choice_.priority;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
