#include "executable_graph.h"

#include <algorithm>

#include "../../abi/error.h"
#include "../../exec/engine.h"
#include "../commands/command_list_append.h"
#include "../sync/event.h"

namespace anyzero {

ExecutableGraph::ExecutableGraph(Graph& graph) : graph_(&graph) {
  const auto& branches = graph.branches();
  const size_t count = std::max<size_t>(branches.size(), 1);
  programs_.reserve(count);
  begins_.resize(count);
  packets_.resize(count);
  for (const auto& branch : branches) {
    branch->program->retain();
    programs_.push_back(branch->program);
    if (programs_.size() == 1) continue;
    begins_[programs_.size() - 1].ring = branch->choice.make_ring(graph.context(), branch->device);
  }
  if (branches.empty()) programs_.push_back(new Program);
}

ExecutableGraph::~ExecutableGraph() {
  for (size_t i = 1; i < begins_.size(); ++i) begins_[i].ring->release();
  for (Program* program : programs_) program->release();
  if (last_.ring) last_.ring->release();
}

ze_result_t ExecutableGraph::getSourceGraphExt(ze_graph_handle_t* graph) {
  if (!graph_->alive()) {
    *graph = nullptr;
    return fail(ZE_RESULT_ERROR_INVALID_GRAPH, "the graph that this one was instantiated from was destroyed");
  }
  *graph = handle_of<ze_graph_handle_t>(graph_.get());
  return ZE_RESULT_SUCCESS;
}

ze_result_t ExecutableGraph::destroyExt() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ExecutePacket* ExecutableGraph::begin(Ring& ring, const Program& program, uint32_t n_waits) {
  const size_t targets = program.settled_waits();
  const size_t size = sizeof(ExecutePacket) + sizeof(Program*) + (targets + n_waits) * sizeof(WaitFor);
  auto* packet = static_cast<ExecutePacket*>(ring.begin(size));
  packet->size = static_cast<uint32_t>(size);
  packet->op = Op::Execute;
  packet->announced = false;
  packet->n_waits = static_cast<uint16_t>(n_waits);
  packet->signal = nullptr;
  packet->count = 1;
  packet->n_targets = static_cast<uint32_t>(targets);
  packet->commands = program.count();
  packet->programs()[0] = const_cast<Program*>(&program);
  return packet;
}

ze_result_t ExecutableGraph::submit(Ring& ring, Event* signal, uint32_t n_waits, Event* const* waits, uint64_t* position) {
  std::lock_guard lock(mutex_);
  begins_[0].ring = &ring;
  for (const Point& branch : begins_)
    if (branch.ring->lost()) return branch.ring->tell_lost();
  uint64_t cost = 0;
  for (Program* program : programs_) cost += std::min(program->cost(), kNeverInline / programs_.size());
  // All rings are locked for writing at once: every wait for another branch needs that branch's first position. The rings of the
  // other branches belong to this graph.
  size_t begun = 0;
  try {
    for (; begun < programs_.size(); ++begun)
      packets_[begun] = begin(*begins_[begun].ring, *programs_[begun], begun ? 0 : n_waits + 1);
  } catch (...) {
    while (begun) begins_[--begun].ring->cancel();
    throw;
  }
  for (Point& branch : begins_) branch.position = branch.ring->before();
  WaitFor* entry = packets_[0]->waits();
  for (uint32_t i = 0; i < n_waits; ++i) entry[i] = waits[i]->wait_from_now();
  // Executions of the same graph are serialized, also across lists.
  const bool elsewhere = last_.ring && last_.ring != &ring;
  entry[n_waits] = elsewhere ? WaitFor{nullptr, last_} : WaitFor{};
  hold(entry[n_waits]);
  for (size_t i = 0; i < programs_.size(); ++i)
    programs_[i]->settle(*begins_[i].ring, begins_[i].position, packets_[i]->targets(), begins_.data());
  const uint64_t before = begins_[0].position;
  packets_[0]->signal = signal;
  *position = before + programs_[0]->count() + 1;
  if (signal) signal->track(ring, *position);
  if (last_.ring != &ring) {
    ring.retain();
    if (last_.ring) last_.ring->release();
    last_.ring = &ring;
  }
  last_.position = *position;
  // Branches wait for each other's commands: check mode does not see graphs of several branches, nor commands that depend on them.
  note_submission(ring, programs_.size() == 1 ? packets_[0] : nullptr, before);
  for (size_t i = 0; i < programs_.size(); ++i) begins_[i].ring->publish(*packets_[i], programs_[i]->count() + 1);
  start(cost <= cheap_limit(), before, *position);
  return ZE_RESULT_SUCCESS;
}

// Branches wait for each other, so if all are cheap this thread walks them in turns; the engines do the rest.
void ExecutableGraph::start(bool cheap, uint64_t before, uint64_t position) {
  if (begins_.size() == 1) return begins_[0].ring->start(cheap, before, position);
  auto completed = [](const Point& branch) { return branch.ring->completed().value.load(std::memory_order_acquire); };
  bool progress = cheap && completed(begins_[0]) >= before;
  while (progress) {
    progress = false;
    for (size_t i = 0; i < begins_.size(); ++i) {
      const uint64_t seen = completed(begins_[i]);
      begins_[i].ring->process(false, nullptr, begins_[i].position + programs_[i]->count() + 1);
      progress = progress || completed(begins_[i]) != seen;
    }
  }
  for (const Point& branch : begins_)
    if (!branch.ring->idle()) branch.ring->engine().submit(*branch.ring);
}

}  // namespace anyzero
