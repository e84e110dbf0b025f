#include "command_list.h"

#include <mutex>

#include "../../abi/error.h"
#include "../memory/allocation.h"
#include "../modules/kernel.h"
#include "command_list_append.h"

namespace anyzero {

CommandList::CommandList(Context& context, Device& device, uint32_t ordinal, ze_command_list_flags_t flags, bool is_mutable)
    : context_(&context), device_(device), ordinal_(ordinal), flags_(flags), mutable_(is_mutable), program_(new_program()) {
  note_allowed(allocation_changes.load(std::memory_order_relaxed));
}

CommandList::CommandList(Context& context, Device& device, const QueueChoice& choice)
    : context_(&context), device_(device), ordinal_(choice.ordinal), choice_(choice), ring_(choice.make_ring(context, device)) {
  device_.queues.fetch_add(1, std::memory_order_relaxed);
}

CommandList::~CommandList() {
  if (program_) program_->release();
  if (!ring_) return;
  ring_->release();
  device_.queues.fetch_sub(1, std::memory_order_relaxed);
}

ze_result_t CommandList::create(Context& context, Device& device, const ze_command_list_desc_t* desc,
                                ze_command_list_handle_t* handle) {
  if (ze_result_t r = context.require(device)) return r;
  if (desc->commandQueueGroupOrdinal >= device.groups().size())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "queue group ordinal %u: the device has %zu groups",
                desc->commandQueueGroupOrdinal, device.groups().size());
  bool is_mutable = find_next(desc->pNext, ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC) != nullptr;
  *handle = handle_of<ze_command_list_handle_t>(make(context, device, desc->commandQueueGroupOrdinal, desc->flags, is_mutable));
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::createImmediate(Context& context, Device& device, const ze_command_queue_desc_t* desc,
                                         ze_command_list_handle_t* handle) {
  QueueChoice choice;
  if (ze_result_t r = QueueChoice::check(context, device, desc, &choice)) return r;
  *handle = handle_of<ze_command_list_handle_t>(make(context, device, choice));
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::createCloneExp(ze_command_list_handle_t* clone) {
  if (immediate()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "an immediate command list cannot be cloned");
  if (!(flags_ & ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "create the list with ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE to clone it");
  Exclusive turn(*this, solitude());
  if (!closed_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "close the command list before cloning it");
  if (mutable_) return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "a mutable command list cannot be cloned");
  // A sealed program never changes, so source and clone can share it; resetting either gives that one a new program.
  CommandList* copy = make(*context_, device_, ordinal_, flags_, false);
  copy->program_->release();
  copy->program_ = program_;
  program_->retain();
  copy->closed_ = true;
  *clone = handle_of<ze_command_list_handle_t>(copy);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::destroy() {
  if (capture_.load(std::memory_order_acquire)) {
    Ref<Graph> unknown;
    {
      std::lock_guard lock(Capture::mutex());
      if (Capture* capture = capture_.load(std::memory_order_relaxed)) unknown = capture->leave(*this);
    }
    if (unknown) unknown->retire();
  }
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::close() {
  Exclusive turn(*this, solitude());
  if (immediate() || closed_) return ZE_RESULT_SUCCESS;
  closed_ = true;
  // Commands that may be changed later stay in order.
  constexpr uint32_t kOrder = ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING | ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY;
  if ((flags_ & kOrder) == ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING && !mutable_) program_->relax_order();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::reset() {
  if (immediate()) return ZE_RESULT_SUCCESS;
  Exclusive turn(*this, solitude());
  if (program_->shared()) {
    // A queue still runs the program, or a clone shares it: the list gets a new one.
    Program* fresh = new_program();
    program_->release();
    program_ = fresh;
  } else {
    program_->clear();
  }
  choices_.clear();
  closed_ = false;
  // Check mode looks at the memory of each command that is appended from now on.
  note_allowed(allocation_changes.load(std::memory_order_relaxed));
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::take_program(const Device& device, bool copy_only, Program** program) {
  // Another thread may have destroyed the list since its handle was checked.
  Using<CommandList, UseRecord::kPlaces - 1> used(static_cast<Header*>(this));
  if (!used)
    return fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "the command list %p was destroyed meanwhile", static_cast<void*>(this));
  Exclusive turn(*this, solitude());
  if (ze_result_t r = check_list(device, copy_only, *this)) return r;
  program_->retain();
  *program = program_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::hostSynchronize(uint64_t timeout) {
  if (!immediate()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "only an immediate command list can be synchronized");
  if (capture_.load(std::memory_order_relaxed)) [[unlikely]]
    return fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                "the command list is capturing, so its commands do not run; end the capture first");
  return ring_->wait(ring_->submitted(), timeout);
}

ze_result_t CommandList::getDeviceHandle(ze_device_handle_t* device) {
  *device = handle_of<ze_device_handle_t>(&device_);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::getContextHandle(ze_context_handle_t* context) {
  *context = handle_of<ze_context_handle_t>(context_.get());
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::getOrdinal(uint32_t* ordinal) {
  *ordinal = ordinal_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::isImmediate(ze_bool_t* value) {
  *value = immediate();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::getFlags(ze_command_list_flags_t* flags) {
  *flags = flags_;
  return ZE_RESULT_SUCCESS;
}

namespace {
ze_result_t not_immediate() {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "this is a regular command list; only immediate ones have queue properties");
}
}  // namespace

ze_result_t CommandList::immediateGetIndex(uint32_t* index) {
  if (!immediate()) return not_immediate();
  *index = choice_.index;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::immediateGetFlags(ze_command_queue_flags_t* flags) {
  if (!immediate()) return not_immediate();
  *flags = choice_.flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::immediateGetMode(ze_command_queue_mode_t* mode) {
  if (!immediate()) return not_immediate();
  *mode = choice_.mode;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::immediateGetPriority(ze_command_queue_priority_t* priority) {
  if (!immediate()) return not_immediate();
  *priority = choice_.priority;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::refuse_closed() const {
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is closed; reset it before appending");
}

// Hardware drivers write the command after the end of the list, where it never runs: programs that append to a closed list by
// mistake, and go on, rely on the return value.
ze_result_t CommandList::ignore_closed() const {
  refuse_closed();  // for the error text
  return ZE_RESULT_SUCCESS;
}

// After an immediate packet was published: runs it here if that is cheaper than a hand-over, and waits for it if the list is
// synchronous.
ze_result_t CommandList::submit(uint64_t before, uint64_t position, bool cheap) {
  const bool synchronous = choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  ring_->start(cheap || synchronous, before, position);
  if (synchronous) return ring_->wait(position, kForever);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::immediateAppendCommandListsExp(uint32_t n_lists, CommandList* const* lists, Event* signal, uint32_t n,
                                                        Event* const* waits) {
  if (!immediate()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "command lists can only be appended to an immediate list");
  if (captures_in_progress.load(std::memory_order_relaxed)) [[unlikely]] {
    std::lock_guard lock(Capture::mutex());
    Capture* capture = nullptr;
    if (ze_result_t r = Capture::find(*this, signal, n, waits, &capture)) return r;
    if (capture) return capture->record_lists(*this, n_lists, lists, signal, n, waits);
  }
  uint64_t position = 0;
  if (ze_result_t r = execute_on(*ring_, copy_only(), n_lists, lists, nullptr, signal, n, waits, &position)) return r;
  if (choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS) return ring_->wait(position, kForever);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::immediateAppendCommandListsWithParameters(uint32_t n_lists, CommandList* const* lists, const void* next,
                                                                   Event* signal, uint32_t n, Event* const* waits) {
  if (next) return refuse_parameters();
  return immediateAppendCommandListsExp(n_lists, lists, signal, n, waits);
}

}  // namespace anyzero
