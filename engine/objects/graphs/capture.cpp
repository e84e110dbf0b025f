#include "capture.h"

#include <cstring>

#include "../../abi/error.h"
#include "../commands/command_list.h"
#include "../commands/command_list_append.h"
#include "executable_graph.h"

namespace anyzero {

namespace {

constexpr size_t kMostBranches = 4096;

bool does_work(Op op) { return op != Op::Barrier && op != Op::Reset; }

}  // namespace

std::atomic<uint32_t> captures_in_progress{0};

Mutex& Capture::mutex() {
  static Mutex* mutex = new Mutex;  // leaked: lists are destroyed from exit handlers
  return *mutex;
}

ze_result_t Capture::begin(CommandList& list, Graph* graph) {
  if (ze_result_t r = list.refuse_unless_capturable()) return r;
  std::lock_guard lock(mutex());
  if (list.capture_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is capturing already; end that first");
  if (graph && graph->state() != Graph::State::Empty)
    return fail(ZE_RESULT_ERROR_INVALID_GRAPH,
                "a graph is captured into once, while it is empty and not instantiated; create another");
  if (graph && &graph->context() != &list.context())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the graph and the command list belong to different contexts");
  Ref<Graph> made;
  if (!graph) {
    made = Ref<Graph>::adopt(Graph::make(list.context()));
    graph = made.get();
  }
  auto capture = std::unique_ptr<Capture>(new Capture(*graph, static_cast<bool>(made)));
  capture->branch_of(list);
  graph->primary_ = Ref<CommandList>(&list);
  graph->state_.store(Graph::State::Capturing, std::memory_order_release);
  if (made) made->retain();  // the handle's
  list.capture_.store(capture.release(), std::memory_order_release);
  captures_in_progress.fetch_add(1, std::memory_order_release);
  return ZE_RESULT_SUCCESS;
}

void Capture::finish(Graph::State state) {
  for (auto& [list, branch] : lists_) list->capture_.store(nullptr, std::memory_order_release);
  for (auto& [event, source] : sources_) {
    Capture* mine = this;
    event->capture_.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel);
  }
  graph_->state_.store(state, std::memory_order_release);
  captures_in_progress.fetch_sub(1, std::memory_order_release);
  delete this;
}

ze_result_t Capture::end(CommandList& list, ze_graph_handle_t* handle) {
  if (lists_.at(&list) != 0)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "the command list joined a capture by waiting for an event; end it on the list that began it");
  const bool joined = graph_->join_branches();
  *handle = handle_of<ze_graph_handle_t>(graph_.get());
  finish(joined ? Graph::State::Complete : Graph::State::Invalid);
  if (joined) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS,
              "a command list that joined the capture did work whose end the first list does not wait for; signal an event after "
              "it and wait for that before ending the capture");
}

Ref<Graph> Capture::leave(CommandList& list) {
  auto found = lists_.find(&list);
  if (found->second == 0) {
    Ref<Graph> unknown = owned_ ? graph_ : Ref<Graph>();
    finish(Graph::State::Invalid);
    return unknown;
  }
  list.capture_.store(nullptr, std::memory_order_release);
  lists_.erase(found);
  return {};
}

ze_result_t Capture::find(CommandList& list, Event* signal, uint32_t n_waits, Event* const* waits, Capture** found) {
  Capture* own = list.capture_.load(std::memory_order_relaxed);
  Capture* capture = own;
  for (uint32_t i = 0; i < n_waits; ++i) {
    Capture* other = waits[i]->capture();
    if (!other || other == capture) continue;
    if (!list.immediate()) {
      if (!waits[i]->internal_to_graphs()) continue;
      return fail(ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT, "wait event %u is used inside a graph that is being captured", i);
    }
    if (capture)
      return fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT, "wait event %u belongs to another capture than the command", i);
    if (ze_result_t r = list.refuse_unless_capturable()) return r;
    if (other->graph_->branches_.size() == kMostBranches)
      return fail(ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED, "a graph has at most %zu branches", kMostBranches);
    capture = other;
  }
  if (signal && signal->capture() && signal->capture() != capture && signal->internal_to_graphs())
    return fail(ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT, "the signal event is used inside a graph that is being captured");
  *found = capture;
  return ZE_RESULT_SUCCESS;
}

