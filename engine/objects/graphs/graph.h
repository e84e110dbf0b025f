// A recorded graph: the commands that immediate lists appended while capturing, in branches that wait for each other's commands.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "../../abi/handle.h"
#include "../../exec/program.h"
#include "../../system/mutex.h"
#include "../commands/command_queue.h"
#include "../devices/context.h"

namespace anyzero {

class CommandList;

// The commands of one list, in order. A branch runs on a queue like the list's; the first branch runs where the graph is appended.
struct Branch {
  Branch(Device& device, const QueueChoice& choice) : device(device), choice(choice), program(new Program) {}
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;
  ~Branch() { program->release(); }

  Device& device;
  const QueueChoice choice;
  Program* const program;
  uint64_t worked = 0;  // commands up to the last that does more than wait, signal or reset
};

// Threading: one thread at a time captures into it; once that has ended, any thread reads it.
class Graph : public Object<Graph, Kind::Graph> {
 public:
  static ze_result_t createExt(Context& context, const void* next, ze_graph_handle_t* handle);
  ze_result_t destroyExt();
  ze_result_t isEmptyExt();
  ze_result_t getPrimaryCommandListExt(ze_command_list_handle_t* list);
  ze_result_t setDestructionCallbackExt(zex_mem_graph_free_callback_fn_t callback, void* data, const void* next);
  ze_result_t instantiateExt(const void* next, ze_executable_graph_handle_t* handle);
  ze_result_t dumpContentsExt(const char* path, const void* next);  // graph_dump.cpp

  // Capturing: it cannot run yet. Invalid: a fork was not joined, or the capture was aborted.
  enum class State { Empty, Capturing, Complete, Invalid };
  State state() const { return state_.load(std::memory_order_acquire); }
  Context& context() const { return *context_; }
  const std::vector<std::unique_ptr<Branch>>& branches() const { return branches_; }
  ze_result_t refuse_unless_complete() const;

  explicit Graph(Context& context);
  ~Graph();

 private:
  friend class Capture;
  // A wait of one branch for a command of another.
  struct Edge {
    GraphPlace from, to;
  };
  // Lets the first branch wait for the end of all others, so that its end is the graph's. False if a branch did work that the first
  // one did not wait for.
  bool join_branches();
  uint64_t commands() const;

  Ref<Context> context_;
  Ref<CommandList> primary_;
  std::atomic<State> state_{State::Empty};
  std::vector<std::unique_ptr<Branch>> branches_;
  std::vector<Edge> edges_;
  Mutex mutex_;  // of the callbacks
  std::vector<std::pair<zex_mem_graph_free_callback_fn_t, void*>> callbacks_;
};

}  // namespace anyzero
