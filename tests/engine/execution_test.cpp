// Executions of graphs: right results from memory of every kind, and a reason where the memory is bad.
#include <utility>

#include "graph_scene.h"

using namespace scene;

namespace {

void computes_in_place() {
  std::string text;
  auto graph = compile(add_relu(&text), weights.bytes());
  auto execution = prepare(graph);
  AtTheEdge x(64), y(64);
  bind(*execution, {x.floats(), y.floats()});
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < 16; ++i) x.floats()[i] = static_cast<float>(round) * 3 - static_cast<float>(i);
    run(*execution);
    for (size_t i = 0; i < 16; ++i) assert(y.floats()[i] == add_relu_of(x.floats()[i], i));
  }
  // Other memory, at any alignment.
  std::vector<unsigned char> loose(200);
  bind(*execution, {loose.data() + 1, loose.data() + 101});
  const float ones = 1;
  for (size_t i = 0; i < 16; ++i) std::memcpy(loose.data() + 1 + 4 * i, &ones, 4);
  run(*execution);
  for (size_t i = 0; i < 16; ++i) {
    float got;
    std::memcpy(&got, loose.data() + 101 + 4 * i, 4);
    assert(got == add_relu_of(1, i));
  }
  assert(loose[100] == 0 && loose[165] == 0);
  // The execution keeps what it is an execution of.
  graph.reset();
  run(*execution);
  assert(execution->layers().empty());
}

// A weightless graph is described without its weights, and computes with those that it is compiled with.
void weights_may_come_later() {
  std::string text, log;
  Manifest manifest = add_relu(&text, {"1..4,16"});
  manifest.weights_added = std::exchange(manifest.weights_size, 0);
  GraphArgument given = manifest.arguments[0];
  given.role = GraphRole::Weights;
  given.name = "vpux_tw_0";
  given.shape = {16}, given.dims = {16}, given.bytes = 64;
  given.companion = GraphArgument::kNone;
  const size_t place = 2;  // behind the input and its shape
  for (GraphArgument& each : manifest.arguments) {
    if (each.companion != GraphArgument::kNone && each.companion >= place) ++each.companion;
    if (each.role == GraphRole::Shape && each.port >= place) ++each.port;
  }
  manifest.arguments.insert(manifest.arguments.begin() + place, given);
  std::vector<GraphArgument> arguments;
  const std::vector<unsigned char> nothing(64);
  assert(CompiledGraph::describe(manifest, nothing, &arguments, &log) == ZE_RESULT_SUCCESS && arguments.size() == 5);
  assert(CompiledGraph::describe(manifest, {}, &arguments, &log) == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  auto execution = prepare(compile(manifest, weights.bytes()));
  AtTheEdge x(4 * 64), y(4 * 64);
  int32_t taken[2] = {16, 2}, made[2] = {};
  // The model has its weights already, so their memory is not looked at.
  bind(*execution, {x.floats(), taken, reinterpret_cast<void*>(64), y.floats(), made});
  std::iota(x.floats(), x.floats() + 32, -16.f);
  run(*execution);
  assert(made[0] == 16 && made[1] == 2);
  for (size_t i = 0; i < 32; ++i) assert(y.floats()[i] == add_relu_of(x.floats()[i], i));
}

void inputs_have_an_order() {
  GraphModel model;
  auto a = model.parameter("a", {"4"}), b = model.parameter("b", {"4"}), scale = model.parameter("scale", {""});
  auto difference = model.op("difference", "Subtract", {a, b}, {"4"});
  model.result("difference", difference);
  model.result("scaled", model.op("scaled", "Multiply", {difference, scale}, {"4"}));
  std::string text;
  auto execution = prepare(compile(model.manifest(&text)));
  float av[4] = {5, 6, 7, 8}, bv[4] = {1, 1, 2, 2}, s = 10, first[4], second[4];
  bind(*execution, {av, bv, &s, first, second});
  run(*execution);
  const float expected[4] = {4, 5, 5, 6};
  for (int i = 0; i < 4; ++i) assert(first[i] == expected[i] && second[i] == 10 * expected[i]);
}

// A state that cannot be computed in place: every element moves.
void states_share_a_buffer() {
  GraphModel model;
  auto x = model.parameter("x", {"48,48"});
  auto s = model.parameter("vpux_ie_read_value_s", {"48,48"}, kF32, GraphRole::State);
  auto turned = model.op("turned", "MatMul", {s, x}, {"48,48"}, "transpose_a=\"true\" transpose_b=\"false\"");
  model.result("y", turned);
  model.result("vpux_ie_assign_s", turned, GraphRole::State);
  std::string text;
  Manifest manifest = model.manifest(&text);
  manifest.properties = {{"INFERENCE_PRECISION_HINT", "f32"}};  // else some processors multiply with fewer bits
  auto execution = prepare(compile(manifest));
  std::vector<float> unit(48 * 48), state(48 * 48), y(48 * 48), expected(48 * 48);
  for (size_t i = 0; i < 48; ++i) unit[i * 49] = 2;
  std::iota(state.begin(), state.end(), 0.f);
  bind(*execution, {unit.data(), state.data(), y.data(), state.data()});
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < 48; ++i)
      for (size_t j = 0; j < 48; ++j) expected[i * 48 + j] = 2 * state[j * 48 + i];
    run(*execution);
    assert(state == expected && y == expected);
  }
  // Buffers of their own work as well, and the old value stays.
  std::vector<float> next(48 * 48), before = state;
  bind(*execution, {unit.data(), state.data(), y.data(), next.data()});
  run(*execution);
  assert(state == before && next == y && next[1] == 2 * state[48]);
}

