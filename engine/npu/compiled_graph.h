// A model compiled by OpenVINO for the CPU; it can be executed concurrently any number of times.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blob.h"
#include "execution.h"
#include "manifest.h"
#include "openvino.h"

namespace anyzero {

// Threading: any thread; immutable after construction.
class CompiledGraph : public std::enable_shared_from_this<CompiledGraph> {
 public:
  // The weights are used in place. `keeps_weights`, if given, owns that memory for the lifetime of the graph and its executions.
  // `log` gets the reason of a failure.
  static ze_result_t compile(const Manifest& manifest, std::span<const unsigned char> weights,
                             std::shared_ptr<const void> keeps_weights, std::shared_ptr<CompiledGraph>* out, std::string* log);
  // The same from a blob that the caller keeps valid. Uses the blob's form if its identity matches this machine.
  static ze_result_t load(const BlobView& blob, std::shared_ptr<const void> keeps_blob, std::shared_ptr<CompiledGraph>* out,
                          std::string* log);
  // The arguments of a model, without compiling it. Weights that do not determine a shape may have any value.
  static ze_result_t describe(const Manifest& manifest, std::span<const unsigned char> weights,
                              std::vector<GraphArgument>* arguments, std::string* log);
  // Whether a model compiles on its own; if not, the log gets the reason.
  static bool can_compile(std::string_view xml, std::span<const unsigned char> weights, std::string* log);
  ~CompiledGraph();
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  // The state of one execution. nullptr, with the reason, when OpenVINO gives no infer request.
  std::unique_ptr<Execution> prepare(std::string* reason);

  // The manifest's arguments. Bounds that the manifest left open (0) are filled in from the model.
  const std::vector<GraphArgument>& arguments() const { return arguments_; }
  bool profiling() const { return profiling_; }

  // Exports the compiled form; nullptr if the library cannot.
  std::shared_ptr<const Mapping> form() const;
  ContentHash form_identity() const;
  bool from_form() const { return from_form_; }

 private:
  friend class Execution;
  enum class Depth { Described, Compiled };
  CompiledGraph() = default;
  static ze_result_t make(const Manifest& manifest, std::span<const unsigned char> weights,
                          std::shared_ptr<const void> keeps_weights, Depth depth, std::shared_ptr<CompiledGraph>* out,
                          std::string* log);
  static std::shared_ptr<CompiledGraph> begin(const OpenVino& openvino, const Manifest& manifest,
                                              std::shared_ptr<const void> keeps_weights);
  bool import(std::span<const unsigned char> form);
  void finish();
  template <class Ports>
  ze_result_t agree(const Ports& ports, std::string* log);
  ze_result_t agree(GraphArgument& argument, const OpenVino::Port* port, std::string* log) const;

  const OpenVino* openvino_ = nullptr;
  OpenVino::Compiled* compiled_ = nullptr;
  std::shared_ptr<const void> keeps_weights_;
  std::vector<GraphArgument> arguments_;
  bool profiling_ = false;
  bool has_form_ = false;
  bool from_form_ = false;
};

// The names of the model's layers that can be compiled. False, with a log, if the model cannot be queried.
bool query_layers(const Manifest& manifest, std::span<const unsigned char> weights, std::vector<std::string>* supported,
                  std::string* log);

}  // namespace anyzero
