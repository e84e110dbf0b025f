// Manifests of graphs, written as the planner writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layouts/gen/graph.h"

namespace graph_bytes {

constexpr uint32_t kF32 = 4, kF64 = 5, kI32 = 9, kU8 = 16;
constexpr uint32_t kPrecisionF32 = 1, kPrecisionI32 = 5;
constexpr uint64_t kDynamic = anyzero::kDynamicDimension;

struct Argument {
  uint32_t type = 0, role = 0, port = 0, element_type = kF32, precision = kPrecisionF32, metadata_type = 5, layout = 193;
  std::string name = "x", friendly_name = "X";
  std::vector<std::string> tensor_names = {"x:0"};
  std::vector<uint32_t> dims = {2, 3};
  std::vector<uint64_t> shape = {2, 3};
};

struct Graph {
  uint32_t version = anyzero::kManifestVersion;
  uint64_t weights_size = 0;
  std::string name = "tiny", xml = "<net name=\"tiny\" version=\"11\"/>";
  uint32_t flags = 0;
  std::vector<std::pair<std::string, std::string>> properties = {{"PERF_COUNT", "YES"}};
  std::vector<Argument> arguments = {Argument{}, Argument{.type = 1, .name = "y", .friendly_name = "Y"}};
};

inline std::string manifest(const Graph& graph) {
  anyzero::ManifestRecord record{graph.version, graph.weights_size, graph.name, graph.xml, graph.flags, {}, {}};
  for (const auto& [key, value] : graph.properties) record.properties.push_back({key, value});
  for (const Argument& each : graph.arguments)
    record.arguments.push_back({each.type,
                                each.role,
                                each.port,
                                each.element_type,
                                each.precision,
                                each.metadata_type,
                                each.layout,
                                each.name,
                                each.friendly_name,
                                {each.tensor_names.begin(), each.tensor_names.end()},
                                each.dims,
                                each.shape});
  anyzero::ByteWriter bytes;
  encode(bytes, record);
  return bytes.done();
}

// One of everything: data of two shapes, a state, and a dynamic input with its shape.
inline Graph of_every_kind() {
  Graph graph;
  graph.flags = 1;
  graph.arguments = {
      {},
      {.port = 1, .name = "d", .friendly_name = "D", .tensor_names = {}, .dims = {8, 3}, .shape = {kDynamic, 3}},
      {.role = 1, .port = 2, .name = "vpux_ie_read_value_s", .friendly_name = "s", .tensor_names = {}, .dims = {4}, .shape = {4}},
      {.role = 2,
       .port = 1,
       .element_type = kI32,
       .precision = kPrecisionI32,
       .name = "vpux_ie_shape_d",
       .friendly_name = "",
       .tensor_names = {},
       .dims = {2},
       .shape = {2}},
      {.type = 1, .name = "y", .friendly_name = "Y", .tensor_names = {"y", "y:0"}},
      {.type = 1,
       .role = 1,
       .port = 1,
       .name = "vpux_ie_assign_s",
       .friendly_name = "s",
       .tensor_names = {},
       .dims = {4},
       .shape = {4}},
  };
  return graph;
}

}  // namespace graph_bytes