void dynamic_shapes() {
  std::string text;
  auto graph = compile(add_relu(&text, {"1..4,16"}), weights.bytes());
  auto execution = prepare(graph);
  std::vector<float> x(64);
  std::iota(x.begin(), x.end(), -20.f);
  AtTheEdge y(2 * 64);
  int32_t in_shape[2] = {16, 2}, out_shape[2] = {};
  bind(*execution, {x.data(), in_shape, y.floats(), out_shape});
  for (int32_t rows : {2, 1, 2, 2}) {
    std::fill_n(y.floats(), 32, -1.f);
    in_shape[1] = rows;
    run(*execution);
    assert(out_shape[0] == 16 && out_shape[1] == rows);
    for (size_t i = 0; i < 32; ++i) assert(y.floats()[i] == (i < static_cast<size_t>(rows) * 16 ? add_relu_of(x[i], i) : -1.f));
  }
  // More than there is room for, though the model allows it.
  in_shape[1] = 4;
  SAYS(refused(*execution), "(y) has its data, cannot be written");
  for (int32_t bad : {5, 0, -1, INT32_MIN, INT32_MAX}) {
    in_shape[1] = bad;
    Text reason = refused(*execution);
    if (bad) {
      SAYS(reason, "vpux_ie_shape_x names a shape that x cannot have");
      SAYS(reason, "[16,4]");
    }
  }
  in_shape[0] = 15;
  SAYS(refused(*execution), "names a shape");
  std::string reason;
  assert(execution->bind(1, kNowhere, nullptr, &reason));
  SAYS(refused(*execution), "(vpux_ie_shape_x) has its dimensions, cannot be read");
  in_shape[0] = 16;
  in_shape[1] = 2;
  bind(*execution, {x.data(), in_shape});
  run(*execution);

  // Memory of the driver's own, large enough for any shape, is written in place.
  Scene driver;
  auto* own = reinterpret_cast<float*>(driver.memory(4 * 64));
  bind(*execution, {x.data(), in_shape, own, out_shape});
  for (int32_t rows : {4, 3, 4}) {
    std::fill_n(own, 64, -1.f);
    in_shape[1] = rows;
    run(*execution);
    assert(out_shape[1] == rows);
    for (size_t i = 0; i < 64; ++i) assert(own[i] == (i < static_cast<size_t>(rows) * 16 ? add_relu_of(x[i], i) : -1.f));
  }
  execution.reset();
  driver.free(reinterpret_cast<unsigned char*>(own));
}

