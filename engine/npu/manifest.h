// The manifest of a graph, written by the planner and stored in a native blob: the model's XML, its compile properties, and its
// arguments. Its bytes are a ManifestRecord.
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
  uint32_t element_type = 0;  // numbered as in OpenVINO's C library
  ze_graph_argument_precision_t precision = ZE_GRAPH_ARGUMENT_PRECISION_UNKNOWN;
  ze_graph_metadata_type metadata_type = ZE_GRAPH_METADATA_TYPE_UNDEFINED;
  ze_graph_argument_layout_t layout = ZE_GRAPH_ARGUMENT_LAYOUT_ANY;
  std::string name;
  std::string friendly_name;
  std::vector<std::string> tensor_names;
  std::vector<uint32_t> dims;   // upper bounds where dynamic
  std::vector<uint64_t> shape;  // kDynamicDimension where dynamic

  // Computed while reading, not stored.
  uint64_t bytes = 0;          // of a buffer for `dims`
  uint64_t place = 0;          // weights: offset among all weights
  uint32_t companion = kNone;  // state: the argument for the other direction; dynamic data: its shape argument; shape: `port`

  // Set by the compiler: the output may share memory with an input, so it is copied to the caller after each run.
  bool aliased = false;

  bool input() const { return type == ZE_GRAPH_ARGUMENT_TYPE_INPUT; }
  bool has_port() const { return role == GraphRole::Data || role == GraphRole::State; }
  bool dynamic() const;
};

struct Manifest {
  static constexpr uint64_t kWeightsAlignment = 64;

  std::string model_name;
  std::string_view xml;                                         // points into the bytes that were read
  uint64_t weights_size = 0;                                    // of the weights in the blob
  uint64_t weights_added = 0;                                   // by arguments: each at the next multiple of kWeightsAlignment
  uint32_t flags = 0;                                           // ManifestFlag
  std::vector<std::pair<std::string, std::string>> properties;  // for compile_model
  std::vector<GraphArgument> arguments;                         // inputs before outputs

  bool profiling() const { return flags & ManifestFlag::kProfiling; }
  // Can be compiled only once its weights arguments are set.
  bool weightless() const { return weights_added > 0; }
  uint64_t weights_extent() const { return weights_size + weights_added; }

  // The bytes are untrusted: false with a reason if they are invalid. `xml` points into `bytes`.
  static bool read(std::string_view bytes, Manifest* manifest, std::string* reason);
};

// Bits of one element in memory; 0 for a type that no argument can have. Numbered as in OpenVINO's C library.
uint32_t element_bits(uint32_t element_type);

}  // namespace anyzero
