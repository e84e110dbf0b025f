// Commands that can be changed after the list was closed.
#include <sched.h>

#include "../exec/clock.h"
#include "../planner.h"
#include "command_list_append.h"

namespace anyzero {

ze_result_t CommandList::isMutableExp(ze_bool_t* value) {
  *value = mutable_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::getNextCommandIdExp(const ze_mutable_command_id_exp_desc_t* desc, uint64_t* id) {
  if (!mutable_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list was not created as a mutable one");
  if (closed_) return refuse_closed();
  // No flags means everything that can change.
  *id = program_->name_next(desc->flags ? desc->flags : UINT32_MAX);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::find_mutable(uint64_t id, uint32_t change, Packet** packet) {
  if (!mutable_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list was not created as a mutable one");
  const Program::Named* named = program_->named(id);
  if (!named)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no command of this list has the identifier %zu", static_cast<size_t>(id));
  if (!(named->may_change & change))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "command %zu was not announced as changeable in this", static_cast<size_t>(id));
  // The program waited for the work; the queue's last step behind it may take a moment more.
  constexpr uint64_t kGrace = 10'000'000;
  GilPause pause;
  for (uint64_t begin = now_ns(); program_->shared();) {
    if (now_ns() - begin > kGrace)
      return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the command list is still running; synchronize before changing it");
    sched_yield();
  }
  *packet = named->packet;
  closed_ = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::updateMutableCommandSignalEventExp(uint64_t id, Event* signal) {
  Packet* packet = nullptr;
  if (ze_result_t r = find_mutable(id, ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT, &packet)) return r;
  if (signal) signal->retain();
  if (packet->signal) packet->signal->release();
  packet->signal = signal;
  program_->events_changed();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::updateMutableCommandWaitEventsExp(uint64_t id, uint32_t n, Event* const* waits) {
  Packet* packet = nullptr;
  if (ze_result_t r = find_mutable(id, ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS, &packet)) return r;
  if (waits && n != packet->n_waits)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%u wait events given; the command was appended with %u", n, packet->n_waits);
  WaitFor* entry = packet->waits();
  for (uint32_t i = 0; i < packet->n_waits; ++i) {
    const WaitFor before = entry[i];
    entry[i] = waits && waits[i] ? waits[i]->wait_when_executed() : WaitFor{};
    let_go(before);
  }
  program_->events_changed();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::updateMutableCommandsExp(const ze_mutable_commands_exp_desc_t* desc) {
  if (!mutable_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list was not created as a mutable one");
  // Every descriptor of this chain speaks of kernels or graphs, and a list holds none of them yet.
  if (desc->pNext) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the descriptor does not fit any command of this list");
  closed_ = false;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