void strides() {
  std::string text, reason;
  GraphModel model;
  auto x = model.parameter("x", {"3,4,5"});
  model.result("y", model.op("relu", "ReLU", {x}, {"3,4,5"}));
  auto graph = compile(model.manifest(&text));
  auto value = [](uint32_t i, uint32_t j, uint32_t k) { return static_cast<float>(100 * i + 10 * j + k) - 111; };
  // Rows with gaps; columns first; every second element; everything in the same place, which only an input can be.
  const uint32_t layouts[][3] = {{96, 24, 4}, {4, 12, 48}, {160, 40, 8}, {80, 20, 4}, {0, 0, 0}, {1000, 128, 4}, {40, 80, 4}};
  for (const auto& in : layouts)
    for (const auto& out : layouts) {
      if (out[2] == 0 || (out[0] == 40)) continue;
      auto execution = prepare(graph);
      const bool one = in[2] == 0, crossed = in[0] == 40;
      auto end = [](const uint32_t* s) { return 2 * s[0] + 3 * s[1] + 4 * s[2] + 4; };
      AtTheEdge from(end(in)), to(end(out));
      std::fill_n(to.floats(), end(out) / 4, -7.f);
      auto at = [](const AtTheEdge& memory, const uint32_t* s, uint32_t i, uint32_t j, uint32_t k) -> float& {
        return memory.floats()[(i * s[0] + j * s[1] + k * s[2]) / 4];
      };
      for (uint32_t i = 0; i < 3; ++i)
        for (uint32_t j = 0; j < 4; ++j)
          for (uint32_t k = 0; k < 5; ++k) at(from, in, i, j, k) = one ? 9 : value(i, j, k);
      assert(execution->bind(0, from.floats(), in, &reason) && execution->bind(1, to.floats(), out, &reason));
      for (int round = 0; round < 2; ++round) run(*execution);
      std::vector<bool> written(end(out) / 4);
      for (uint32_t i = 0; i < 3; ++i)
        for (uint32_t j = 0; j < 4; ++j)
          for (uint32_t k = 0; k < 5; ++k) {
            const float given = at(from, in, i, j, k);
            assert(one || crossed || given == value(i, j, k));
            assert(at(to, out, i, j, k) == std::max(0.f, given));
            written[(i * out[0] + j * out[1] + k * out[2]) / 4] = true;
          }
      for (size_t i = 0; i < written.size(); ++i) assert(written[i] || to.floats()[i] == -7.f);
    }
  // What lies beyond the end is found before anything runs.
  auto execution = prepare(graph);
  AtTheEdge from(240), to(240);
  const uint32_t wide[] = {96, 24, 4}, huge[] = {1 << 20, 1 << 20, 1 << 20};
  assert(execution->bind(0, from.floats(), wide, &reason) && execution->bind(1, to.floats(), nullptr, &reason));
  SAYS(refused(*execution), "(x) has its data, cannot be read");
  assert(execution->bind(0, from.floats(), nullptr, &reason) && execution->bind(1, to.floats(), huge, &reason));
  SAYS(refused(*execution), "(y) has its data, cannot be written");
}

