// Reading a graph's manifest: everything of a good one, and no bad one is believed.
#include "../../engine/npu/manifest.h"

#include <cassert>
#include <cstdio>
#include <cstring>
#include <random>

#include "graph_bytes.h"

using namespace graph_bytes;
using anyzero::GraphArgument;
using anyzero::GraphRole;
using anyzero::Manifest;

namespace {

Manifest read(const std::string& bytes) {
  Manifest found;
  std::string reason;
  if (!Manifest::read(bytes, &found, &reason)) std::fprintf(stderr, "refused: %s\n", reason.c_str());
  assert(reason.empty());
  return found;
}

bool refused(const Graph& graph, const char* because) {
  Manifest found;
  std::string reason;
  const bool good = Manifest::read(manifest(graph), &found, &reason);
  if (good || reason.find(because) == std::string::npos)
    std::fprintf(stderr, "refused for '%s', not '%s'\n", reason.c_str(), because);
  return !good && reason.find(because) != std::string::npos;
}

void a_good_one_is_read_whole() {
  Graph graph = of_every_kind();
  graph.weights_size = 1234;
  const std::string bytes = manifest(graph);
  const Manifest found = read(bytes);
  assert(found.model_name == "tiny" && found.weights_size == 1234 && found.profiling());
  assert(found.xml == graph.xml && found.xml.data() > bytes.data() && found.xml.data() < bytes.data() + bytes.size());
  assert(found.properties == graph.properties && found.arguments.size() == 6);
  const auto& all = found.arguments;
  assert(all[0].input() && !all[4].input() && all[0].role == GraphRole::Data && all[2].role == GraphRole::State);
  assert(all[0].bytes == 24 && all[1].bytes == 96 && all[2].bytes == 16 && all[3].bytes == 8);
  assert(!all[0].dynamic() && all[1].dynamic() && !all[2].dynamic());
  assert(all[0].companion == GraphArgument::kNone && all[1].companion == 3 && all[3].companion == 1);
  assert(all[2].companion == 5 && all[5].companion == 2);
  assert(all[4].name == "y" && all[4].friendly_name == "Y" && all[4].tensor_names == graph.arguments[4].tensor_names);
  assert(all[1].dims == graph.arguments[1].dims && all[1].shape == graph.arguments[1].shape);
  assert(all[0].precision == ZE_GRAPH_ARGUMENT_PRECISION_FP32 && all[0].metadata_type == ZE_GRAPH_METADATA_TYPE_F32 &&
         all[0].layout == ZE_GRAPH_ARGUMENT_LAYOUT_NC && all[0].element_type == kF32);
}

// They lie behind what the blob holds, each at a multiple of 64, and have no port.
void weights_have_places() {
  Graph graph;
  graph.weights_size = 10;
  graph.arguments.clear();
  for (uint32_t size : {100u, 28u, 1u})
    graph.arguments.push_back({.role = 3, .element_type = kU8, .precision = 4, .name = "w", .dims = {size}, .shape = {size}});
  const std::string bytes = manifest(graph);
  const Manifest found = read(bytes);
  assert(found.weightless() && found.weights_size == 10 && found.weights_extent() == 257);
  assert(found.arguments[0].place == 64 && found.arguments[1].place == 192 && found.arguments[2].place == 256);
  assert(!found.arguments[0].has_port());
  graph.arguments.clear();
  const std::string without = manifest(graph);
  assert(!read(without).weightless() && read(without).weights_extent() == 10);
}

void sizes_follow_from_elements() {
  struct Case {
    uint32_t element_type, precision;
    std::vector<uint32_t> dims;
    uint64_t bytes;
  };
  const Case cases[] = {
      {kF32, 1, {}, 4},
      {kF32, 1, {1}, 4},
      {kF32, 1, {0, 7}, 0},
      {kF64, 15, {3}, 24},
      {1, 14, {5}, 5},
      {11, 8, {9}, 2},
      {6, 12, {3}, 2},
      {12, 22, {5}, 2},
      {kU8, 4, {65536, 65536}, 1ull << 32},
      {3, 2, {1, 2, 3, 4, 5}, 240},
  };
  for (const Case& each : cases) {
    Graph graph;
    graph.arguments = {{.element_type = each.element_type,
                        .precision = each.precision,
                        .dims = each.dims,
                        .shape = std::vector<uint64_t>(each.dims.begin(), each.dims.end())}};
    assert(read(manifest(graph)).arguments[0].bytes == each.bytes);
  }
  Graph scalar;  // told as one element
  scalar.arguments = {{.dims = {1}, .shape = {}}};
  assert(read(manifest(scalar)).arguments[0].bytes == 4);
}

void nonsense_is_refused() {
  auto bad = [](auto&& change, const char* because) {
    Graph graph = of_every_kind();
    change(graph);
    assert(refused(graph, because));
  };
  bad([](Graph& g) { g.version = 2; }, "version 2");
  bad([](Graph& g) { g.xml.clear(); }, "no model");
  bad([](Graph& g) { g.flags = 4; }, "flags");
  bad([](Graph& g) { g.name = std::string("a\0b", 3); }, "damaged");
  bad([](Graph& g) { g.arguments[0].type = 2; }, "neither an input nor an output");
  bad([](Graph& g) { g.arguments[0].role = 4; }, "argument 0 (x) has role 4");
  bad([](Graph& g) { g.arguments[4].role = 3; }, "cannot be weights");
  bad([](Graph& g) { g.arguments[0].role = 3, g.arguments[0].dims = {0}, g.arguments[0].shape = {0}; }, "cannot be weights");
  bad([](Graph& g) { g.arguments[0].role = 3, g.weights_size = uint64_t{1} << 60; }, "weights are larger than any memory");
  bad([](Graph& g) { g.arguments[0].type = 1; }, "an input after outputs");
  bad([](Graph& g) { g.arguments[0].dims = {1, 1, 1, 1, 1, 1}; }, "6 dimensions");
  bad([](Graph& g) { g.arguments[0].shape = {6}; }, "shape that does not match");
  bad([](Graph& g) { g.arguments[0].element_type = 0; }, "element type 0");
  bad([](Graph& g) { g.arguments[0].element_type = 23; }, "element type 23");
  bad([](Graph& g) { g.arguments[0].element_type = 4000; }, "element type 4000");
  bad([](Graph& g) { g.arguments[0].element_type = kF64; }, "precision that does not match");
  bad([](Graph& g) { g.arguments[0].layout = UINT32_MAX; }, "invalid precision, type or layout");
  bad([](Graph& g) { g.arguments[0].dims = {UINT32_MAX, UINT32_MAX}; }, "larger than any memory");
  bad([](Graph& g) { g.arguments[0].dims = {1u << 24, 1u << 21}; }, "larger than any memory");
  bad([](Graph& g) { g.arguments[0].port = 6; }, "an invalid port");
  bad([](Graph& g) { g.arguments[1].port = 0; }, "two arguments belong to input 0");
  bad(
      [](Graph& g) {
        g.arguments[3].port = 0;
        g.arguments[0].dims = {6}, g.arguments[0].shape = {6};
      },
      "cannot hold the shape");
  bad([](Graph& g) { g.arguments[3].port = 3; }, "cannot hold the shape");
  bad([](Graph& g) { g.arguments[3].port = 4; }, "cannot hold the shape");
  bad([](Graph& g) { g.arguments[3].port = 2; }, "cannot hold the shape");
  bad([](Graph& g) { g.arguments[5].dims = {5}, g.arguments[5].shape = {5}; }, "are not one state");
  bad([](Graph& g) { g.arguments[3].element_type = 10, g.arguments[3].precision = 17; }, "cannot hold the shape");
}

void every_cut_is_refused() {
  const std::string good = manifest(of_every_kind());
  Manifest found;
  std::string reason;
  for (size_t size = 0; size < good.size(); ++size) {
    reason.clear();
    // In memory of exactly that size, so that the sanitizers see a step too far.
    const std::vector<char> cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    assert(!Manifest::read({cut.data(), cut.size()}, &found, &reason) && reason.find("damaged") != std::string::npos);
  }
  assert(!Manifest::read(good + "x", &found, &reason) && reason.find("bytes follow") != std::string::npos);
}

// Random damage: refused, or something that holds together. The sanitizers are the judges.
void fuzz() {
  const std::string good = manifest(of_every_kind());
  std::mt19937 random(3);
  int accepted = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::vector<char> bad(good.begin(), good.end());
    for (unsigned n = 1 + random() % 3; n > 0; --n) bad[random() % bad.size()] = static_cast<char>(random() % 3 ? random() : 0xFF);
    Manifest found;
    std::string reason;
    const bool read = Manifest::read({bad.data(), bad.size()}, &found, &reason);
    assert(read == reason.empty());
    if (!read) continue;
    ++accepted;
    assert(found.xml.data() >= bad.data() && found.xml.data() + found.xml.size() <= bad.data() + bad.size());
    for (const GraphArgument& each : found.arguments) {
      assert(each.dims.size() <= 5 && each.port < found.arguments.size());
      assert(each.companion == GraphArgument::kNone || each.companion < found.arguments.size());
    }
  }
  assert(accepted > 100 && accepted < 29'900);
}

}  // namespace

int main() {
  a_good_one_is_read_whole();
  weights_have_places();
  sizes_follow_from_elements();
  nonsense_is_refused();
  every_cut_is_refused();
  fuzz();
  std::puts("manifest_test: ok");
  return 0;
}
