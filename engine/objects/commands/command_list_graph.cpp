// Captures appended commands into a graph, and appends graphs.
#include <mutex>

#include "../graphs/executable_graph.h"
#include "command_list_append.h"

namespace anyzero {

namespace {

ze_result_t not_capturing() {
  return fail(ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING,
              "the command list is not capturing; begin with zeCommandListBeginGraphCaptureExt");
}

}  // namespace

ze_result_t CommandList::refuse_unless_capturable() const {
  if (!immediate())
    return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "only an immediate command list can capture; this one records already");
  if (choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    return fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED,
                "a synchronous command list cannot capture; create it with ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS");
  return ZE_RESULT_SUCCESS;
}

bool CommandList::append_captured(const Capturable& command, ze_result_t* result) {
  bool meets = capture_.load(std::memory_order_relaxed) || (command.signal && command.signal->capture());
  for (uint32_t i = 0; i < command.n_waits && !meets; ++i) meets = command.waits[i]->capture();
  if (!meets) return false;
  std::lock_guard lock(Capture::mutex());
  Capture* capture = nullptr;
  if ((*result = Capture::find(*this, command.signal, command.n_waits, command.waits, &capture))) return true;
  if (capture) capture->record(*this, command);
  return capture != nullptr;
}

ze_result_t CommandList::beginGraphCaptureExt(const void* next) {
  if (next) return refuse_parameters();
  return Capture::begin(*this, nullptr);
}

ze_result_t CommandList::beginCaptureIntoGraphExt(Graph& graph, const void* next) {
  if (next) return refuse_parameters();
  return Capture::begin(*this, &graph);
}

ze_result_t CommandList::isGraphCaptureEnabledExt() {
  return capture_.load(std::memory_order_acquire) ? ZE_RESULT_QUERY_TRUE : ZE_RESULT_QUERY_FALSE;
}

ze_result_t CommandList::endGraphCaptureExt(const void* next, ze_graph_handle_t* handle) {
  if (next) return refuse_parameters();
  std::lock_guard lock(Capture::mutex());
  Capture* capture = capture_.load(std::memory_order_relaxed);
  return capture ? capture->end(*this, handle) : not_capturing();
}

ze_result_t CommandList::getGraphExt(ze_graph_handle_t* handle) {
  std::lock_guard lock(Capture::mutex());
  Capture* capture = capture_.load(std::memory_order_relaxed);
  *handle = capture ? handle_of<ze_graph_handle_t>(&capture->graph()) : nullptr;
  return capture ? ZE_RESULT_SUCCESS : not_capturing();
}

ze_result_t CommandList::appendGraphExt(ExecutableGraph& graph, const void* next, Event* signal, uint32_t n, Event* const* waits) {
  if (next) return refuse_parameters();
  if (!immediate()) return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "a graph can only be appended to an immediate list");
  if (n > kMostWaits - 1) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%u wait events: more than %u", n, kMostWaits - 1);
  const auto& branches = graph.graph().branches();
  if (!branches.empty() && (&branches[0]->device != &device_ || branches[0]->choice.ordinal != ordinal_))
    return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                "the graph was captured by a command list of another device or queue group (ordinal %u)",
                branches[0]->choice.ordinal);
  if (settings.strict && choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                "the graph was captured by an asynchronous command list, and this one is synchronous");
  if (captures_in_progress.load(std::memory_order_relaxed)) [[unlikely]] {
    std::lock_guard lock(Capture::mutex());
    Capture* capture = nullptr;
    if (ze_result_t r = Capture::find(*this, signal, n, waits, &capture)) return r;
    if (capture) {
      capture->record_graph(*this, graph, signal, n, waits);
      return ZE_RESULT_SUCCESS;
    }
  }
  uint64_t position = 0;
  if (ze_result_t r = graph.submit(*ring_, signal, n, waits, &position)) return r;
  if (choice_.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS) return ring_->wait(position, kForever);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
