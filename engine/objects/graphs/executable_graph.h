// An executable graph: its first branch runs on the ring that it is appended to, the others on rings of their own.
#pragma once

#include <vector>

#include "../../abi/handle.h"
#include "../../exec/ring.h"
#include "../../system/mutex.h"
#include "graph.h"

namespace anyzero {

class Event;

// Threading: any thread; executions of the same one run one after the other.
class ExecutableGraph : public Object<ExecutableGraph, Kind::ExecutableGraph> {
 public:
  ze_result_t getSourceGraphExt(ze_graph_handle_t* graph);
  ze_result_t destroyExt();

  const Graph& graph() const { return *graph_; }

  // Submits one execution to `ring`, behind its pending commands; it ends at `position`.
  ze_result_t submit(Ring& ring, Event* signal, uint32_t n_waits, Event* const* waits, uint64_t* position);

  explicit ExecutableGraph(Graph& graph);
  ~ExecutableGraph();

 private:
  ExecutePacket* begin(Ring& ring, const Program& program, uint32_t n_waits);
  void start(bool cheap, uint64_t before, uint64_t position);

  Ref<Graph> graph_;
  Mutex mutex_;
  std::vector<Program*> programs_;  // by branch, held
  std::vector<Point> begins_;       // by branch: its ring (held, except the first) and the position where this execution begins
  std::vector<ExecutePacket*> packets_;  // by branch, while one is submitted
  Point last_{};                         // the end of the last execution, held
};

}  // namespace anyzero
