// A model on an NPU: compiled to a graph, its arguments set, executed by a command list; then loaded again from its native binary.
// Last the same model compiled without its weights, which are arguments as well.
// needs: ANYZERO_DEVICES=npu
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "check.h"
#include "ze_npu_ext.h"

namespace {

constexpr uint32_t kInputs = 4, kOutputs = 3;

// y = relu(x · wᵀ) as OpenVINO's IR. The weights are 48 bytes at offset 0 of the weights buffer.
constexpr std::string_view kModel = R"(<net name="small" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4" element_type="f32"/>
  <output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="w" type="Const" version="opset1"><data element_type="f32" shape="3,4" offset="0" size="48"/>
  <output><port id="0" precision="FP32"><dim>3</dim><dim>4</dim></port></output></layer>
<layer id="2" name="product" type="MatMul" version="opset1"><data transpose_a="false" transpose_b="true"/>
  <input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port><port id="1" precision="FP32"><dim>3</dim><dim>4</dim></port></input>
  <output><port id="2" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
<layer id="3" name="y" type="ReLU" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
  <output><port id="1" precision="FP32" names="y"><dim>1</dim><dim>3</dim></port></output></layer>
<layer id="4" name="result" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/><edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/><edge from-layer="3" from-port="1" to-layer="4" to-port="0"/>
</edges></net>)";

using Weights = float[kOutputs][kInputs];
constexpr Weights kWeights = {{1, 2, 3, 4}, {-1, -1, -1, -1}, {0.5f, 0, 0, -0.25f}};

std::vector<float> expected(const float* x, const Weights& w) {
  std::vector<float> y(kOutputs);
  for (uint32_t row = 0; row < kOutputs; ++row) {
    for (uint32_t i = 0; i < kInputs; ++i) y[row] += w[row][i] * x[i];
    y[row] = std::max(y[row], 0.0f);
  }
  return y;
}

// The processor may compute in 16 bits.
bool close(const float* found, const std::vector<float>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!(std::abs(found[i] - wanted[i]) < 0.05f)) return false;
  return true;
}

template <class T>
void put(std::vector<uint8_t>* bytes, const T& value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), first, first + sizeof value);
}

// A graph of the NPU, and the extension's functions, which a driver hands out as a table.
class Graph {
 public:
  Graph(const Setup& setup, const ze_graph_dditable_ext_t& functions) : s(setup), ze(functions) {}
  ~Graph() {
    if (handle) CHECK(ze.pfnDestroy(handle));
  }

  void create(ze_graph_format_t format, const std::vector<uint8_t>& input, const char* flags) {
    ze_graph_desc_2_t desc = {.stype = ZE_STRUCTURE_TYPE_GRAPH_DESC_2,
                              .format = format,
                              .inputSize = input.size(),
                              .pInput = input.data(),
                              .pBuildFlags = flags};
    const ze_result_t result = ze.pfnCreate2(s.context, s.device, &desc, &handle);
    if (result == ZE_RESULT_SUCCESS) return;
    uint32_t size = 0;
    ze.pfnBuildLogGetString(nullptr, &size, nullptr);
    std::string log(size, 0);
    ze.pfnBuildLogGetString(nullptr, &size, log.data());
    std::fprintf(stderr, "the graph was not made (%#x): %s\n", static_cast<unsigned>(result), log.c_str());
    std::exit(1);
  }

  // The model and its weights in one buffer: version of the compiler, number of parts, and each part after its size.
  void compile(const Weights& weights, const char* flags) {
    ze_device_graph_properties_t compiler = {.stype = ZE_STRUCTURE_TYPE_DEVICE_GRAPH_PROPERTIES};
    CHECK(ze.pfnDeviceGetGraphProperties(s.device, &compiler));
    std::vector<uint8_t> model;
    put(&model, compiler.compilerVersion);
    put(&model, uint32_t{2});
    put(&model, uint64_t{kModel.size()});
    model.insert(model.end(), kModel.begin(), kModel.end());
    put(&model, uint64_t{sizeof weights});
    put(&model, weights);
    create(ZE_GRAPH_FORMAT_NGRAPH_LITE, model, flags);
  }

  uint32_t arguments() const {
    ze_graph_properties_t found = {.stype = ZE_STRUCTURE_TYPE_GRAPH_PROPERTIES};
    CHECK(ze.pfnGetProperties(handle, &found));
    return found.numGraphArgs;
  }

  // Arguments have names and numbers, and are set by number.
  ze_graph_argument_properties_3_t argument(uint32_t index) const {
    ze_graph_argument_properties_3_t found = {.stype = ZE_STRUCTURE_TYPE_GRAPH_ARGUMENT_PROPERTIES_3};
    CHECK(ze.pfnGetArgumentProperties3(handle, index, &found));
    return found;
  }

