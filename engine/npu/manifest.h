// The manifest of a graph, as the planner wrote it and as a native blob keeps it: the model's XML, how it wants to be compiled, and
// its arguments. Its bytes are a ManifestRecord.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../abi/gen/ze_npu_ext.h"
#include "../layouts/gen/graph.h"

namespace anyzero {

struct GraphArgument {
  static constexpr uint32_t kNone = UINT32_MAX;  // in `companion`

  ze_graph_argument_type_t type = ZE_GRAPH_ARGUMENT_TYPE_INPUT;
  GraphRole role = GraphRole::Data;
  uint32_t port = 0;          // data and state: the input or output of the model; shape: the argument whose shape it holds; else 0
  uint32_t element_type = 0;  // as OpenVINO's C library counts them
  ze_graph_argument_precision_t precision = ZE_GRAPH_ARGUMENT_PRECISION_UNKNOWN;
  ze_graph_metadata_type metadata_type = ZE_GRAPH_METADATA_TYPE_UNDEFINED;
  ze_graph_argument_layout_t layout = ZE_GRAPH_ARGUMENT_LAYOUT_ANY;
  std::string name;
  std::string friendly_name;
  std::vector<std::string> tensor_names;
  std::vector<uint32_t> dims;   // upper bounds where dynamic
  std::vector<uint64_t> shape;  // kDynamicDimension where dynamic

  // Not in the bytes, but found while reading.
  uint64_t bytes = 0;          // of a buffer for `dims`
  uint64_t place = 0;          // weights: where they are among all weights
  uint32_t companion = kNone;  // state: the argument for the other direction; dynamic data: its shape argument; shape: `port`

  // Found by the compiler: its memory may be an input's as well, so it is copied to the caller after each run.
  bool aliased = false;

  bool input() const { return type == ZE_GRAPH_ARGUMENT_TYPE_INPUT; }
  bool has_port() const { return role == GraphRole::Data || role == GraphRole::State; }
  bool dynamic() const;
};

struct Manifest {
  static constexpr uint64_t kWeightsAlignment = 64;

  std::string model_name;
  std::string_view xml;                                         // inside the bytes that were read
  uint64_t weights_size = 0;                                    // of what the blob holds
  uint64_t weights_added = 0;                                   // by arguments: each at the next multiple of kWeightsAlignment
  uint32_t flags = 0;                                           // ManifestFlag
  std::vector<std::pair<std::string, std::string>> properties;  // for compile_model
  std::vector<GraphArgument> arguments;                         // inputs before outputs

  bool profiling() const { return flags & ManifestFlag::kProfiling; }
  // It can be compiled once its weights arguments are set.
  bool weightless() const { return weights_added > 0; }
  uint64_t weights_extent() const { return weights_size + weights_added; }

  // False with a reason: the bytes may come from a file, so nothing in them is trusted. `xml` stays inside `bytes`.
  static bool read(std::string_view bytes, Manifest* manifest, std::string* reason);
};

// Of one element in memory, in bits; 0 for a type that no argument can have. Numbered as in OpenVINO's C library.
uint32_t element_bits(uint32_t element_type);

}  // namespace anyzero
