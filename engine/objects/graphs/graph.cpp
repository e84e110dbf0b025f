#include "graph.h"

#include "../../abi/error.h"
#include "../commands/command_list.h"
#include "../commands/command_list_append.h"
#include "capture.h"
#include "executable_graph.h"

namespace anyzero {

Graph::Graph(Context& context) : context_(&context) {}

Graph::~Graph() {
  for (const auto& [callback, data] : callbacks_) callback(data);
}

ze_result_t Graph::createExt(Context& context, const void* next, ze_graph_handle_t* handle) {
  if (next) return refuse_parameters();
  *handle = handle_of<ze_graph_handle_t>(make(context));
  return ZE_RESULT_SUCCESS;
}

// Executable graphs hold it, and its callbacks free memory that those use: they are called after the last of them is destroyed.
ze_result_t Graph::destroyExt() {
  {
    std::lock_guard lock(Capture::mutex());
    if (state() == State::Capturing)
      return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the graph is being captured; end the capture before destroying it");
  }
  retire();
  return ZE_RESULT_SUCCESS;
}

uint64_t Graph::commands() const {
  uint64_t count = 0;
  for (const auto& branch : branches_) count += branch->program->count();
  return count;
}

ze_result_t Graph::isEmptyExt() {
  std::lock_guard lock(Capture::mutex());
  if (state() == State::Invalid) return refuse_unless_complete();
  return commands() ? ZE_RESULT_QUERY_FALSE : ZE_RESULT_QUERY_TRUE;
}

ze_result_t Graph::getPrimaryCommandListExt(ze_command_list_handle_t* list) {
  std::lock_guard lock(Capture::mutex());
  *list = nullptr;
  if (!primary_) return fail(ZE_RESULT_ERROR_INVALID_GRAPH, "nothing has been captured into the graph yet");
  if (!primary_->alive()) return fail(ZE_RESULT_ERROR_INVALID_GRAPH, "the command list that captured the graph was destroyed");
  *list = handle_of<ze_command_list_handle_t>(primary_.get());
  return ZE_RESULT_SUCCESS;
}

ze_result_t Graph::setDestructionCallbackExt(zex_mem_graph_free_callback_fn_t callback, void* data, const void* next) {
  if (next) return refuse_parameters();
  std::lock_guard lock(mutex_);
  callbacks_.emplace_back(callback, data);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Graph::refuse_unless_complete() const {
  switch (state()) {
    case State::Capturing:
      return fail(ZE_RESULT_ERROR_INVALID_GRAPH, "the graph is being captured; call zeCommandListEndGraphCaptureExt first");
    case State::Invalid:
      return fail(ZE_RESULT_ERROR_INVALID_GRAPH,
                  "the capture left forks unjoined, or its first command list was destroyed; capture into a new graph");
    default:
      return ZE_RESULT_SUCCESS;
  }
}

ze_result_t Graph::instantiateExt(const void* next, ze_executable_graph_handle_t* handle) {
  if (next) return refuse_parameters();
  {
    std::lock_guard lock(Capture::mutex());
    if (ze_result_t r = refuse_unless_complete()) return r;
    state_.store(State::Complete, std::memory_order_release);  // also an empty one: an instantiated graph is immutable
  }
  *handle = handle_of<ze_executable_graph_handle_t>(ExecutableGraph::make(*this));
  return ZE_RESULT_SUCCESS;
}

bool Graph::join_branches() {
  // By branch: the number of its commands that are done when the first branch is.
  std::vector<uint64_t> joined(branches_.size());
  joined[0] = branches_[0]->program->count();
  for (bool changed = true; changed;) {
    changed = false;
    for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge) {
      if (joined[edge->to.branch] <= edge->to.command || joined[edge->from.branch] > edge->from.command) continue;
      joined[edge->from.branch] = edge->from.command + 1;
      changed = true;
    }
  }
  std::vector<GraphPlace> ends;
  for (uint32_t i = 1; i < branches_.size(); ++i) {
    if (branches_[i]->worked > joined[i]) return false;
    if (const uint64_t count = branches_[i]->program->count(); count > joined[i]) ends.push_back({i, count - 1});
  }
  if (ends.empty()) return true;
  Program& program = *branches_[0]->program;
  const size_t size = sizeof(BarrierPacket) + ends.size() * sizeof(WaitFor);
  auto* packet = static_cast<BarrierPacket*>(program.stream().reserve(size));
  packet->size = static_cast<uint32_t>(size);
  packet->op = Op::Barrier;
  packet->announced = false;
  packet->n_waits = static_cast<uint16_t>(ends.size());
  packet->signal = nullptr;
  for (size_t i = 0; i < ends.size(); ++i) packet->waits()[i] = ends[i].wait();
  program.added(*packet, kTiny);
  return true;
}

}  // namespace anyzero