uint32_t Capture::branch_of(CommandList& list) {
  auto [at, is_new] = lists_.try_emplace(&list, static_cast<uint32_t>(graph_->branches_.size()));
  if (is_new) {
    graph_->branches_.push_back(std::make_unique<Branch>(list.device(), list.choice_));
    list.capture_.store(this, std::memory_order_release);
  }
  return at->second;
}

WaitFor Capture::wait_for(GraphPlace at, GraphPlace source) {
  if (at.branch == source.branch) return {};  // commands of one list run in order
  graph_->edges_.push_back({source, at});
  return source.wait();
}

WaitFor Capture::wait_for(GraphPlace at, Event& event) {
  if (event.capture() != this) return event.wait_when_executed();
  const Source& source = sources_.at(&event);
  if (at.branch != source.place.branch) source.packet->announced = true;
  return wait_for(at, source.place);
}

void Capture::signals(GraphPlace at, Event& event, Packet& packet) {
  sources_[&event] = {Ref<Event>(&event), at, &packet};
  event.capture_.store(this, std::memory_order_release);
}

void Capture::record(CommandList& list, const Capturable& command) { record_at(branch_of(list), command); }

Capture::Source Capture::record_at(uint32_t index, const Capturable& command) {
  Branch& branch = *graph_->branches_[index];
  Program& program = *branch.program;
  const GraphPlace at{index, program.count()};
  auto* packet = static_cast<Packet*>(program.stream().reserve(command.size));
  packet->size = static_cast<uint32_t>(command.size);
  packet->op = command.op;
  packet->announced = false;
  packet->n_waits = static_cast<uint16_t>(command.n_waits);
  // A counting event that only the graph uses has no meaning outside, and may be reused once the capture has ended.
  packet->signal = command.signal && command.signal->internal_to_graphs() ? nullptr : command.signal;
  command.fill(command.context, *packet);
  for (uint32_t i = 0; i < command.n_waits; ++i) packet->waits()[i] = wait_for(at, *command.waits[i]);
  program.added(*packet, command.cost);
  if (does_work(command.op)) branch.worked = program.count();
  if (command.signal) signals(at, *command.signal, *packet);
  return {Ref<Event>(), at, packet};
}

Capture::Source Capture::barrier(uint32_t branch, Event* signal, uint32_t n_waits, Event* const* waits) {
  const size_t size = sizeof(BarrierPacket) + n_waits * sizeof(WaitFor);
  return record_at(branch, {Op::Barrier, size, kTiny, signal, n_waits, waits, [](void*, Packet&) {}, nullptr});
}

void Capture::wait_in(uint32_t index, const Source& source) {
  if (source.place.branch == index) return;
  source.packet->announced = true;
  Program& program = *graph_->branches_[index]->program;
  constexpr size_t kSize = sizeof(BarrierPacket) + sizeof(WaitFor);
  auto* packet = static_cast<Packet*>(program.stream().reserve(kSize));
  *packet = {kSize, Op::Barrier, false, 1, nullptr};
  packet->waits()[0] = wait_for({index, program.count()}, source.place);
  program.added(*packet, kTiny);
}

