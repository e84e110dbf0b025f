// The contents of a graph: its native blob, and OpenVINO's compiled model of it.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../abi/gen/ze_npu_ext.h"
#include "../system/mutex.h"
#include "blob.h"
#include "content_hash.h"

namespace anyzero {

class CompiledGraph;
struct ArgumentValue;

// Creates the blob of a serialised model, with a manifest from the planner, without compiling it.
ze_result_t lay_out_model(const ze_graph_desc_2_t& desc, MappedBlob* blob, std::string* log);

// Total size of the models in the driver's cache.
uint64_t cached_model_bytes();

// Threading: any thread. Shared by the graph's handle and the inferences appended from it.
class GraphImage : public std::enable_shared_from_this<GraphImage> {
 public:
  // Reads and compiles the contents of the description: a native blob or a serialised model. The log is written in any case.
  static ze_result_t make(const ze_graph_desc_2_t& desc, std::shared_ptr<GraphImage>* image, std::string* log);

  const Manifest& manifest() const { return blob_.manifest; }
  // The manifest's arguments, with the bounds that only the compiler knows.
  const std::vector<GraphArgument>& arguments() const { return arguments_; }
  // Bytes of memory of the blob, of its copy with the compiled form, and of the weights given to a weightless graph.
  uint64_t bytes_held();
  // The blob for the program to save, with the compiled form if available. Valid as long as the image.
  ze_result_t native_binary(std::span<const unsigned char>* bytes);
  uint32_t flags() const { return flags_; }  // ze_graph_properties_flag_t

  // Recompiles after an eviction. Not for weightless graphs.
  ze_result_t compiled(std::shared_ptr<CompiledGraph>* compiled);
  // Compiles a weightless graph with a copy of the weights that its weights arguments point to. It is recompiled if the addresses
  // differ from the last time, or if `recompile` is set. `log` gets the reason of a failure.
  ze_result_t compiled_with(const std::vector<ArgumentValue>& values, bool recompile, std::shared_ptr<CompiledGraph>* compiled,
                            std::string* log);
  // Number of calls with `recompile`: earlier executions have old weights.
  uint64_t initializations() const { return initializations_.load(std::memory_order_acquire); }
  // Releases the compiled model, once the inferences that use it have ended.
  void evict();

  GraphImage() = default;

 private:
  ze_result_t adopt(const ze_graph_desc_2_t& desc, std::string* log);
  ze_result_t build(const ze_graph_desc_2_t& desc, std::string* log);
  ze_result_t compile(std::string* log);
  ze_result_t describe(std::string* log);
  bool find_in_cache(const ContentHash& key);
  bool extend(const CompiledGraph& compiled, MappedBlob* extended) const;

  BlobView blob_;
  std::vector<GraphArgument> arguments_;
  std::shared_ptr<const void> memory_;  // owner of the blob's memory; null if that is the program's own
  MappedBlob extended_;                 // with the form, once requested
  bool secure_ = false;                 // leaves the process only encrypted, and is never cached
  std::shared_ptr<const Mapping> sealed_;
  uint32_t flags_ = 0;
  Mutex mutex_;
  std::shared_ptr<CompiledGraph> compiled_;
  std::vector<const void*> weights_at_;  // weightless graph: the addresses that `compiled_` took its weights from
  std::atomic<uint64_t> initializations_{0};
};

}  // namespace anyzero
