// A model that OpenVINO has compiled for the processor, ready to be executed any number of times at once.
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

// Threading: any thread; immutable once it is made.
class CompiledGraph : public std::enable_shared_from_this<CompiledGraph> {
 public:
  // The weights are used where they lie; `keeps_weights`, if given, holds that memory as long as the graph or an execution of it
  // lives. `log` tells why it failed.
  static ze_result_t compile(const Manifest& manifest, std::span<const unsigned char> weights,
                             std::shared_ptr<const void> keeps_weights, std::shared_ptr<CompiledGraph>* out, std::string* log);
  // The same from a blob that the caller keeps: from its form where that was made here.
  static ze_result_t load(const BlobView& blob, std::shared_ptr<const void> keeps_blob, std::shared_ptr<CompiledGraph>* out,
                          std::string* log);
  // The arguments of a model, without compiling it. Weights that no shape follows from may have any value.
  static ze_result_t describe(const Manifest& manifest, std::span<const unsigned char> weights,
                              std::vector<GraphArgument>* arguments, std::string* log);
  // Whether a model by itself compiles; the log tells why not.
  static bool can_compile(std::string_view xml, std::span<const unsigned char> weights, std::string* log);
  ~CompiledGraph();
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  // The state of one execution. nullptr, with the reason, when OpenVINO gives no infer request.
  std::unique_ptr<Execution> prepare(std::string* reason);

  // The manifest's, with bounds that the manifest left open (0) as the model has them.
  const std::vector<GraphArgument>& arguments() const { return arguments_; }
  bool profiling() const { return profiling_; }

  // The compiled form, to be loaded later; nothing where the library has none.
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

// The names of the model's layers that can be compiled. False, with a log, when there is nothing to ask.
bool query_layers(const Manifest& manifest, std::span<const unsigned char> weights, std::vector<std::string>* supported,
                  std::string* log);

}  // namespace anyzero
