// The contents of a graph: the native blob, wherever it lies, and OpenVINO's compiled model of it.
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

// Makes the blob of a serialised model with the manifest that the planner writes, without compiling it.
ze_result_t lay_out_model(const ze_graph_desc_2_t& desc, MappedBlob* blob, std::string* log);

// Bytes of the models in the driver's cache.
uint64_t cached_model_bytes();

// Threading: any thread. Shared by the graph's handle and by the inferences that were appended of it.
class GraphImage : public std::enable_shared_from_this<GraphImage> {
 public:
  // Reads and compiles what the description holds: a native blob or a serialised model. The log tells what happened in any case.
  static ze_result_t make(const ze_graph_desc_2_t& desc, std::shared_ptr<GraphImage>* image, std::string* log);

  const Manifest& manifest() const { return blob_.manifest; }
  // The manifest's, with the bounds that only the compiler could tell.
  const std::vector<GraphArgument>& arguments() const { return arguments_; }
  // Bytes of memory that the blob takes, its copy with the compiled form, and the weights that a weightless graph was given.
  uint64_t bytes_held();
  // The blob to be kept elsewhere, with the compiled form where there is one. Valid as long as the image.
  ze_result_t native_binary(std::span<const unsigned char>* bytes);
  uint32_t flags() const { return flags_; }  // ze_graph_properties_flag_t

  // Compiles again what was evicted. Not for weightless graphs.
  ze_result_t compiled(std::shared_ptr<CompiledGraph>* compiled);
  // A weightless graph, compiled with weights that lie where the values of its weights arguments point to: compiled anew where they
  // point elsewhere than the last time, or `anew`. It has a copy of them. `log` tells why it failed.
  ze_result_t compiled_with(const std::vector<ArgumentValue>& values, bool anew, std::shared_ptr<CompiledGraph>* compiled,
                            std::string* log);
  // How often that was done anew: executions from before have old weights.
  uint64_t initializations() const { return initializations_.load(std::memory_order_acquire); }
  // Gives up what was compiled, as soon as the inferences that use it are gone.
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
  std::shared_ptr<const void> memory_;  // where the blob lies; nothing when that is the program's own
  MappedBlob extended_;                 // with the form, once it was asked for
  bool secure_ = false;                 // leaves the process encrypted only, and is in no cache
  std::shared_ptr<const Mapping> sealed_;
  uint32_t flags_ = 0;
  Mutex mutex_;
  std::shared_ptr<CompiledGraph> compiled_;
  std::vector<const void*> weights_at_;  // of a weightless graph: what `compiled_` has its weights from
  std::atomic<uint64_t> initializations_{0};
};

}  // namespace anyzero
