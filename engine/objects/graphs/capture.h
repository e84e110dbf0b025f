// A capture: an immediate list, and those that waited for its events, record into a graph instead of running.
#pragma once

#include <atomic>
#include <unordered_map>
#include <vector>

#include "../../system/mutex.h"
#include "../sync/event.h"
#include "executable_graph.h"
#include "graph.h"

namespace anyzero {

// The number of captures in this process. While it is zero, an append looks at nothing else.
extern std::atomic<uint32_t> captures_in_progress;

// A command about to be recorded. `fill` writes the packet's body.
struct Capturable {
  Op op;
  size_t size;
  uint64_t cost;
  Event* signal;
  uint32_t n_waits;
  Event* const* waits;
  void (*fill)(void* context, Packet& packet);
  void* context;
};

// Threading: everything here under mutex(), which no list takes that captures nothing and no event that is not captured.
class Capture {
 public:
  static Mutex& mutex();

  // Begins into `graph`, or into a new one that the capture owns until it ends.
  static ze_result_t begin(CommandList& list, Graph* graph);
  // Ends on all lists. The graph is handed out also when it is invalid, which the result tells.
  ze_result_t end(CommandList& list, ze_graph_handle_t* handle);
  // A list that took part is being destroyed. The first one takes the capture with it, and a graph that nobody has the handle of:
  // to be retired without the lock, for its callbacks are the program's.
  Ref<Graph> leave(CommandList& list);

  // Which capture a command with these events belongs to: the list's own, or that of an event it waits for, or none. The specified
  // error where it may not be appended.
  static ze_result_t find(CommandList& list, Event* signal, uint32_t n_waits, Event* const* waits, Capture** capture);
  void record(CommandList& list, const Capturable& command);
  // The branches recorded so far.
  ze_result_t record_lists(CommandList& list, uint32_t count, CommandList* const* lists, Event* signal, uint32_t n_waits,
                           Event* const* waits);
  void record_graph(CommandList& list, ExecutableGraph& inner, Event* signal, uint32_t n_waits, Event* const* waits);

  Graph& graph() const { return *graph_; }

 private:
  // The captured command that last signalled an event.
  struct Source {
    Ref<Event> event;
    GraphPlace place;
    Packet* packet;
  };

  // A graph that was appended: where its branches went, and the end of its last execution.
  struct Inner {
    Ref<ExecutableGraph> graph;
    std::vector<uint32_t> branches;
    Source end;
  };

  Capture(Graph& graph, bool owned) : graph_(&graph), owned_(owned) {}
  uint32_t branch_of(CommandList& list);
  Source record_at(uint32_t branch, const Capturable& command);
  Source barrier(uint32_t branch, Event* signal, uint32_t n_waits, Event* const* waits);
  void wait_in(uint32_t branch, const Source& source);
  // A copy of a recorded packet; `places` says where the commands of its graph, if it is of one, went.
  void record_copy(uint32_t branch, const Packet& packet, const std::vector<GraphPlace>& places);
  WaitFor wait_for(GraphPlace at, Event& event);
  WaitFor wait_for(GraphPlace at, GraphPlace source);
  void signals(GraphPlace at, Event& event, Packet& packet);
  void finish(Graph::State state);

  Ref<Graph> graph_;
  const bool owned_;  // its handle, until it is handed out
  std::unordered_map<CommandList*, uint32_t> lists_;
  std::unordered_map<Event*, Source> sources_;
  std::unordered_map<ExecutableGraph*, Inner> inner_;
};

}  // namespace anyzero