void Capture::record_copy(uint32_t index, const Packet& source, const std::vector<GraphPlace>& places) {
  Branch& branch = *graph_->branches_[index];
  Program& program = *branch.program;
  const GraphPlace at{index, program.count()};
  auto* packet = static_cast<Packet*>(program.stream().reserve(source.size));
  std::memcpy(static_cast<void*>(packet), &source, source.size);
  for (uint32_t i = 0; i < source.n_waits; ++i) {
    WaitFor& wait = packet->waits()[i];
    if (GraphPlace::is_awaited_by(wait)) {
      const GraphPlace inner = GraphPlace::of(wait);
      wait = wait_for(at, {places[inner.branch].branch, places[inner.branch].command + inner.command});
    } else if (wait.event) {
      wait = wait_for(at, *wait.event);
    }
  }
  Event* signal = packet->signal;
  if (signal && signal->internal_to_graphs()) packet->signal = nullptr;
  program.added(*packet, 0);
  if (does_work(packet->op)) branch.worked = program.count();
  if (signal) signals(at, *signal, *packet);
}

ze_result_t Capture::record_lists(CommandList& list, uint32_t count, CommandList* const* lists, Event* signal, uint32_t n_waits,
                                  Event* const* waits) {
  for (uint32_t i = 0; i < count; ++i)
    if (ze_result_t r = check_list(list.device(), list.copy_only(), *lists[i])) return r;
  auto visit = [&](auto&& look) {
    for (uint32_t i = 0; i < count; ++i) {
      Cursor at{lists[i]->program().stream().first()};
      for (uint64_t k = 0; k < lists[i]->program().count(); ++k) {
        const Packet& packet = at.packet();
        if (ze_result_t r = look(packet)) return r;
        at.advance(packet);
      }
    }
    return ZE_RESULT_SUCCESS;
  };
  ze_result_t refused = visit([&](const Packet& packet) {
    Capture* found = nullptr;
    for (uint32_t k = 0; k < packet.n_waits; ++k)
      if (Event* event = packet.waits()[k].event)
        if (ze_result_t r = find(list, packet.signal, 1, &event, &found)) return r;
    return find(list, packet.signal, 0, nullptr, &found);
  });
  if (refused) return refused;
  const uint32_t branch = branch_of(list);
  if (n_waits) barrier(branch, nullptr, n_waits, waits);
  for (uint32_t i = 0; i < count; ++i) graph_->branches_[branch]->program->add_cost(lists[i]->program().cost_without_launches());
  visit([&](const Packet& packet) {
    record_copy(branch, packet, {});
    return ZE_RESULT_SUCCESS;
  });
  if (signal) barrier(branch, signal, 0, nullptr);
  return ZE_RESULT_SUCCESS;
}

void Capture::record_graph(CommandList& list, ExecutableGraph& graph, Event* signal, uint32_t n_waits, Event* const* waits) {
  const uint32_t own = branch_of(list);
  if (n_waits) barrier(own, nullptr, n_waits, waits);
  auto [found, is_new] = inner_.try_emplace(&graph);
  Inner& inner = found->second;
  const auto& branches = graph.graph().branches();
  if (is_new) {
    inner.graph = Ref<ExecutableGraph>(&graph);
    inner.branches.push_back(own);
    for (uint32_t i = 1; i < branches.size(); ++i) {
      inner.branches.push_back(static_cast<uint32_t>(graph_->branches_.size()));
      graph_->branches_.push_back(std::make_unique<Branch>(branches[i]->device, branches[i]->choice));
    }
  } else {
    // Executions of one graph run one after the other, also where different lists append them.
    wait_in(own, inner.end);
    inner.branches[0] = own;
  }
  std::vector<GraphPlace> places;
  for (uint32_t i = 0; i < branches.size(); ++i) {
    Program& to = *graph_->branches_[inner.branches[i]]->program;
    to.add_cost(branches[i]->program->cost_without_launches());
    places.push_back({inner.branches[i], to.count()});
  }
  for (uint32_t i = 0; i < branches.size(); ++i) {
    Cursor at{branches[i]->program->stream().first()};
    for (uint64_t k = 0; k < branches[i]->program->count(); ++k) {
      const Packet& packet = at.packet();
      record_copy(places[i].branch, packet, places);
      at.advance(packet);
    }
  }
  inner.end = barrier(own, signal, 0, nullptr);
}

}  // namespace anyzero
