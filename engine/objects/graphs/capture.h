// A capture: an immediate list, and lists that waited for its events, record into a graph instead of running commands.
#pragma once

#include <atomic>
#include <unordered_map>
#include <vector>

#include "../../system/mutex.h"
#include "../sync/event.h"
#include "executable_graph.h"
#include "graph.h"

namespace anyzero {

// The number of captures in this process. While it is zero, an append checks nothing else.
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

// Threading: all members are guarded by mutex(). Lists and events without a capture never take it.
class Capture {
 public:
  static Mutex& mutex();

  // Begins a capture into `graph`, or into a new one that the capture owns until it ends.
  static ze_result_t begin(CommandList& list, Graph* graph);
  // Ends the capture on all lists. The graph is returned also if it is invalid; the result says so.
  ze_result_t end(CommandList& list, ze_graph_handle_t* handle);
  // A list of the capture is being destroyed. The first list ends the capture, and destroys a graph whose handle was not returned
  // yet: the caller retires it without the lock, because its callbacks belong to the program.
  Ref<Graph> leave(CommandList& list);

  // The capture of a command with these events: the list's own, or that of an event it waits for, or none. The specified error if
  // it must not be appended.
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

  // An appended graph: the branches that its branches became, and the end of its last execution.
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
  // A copy of a recorded packet; `places` maps the commands of an appended graph to this one.
  void record_copy(uint32_t branch, const Packet& packet, const std::vector<GraphPlace>& places);
  WaitFor wait_for(GraphPlace at, Event& event);
  WaitFor wait_for(GraphPlace at, GraphPlace source);
  void signals(GraphPlace at, Event& event, Packet& packet);
  void finish(Graph::State state);

  Ref<Graph> graph_;
  const bool owned_;  // of the handle, until it is returned
  std::unordered_map<CommandList*, uint32_t> lists_;
  std::unordered_map<Event*, Source> sources_;
  std::unordered_map<ExecutableGraph*, Inner> inner_;
};

}  // namespace anyzero
