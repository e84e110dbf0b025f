// Manifests of graphs, written as the planner writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graph_bytes {

constexpr uint32_t kF32 = 4, kF64 = 5, kI32 = 9, kU8 = 16;
constexpr uint32_t kPrecisionF32 = 1, kPrecisionI32 = 5;
constexpr uint64_t kDynamic = UINT64_MAX;

struct Argument {
  uint32_t type = 0, role = 0, port = 0, element_type = kF32, precision = kPrecisionF32, metadata_type = 5, layout = 193;
  std::string name = "x", friendly_name = "X";
  std::vector<std::string> tensor_names = {"x:0"};
  std::vector<uint32_t> dims = {2, 3};
  std::vector<uint64_t> shape = {2, 3};
};

struct Graph {
  uint32_t version = 1;
  uint64_t weights_size = 0;
  std::string name = "tiny", xml = "<net name=\"tiny\" version=\"11\"/>";
  uint32_t flags = 0;
  std::vector<std::pair<std::string, std::string>> properties = {{"PERF_COUNT", "YES"}};
  std::vector<Argument> arguments = {Argument{}, Argument{.type = 1, .name = "y", .friendly_name = "Y"}};
};

class Bytes {
 public:
  void u32(uint32_t value) { raw(&value, sizeof value); }
  void u64(uint64_t value) { raw(&value, sizeof value); }
  void text(std::string_view value) {
    u64(value.size());
    raw(value.data(), value.size());
  }
  const std::string& all() const { return all_; }

 private:
  void raw(const void* from, size_t size) { all_.append(static_cast<const char*>(from), size); }
  std::string all_;
};

inline std::string manifest(const Graph& graph) {
  Bytes bytes;
  bytes.u32(graph.version);
  bytes.u64(graph.weights_size);
  bytes.text(graph.name);
  bytes.text(graph.xml);
  bytes.u32(graph.flags);
  bytes.u32(static_cast<uint32_t>(graph.properties.size()));
  for (const auto& [key, value] : graph.properties) {
    bytes.text(key);
    bytes.text(value);
  }
  bytes.u32(static_cast<uint32_t>(graph.arguments.size()));
  for (const Argument& each : graph.arguments) {
    for (uint32_t value : {each.type, each.role, each.port, each.element_type, each.precision, each.metadata_type, each.layout})
      bytes.u32(value);
    bytes.text(each.name);
    bytes.text(each.friendly_name);
    bytes.u32(static_cast<uint32_t>(each.tensor_names.size()));
    for (const std::string& name : each.tensor_names) bytes.text(name);
    bytes.u32(static_cast<uint32_t>(each.dims.size()));
    for (uint32_t value : each.dims) bytes.u32(value);
    bytes.u32(static_cast<uint32_t>(each.shape.size()));
    for (uint64_t value : each.shape) bytes.u64(value);
  }
  return bytes.all();
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
