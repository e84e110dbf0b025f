// What the tests of graphs share: ways to compile and run them that insist on success, and memory to go wrong with.
// ANYZERO_OPENVINO_LIBRARY names OpenVINO's C library (libopenvino_c.so.*), which is no part of this project.
#pragma once

#include <sys/mman.h>

#include <memory>
#include <numeric>
#include <span>
#include <string>

#include "exec/trap.h"
#include "graph_model.h"
#include "scene.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "allow_user_segv_handler=1:detect_leaks=0:handle_segv=1"; }
#elif defined(__SANITIZE_THREAD__)
// OpenVINO and its thread library are not built with the sanitizer, which then sees half of what orders their threads.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
#endif

namespace scene {

using namespace anyzero;

inline constexpr size_t kPage = 4096;
inline auto* const kNowhere = reinterpret_cast<unsigned char*>(0x7000'0000'1000);

struct Text {
  std::string value;
  bool says(const char* words) const { return value.find(words) != value.npos; }
};

#define SAYS(text, words)                                                                           \
  do {                                                                                              \
    if (!(text).says(words)) {                                                                      \
      std::fprintf(stderr, "line %d: '%s' is not in: %s\n", __LINE__, words, (text).value.c_str()); \
      std::abort();                                                                                 \
    }                                                                                               \
  } while (0)

inline std::shared_ptr<CompiledGraph> compile(const Manifest& manifest, std::span<const unsigned char> weights = {}) {
  std::shared_ptr<CompiledGraph> graph;
  std::string log;
  if (ze_result_t r = CompiledGraph::compile(manifest, weights, nullptr, &graph, &log)) {
    std::fprintf(stderr, "%#x: %s\n", static_cast<unsigned>(r), log.c_str());
    std::abort();
  }
  return graph;
}

inline std::unique_ptr<Execution> prepare(const std::shared_ptr<CompiledGraph>& graph) {
  std::string reason;
  auto execution = graph->prepare(&reason);
  if (!execution) std::fprintf(stderr, "%s\n", reason.c_str());
  assert(execution);
  return execution;
}

inline void bind(Execution& execution, std::initializer_list<void*> pointers) {
  std::string reason;
  uint32_t i = 0;
  for (void* pointer : pointers) assert(execution.bind(i++, pointer, nullptr, &reason));
}

// As the engine does it: device work, inside a trap.
inline void run(Execution& execution) {
  bool fine = false;
  std::string reason;
  const Fault fault = trapped([&] { fine = execution.run(&reason); });
  if (!fine) std::fprintf(stderr, "%s\n", reason.c_str());
  assert(fault.signal == 0 && fine);
}

inline Text refused(Execution& execution) {
  bool fine = true;
  std::string reason;
  const Fault fault = trapped([&] { fine = execution.run(&reason); });
  assert(fault.signal == 0 && !fine);
  return {reason};
}

// `size` bytes that end where nothing is anymore.
class AtTheEdge {
 public:
  explicit AtTheEdge(size_t size, int protection = PROT_READ | PROT_WRITE) : bytes_((size + kPage - 1) / kPage * kPage) {
    base_ = static_cast<unsigned char*>(mmap(nullptr, bytes_ + kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    assert(base_ != MAP_FAILED && mprotect(base_ + bytes_, kPage, PROT_NONE) == 0);
    at_ = base_ + bytes_ - size;
  }
  ~AtTheEdge() { munmap(base_, bytes_ + kPage); }
  float* floats() const { return reinterpret_cast<float*>(at_); }

 private:
  size_t bytes_;
  unsigned char *base_, *at_;
};

// y = relu(x + c)
inline Manifest add_relu(std::string* text, const Shape& shape = {"1,16"}) {
  GraphModel model;
  auto x = model.parameter("x", shape);
  auto c = model.constant("c", {"1,16"}, 0, 64);
  model.result("y", model.op("relu", "ReLU", {model.op("add", "Add", {x, c}, shape)}, shape));
  return model.manifest(text, 64);
}

struct Weights {
  float values[16];
  Weights() { std::iota(values, values + 16, -8.f); }
  std::span<const unsigned char> bytes() const { return {reinterpret_cast<const unsigned char*>(values), sizeof values}; }
};
inline const Weights weights;

inline float add_relu_of(float x, size_t i) { return std::max(0.f, x + weights.values[i % 16]); }

// False, loudly, when there is no OpenVINO to test with.
inline bool openvino_found(const char* test) {
  install_traps();
  const char* library = std::getenv("ANYZERO_OPENVINO_LIBRARY");
  if (!library) std::printf("%s: SKIPPED, ANYZERO_OPENVINO_LIBRARY does not name OpenVINO's C library\n", test);
  setenv("TBB_ENABLE_SANITIZERS", "1", 0);  // it would load a library in a way that the sanitizers refuse
  if (library) settings.openvino = library;
  return library != nullptr;
}

}  // namespace scene
