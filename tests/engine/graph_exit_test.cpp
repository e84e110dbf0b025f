// Processes that end, or fork, while OpenVINO is at work.
#include "graph_scene.h"
#include "npu/caller_memory.h"
#include "system/clock.h"

using namespace scene;

namespace {

// Some tens of milliseconds a link.
Manifest long_work(std::string* text, int links) {
  GraphModel model;
  auto x = model.parameter("x", {"768,768"});
  auto last = x;
  for (int i = 0; i < links; ++i) last = model.op("m" + std::to_string(i), "MatMul", {last, x}, {"768,768"});
  model.result("y", last);
  return model.manifest(text);
}

// What follows ends its process, so each is a process of its own: this program anew.
std::shared_ptr<CompiledGraph> until_the_end;

void leave_during(int links) {
  static std::string text;
  static std::vector<float> x(768 * 768), y(768 * 768);
  until_the_end = compile(long_work(&text, links));
  static Execution* execution = prepare(until_the_end).release();
  bind(*execution, {x.data(), y.data()});
  static std::atomic<bool> begun{false};
  std::thread([] {
    std::string reason;
    begun = true;
    while (execution->run(&reason)) {
    }
    std::fprintf(stderr, "refused: %s\n", reason.c_str());
    for (;;) pause();
  }).detach();
  while (!begun) std::this_thread::yield();
  sleep_ms(20);
}

// Compiling cannot be told to stop: the process ends without it. The first time it ends while the library is being loaded: later in
// the first compilation, destructors of OpenVINO's own tables, newer than the gate, would race with the thread that fills the
// tables.
void leave_while_compiling(bool first) {
  std::string small;
  if (!first) compile(add_relu(&small), weights.bytes());
  static std::atomic<bool> begun{false};
  std::thread([] {
    GraphModel model;
    auto last = model.parameter("x", {"4"});
    for (int i = 0; i < 3000; ++i) last = model.op("r" + std::to_string(i), "ReLU", {last}, {"4"});
    model.result("y", last);
    std::string text, log;
    std::shared_ptr<CompiledGraph> graph;
    begun = true;
    // Again and again, so that the exit meets a compilation however fast they are. The last fails, for the process is ending.
    while (CompiledGraph::compile(model.manifest(&text), {}, nullptr, &graph, &log) == ZE_RESULT_SUCCESS) {
    }
    for (;;) pause();
  }).detach();
  while (!begun) std::this_thread::yield();
  sleep_ms(first ? 2 : 300);
  std::exit(7);
}

void use_after_exit() {
  static std::string text;
  static float x[16], y[16];
  // Runs after the gate has closed, because it is older than the library.
  struct Late {
    std::unique_ptr<Execution> execution;
    ~Late() {
      std::string reason;
      assert(!execution->run(&reason) && reason.find("ending") != reason.npos && execution->layers().empty());
      assert(!until_the_end->prepare(&reason));
      std::shared_ptr<CompiledGraph> none;
      assert(CompiledGraph::compile(add_relu(&text), weights.bytes(), nullptr, &none, &reason));
      execution.reset();
      until_the_end.reset();
    }
  };
  static Late late;
  until_the_end = compile(add_relu(&text), weights.bytes());
  late.execution = prepare(until_the_end);
  bind(*late.execution, {x, y});
  run(*late.execution);
}

void fork_with_graphs() {
  std::string text, reason;
  Manifest manifest = add_relu(&text);
  manifest.properties = {{"PERFORMANCE_HINT", "THROUGHPUT"}};  // which has threads of its own
  auto graph = compile(manifest, weights.bytes());
  auto execution = prepare(graph);
  float x[16] = {}, y[16];
  bind(*execution, {x, y});
  run(*execution);
  const pid_t child = fork();
  if (child == 0) {
    assert(!execution->run(&reason) && reason.find("forked") != reason.npos);
    assert(!graph->prepare(&reason) && reason.find("spawn") != reason.npos);
    std::shared_ptr<CompiledGraph> none;
    assert(CompiledGraph::compile(add_relu(&text), weights.bytes(), nullptr, &none, &reason));
    execution.reset();
    graph.reset();
    alarm(300);
    std::exit(0);
  }
  int status = -1;
  assert(waitpid(child, &status, 0) == child && status == 0);
  run(*execution);
}

// There are models that OpenVINO falls over; here anything else that faults stands for them.
void survive_a_fault() {
  std::string text, reason;
  until_the_end = compile(add_relu(&text), weights.bytes());
  auto execution = prepare(until_the_end);
  static float x[16], y[16];
  bind(*execution, {x, y});
  run(*execution);
  assert(!OpenVinoCall::survived([] { read_each_page(kNowhere, 1); }));
  assert(!execution->run(&reason) && reason.find("use bad memory") != reason.npos && execution->layers().empty());
  assert(!until_the_end->prepare(&reason));
  std::shared_ptr<CompiledGraph> none;
  assert(CompiledGraph::compile(add_relu(&text), weights.bytes(), nullptr, &none, &reason));
  std::vector<std::string> names;
  query_layers(add_relu(&text), weights.bytes(), &names, &reason);
  assert(names.empty());
}

int in_a_process(const char* self, const char* what) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    execl(self, self, what, nullptr);
    _exit(99);
  }
  int status = -1;
  assert(waitpid(child, &status, 0) == child);
  return status;
}

bool play(const std::string& part) {
  if (part == "leave-short") return leave_during(1), true;
  if (part == "leave-long") return leave_during(300), true;
  if (part == "leave-loading") return leave_while_compiling(true), true;
  if (part == "leave-compiling") return leave_while_compiling(false), true;
  if (part == "late") return use_after_exit(), true;
  if (part == "fault") return survive_a_fault(), true;
  if (part == "fork") return fork_with_graphs(), true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (!openvino_found("graph_exit")) return 0;
  if (argc > 1) return play(argv[1]) ? 0 : 2;
  for (const auto& [part, expected] : {std::pair{"leave-short", 0},
                                       {"leave-long", 0},
                                       {"leave-loading", 7},
                                       {"leave-compiling", 7},
                                       {"late", 0},
                                       {"fault", 0},
                                       {"fork", 0}}) {
    const int status = in_a_process("/proc/self/exe", part);
    const bool fine = WIFEXITED(status) && WEXITSTATUS(status) == expected;
    if (!fine) std::fprintf(stderr, "%s: %#x\n", part, static_cast<unsigned>(status));
    assert(fine);
  }
  std::puts("graph_exit: ok");
}