void bad_memory() {
  std::string text, reason;
  GraphModel model;
  const uint32_t count = 64 * 1024;
  auto x = model.parameter("x", {std::to_string(count)});
  model.result("y", model.op("relu", "ReLU", {x}, {std::to_string(count)}));
  auto graph = compile(model.manifest(&text));
  auto execution = prepare(graph);
  SAYS(refused(*execution), "argument 0 (x) has no memory");
  AtTheEdge from(4 * count), to(4 * count), fixed(4 * count, PROT_READ), none(4 * count, PROT_NONE);
  assert(execution->bind(0, from.floats(), nullptr, &reason));
  SAYS(refused(*execution), "argument 1 (y) has no memory");
  assert(!execution->bind(0, nullptr, nullptr, &reason) && !execution->bind(2, from.floats(), nullptr, &reason));
  assert(!execution->bind(0, reinterpret_cast<void*>(UINTPTR_MAX - 64), nullptr, &reason));
  assert(!execution->bind(0, reinterpret_cast<void*>(uintptr_t{0xdead} << 48), nullptr, &reason));
  assert(execution->bind(1, to.floats(), nullptr, &reason));
  run(*execution);
  for (void* bad : {static_cast<void*>(kNowhere), static_cast<void*>(none.floats()), static_cast<void*>(from.floats() + 4),
                    reinterpret_cast<void*>(8)}) {
    assert(execution->bind(0, bad, nullptr, &reason));
    SAYS(refused(*execution), "argument 0 (x) has its data, cannot be read");
  }
  assert(execution->bind(0, fixed.floats(), nullptr, &reason));
  run(*execution);
  for (void* bad : {static_cast<void*>(kNowhere), static_cast<void*>(fixed.floats()), static_cast<void*>(to.floats() + 1)}) {
    assert(execution->bind(1, bad, nullptr, &reason));
    SAYS(refused(*execution), "argument 1 (y) has its data, cannot be written");
  }
  // Looking changes nothing.
  to.floats()[5] = 77;
  assert(execution->bind(0, kNowhere, nullptr, &reason) && execution->bind(1, to.floats(), nullptr, &reason));
  refused(*execution);
  assert(to.floats()[5] == 77);
  // And it goes on afterwards; in place as well, which is a copy of ours.
  for (uint32_t i = 0; i < count; ++i) from.floats()[i] = static_cast<float>(i) - 1000;
  bind(*execution, {from.floats(), from.floats()});
  run(*execution);
  for (uint32_t i = 0; i < count; ++i) assert(from.floats()[i] == std::max(0.f, static_cast<float>(i) - 1000));
}

void many_threads() {
  std::string text;
  auto graph = compile(add_relu(&text), weights.bytes());
  threads(4, [&](int index) {
    std::vector<std::unique_ptr<Execution>> executions;
    std::vector<std::vector<float>> x(3, std::vector<float>(16)), y = x;
    for (size_t e = 0; e < 3; ++e) {
      executions.push_back(prepare(graph));
      bind(*executions[e], {x[e].data(), y[e].data()});
    }
    for (int round = 0; round < 50; ++round)
      for (size_t e = 0; e < 3; ++e) {
        const float given = static_cast<float>(index * 1000 + round) - static_cast<float>(e);
        std::fill(x[e].begin(), x[e].end(), given);
        run(*executions[e]);
        for (size_t i = 0; i < 16; ++i) assert(y[e][i] == add_relu_of(given, i));
      }
    // Others compile meanwhile.
    std::string own;
    run(*[&] {
      static thread_local std::unique_ptr<Execution> last;
      last = prepare(compile(add_relu(&own), weights.bytes()));
      bind(*last, {x[0].data(), y[0].data()});
      return last.get();
    }());
  });
}

void profiling() {
  std::string text;
  Manifest manifest = add_relu(&text);
  manifest.flags = ManifestFlag::kProfiling;
  manifest.properties = {{"PERF_COUNT", "YES"}, {"PERFORMANCE_HINT", "LATENCY"}};
  auto execution = prepare(compile(manifest, weights.bytes()));
  float x[16] = {}, y[16];
  bind(*execution, {x, y});
  run(*execution);
  const std::vector<LayerTime> layers = execution->layers();
  bool executed = false;
  for (const LayerTime& layer : layers) {
    assert(!layer.name.empty() && !layer.type.empty() && layer.real_us < 10'000'000);
    executed |= layer.status == LayerTime::Status::Executed && (layer.name == "add" || layer.name == "relu");
  }
  assert(executed);
}

}  // namespace

int main() {
  if (!openvino_found("execution")) return 0;
  computes_in_place();
  weights_may_come_later();
  inputs_have_an_order();
  states_share_a_buffer();
  dynamic_shapes();
  strides();
  bad_memory();
  many_threads();
  profiling();
  std::puts("execution: ok");
  return 0;
}