  void set(uint32_t index, const void* memory) const { CHECK(ze.pfnSetArgumentValue(handle, index, memory)); }

  std::vector<uint8_t> native_binary() const {
    size_t size = 0;
    CHECK(ze.pfnGetNativeBinary(handle, &size, nullptr));
    std::vector<uint8_t> bytes(size);
    CHECK(ze.pfnGetNativeBinary(handle, &size, bytes.data()));
    return bytes;
  }

  // Records one inference with the current arguments.
  void execute(ze_command_list_handle_t list) const { CHECK(ze.pfnAppendGraphExecute(list, handle, nullptr, nullptr, 0, nullptr)); }

 private:
  const Setup& s;
  const ze_graph_dditable_ext_t& ze;
  ze_graph_handle_t handle = nullptr;
};

}  // namespace

int main() {
  Setup s(ZE_INIT_FLAG_VPU_ONLY);
  void* address = nullptr;
  CHECK(zeDriverGetExtensionFunctionAddress(s.driver, ZE_GRAPH_EXT_NAME, &address));
  const auto& functions = *static_cast<const ze_graph_dditable_ext_t*>(address);

  Graph graph(s, functions);
  graph.compile(kWeights, "");
  const auto x_is = graph.argument(0), y_is = graph.argument(1);
  prove(graph.arguments() == 2 && x_is.type == ZE_GRAPH_ARGUMENT_TYPE_INPUT && x_is.dims[1] == kInputs &&
            y_is.type == ZE_GRAPH_ARGUMENT_TYPE_OUTPUT && y_is.dims[1] == kOutputs,
        "the graph takes \"%s\" and gives \"%s\"", x_is.name, y_is.name);

  float* x = s.host<float>(kInputs);
  float* y = s.host<float>(kOutputs);
  std::copy_n(std::begin({1.0f, 0.5f, -2.0f, 3.0f}), kInputs, x);
  std::fill_n(y, kOutputs, NAN);
  graph.set(0, x);
  graph.set(1, y);
  ze_command_queue_handle_t queue = s.queue();
  ze_command_list_handle_t list = s.list();
  graph.execute(list);
  prove(std::isnan(y[0]), "an appended inference does not run yet");
  s.run(queue, list);
  prove(close(y, expected(x, kWeights)), "one inference: %g %g %g", y[0], y[1], y[2]);

  // The list keeps its arguments, and reads their contents when it runs.
  x[0] = 5;
  CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
  CHECK(zeCommandQueueSynchronize(queue, kForever));
  prove(close(y, expected(x, kWeights)), "the recorded inference ran again, on another input");

  // The compiled graph can be saved, and loaded without the model.
  Graph loaded(s, functions);
  loaded.create(ZE_GRAPH_FORMAT_NATIVE, graph.native_binary(), nullptr);
  float* again = s.host<float>(kOutputs);
  std::fill_n(again, kOutputs, NAN);
  loaded.set(0, x);
  loaded.set(1, again);
  CHECK(zeCommandListReset(list));
  loaded.execute(list);
  s.run(queue, list);
  prove(std::equal(y, y + kOutputs, again), "a graph from a native binary gives the same");

  // Weightless: one compilation serves any weights, and the binary does not contain them.
  Graph weightless(s, functions);
  weightless.compile(kWeights, "--config ENABLE_WEIGHTLESS=\"YES\"");
  const auto w_is = weightless.argument(1);
  prove(weightless.arguments() == 3 && std::string(w_is.debug_friendly_name) == "w" && w_is.dims[0] == kOutputs &&
            w_is.dims[1] == kInputs,
        "the weights \"%s\" are an argument", w_is.debug_friendly_name);
  float* w = s.host<float>(kOutputs * kInputs);
  Weights other;
  for (uint32_t i = 0; i < kOutputs * kInputs; ++i) w[i] = other[i / kInputs][i % kInputs] = static_cast<float>(i % 5) - 2;
  std::fill_n(again, kOutputs, NAN);
  weightless.set(0, x);
  weightless.set(1, w);
  weightless.set(2, again);
  CHECK(zeCommandListReset(list));
  weightless.execute(list);
  s.run(queue, list);
  prove(close(again, expected(x, other)) && !close(again, expected(x, kWeights)), "it computes with the weights that are set");
  const std::vector<uint8_t> binary = weightless.native_binary();
  const auto* first = reinterpret_cast<const uint8_t*>(&kWeights);
  prove(std::search(binary.begin(), binary.end(), first, first + sizeof kWeights) == binary.end(),
        "the native binary has no weights: %zu bytes", binary.size());

  CHECK(zeCommandListDestroy(list));
  CHECK(zeCommandQueueDestroy(queue));
  for (float* memory : {x, y, again, w}) CHECK(zeMemFree(s.context, memory));
}
