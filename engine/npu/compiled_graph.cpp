#include "compiled_graph.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "../exec/trap.h"
#include "aliasing.h"
#include "compiled_form.h"
#include "graph_record.h"
#include "model_check.h"

namespace anyzero {

namespace {

// Allowed properties. Blobs are untrusted, and some of the library's properties name files to write.
constexpr std::array kProperties = {
    "PERF_COUNT",
    "PERFORMANCE_HINT",
    "PERFORMANCE_HINT_NUM_REQUESTS",
    "NUM_STREAMS",
    "INFERENCE_NUM_THREADS",
    "INFERENCE_PRECISION_HINT",
    "EXECUTION_MODE_HINT",
    "MODEL_PRIORITY",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "SCHEDULING_CORE_TYPE",
    "COMPILATION_NUM_THREADS",
    "LOG_LEVEL",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
};

// Frees an object of the library when it goes out of scope.
template <class T>
class Owned {
 public:
  explicit Owned(void (*free)(T*)) : free_(free) {}
  ~Owned() {
    if (object_ && !OpenVinoCall::given_up()) free_(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T** out() { return &object_; }
  operator T*() const { return object_; }

 private:
  void (*free_)(T*);
  T* object_ = nullptr;
};

bool mentions(std::string_view text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return text.find(word) != text.npos; });
}

ze_result_t result_of(std::string_view text, ze_result_t otherwise) {
  if (mentions(text, {"bad_alloc", "Cannot allocate memory"})) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (mentions(text, {"contain the operation", "unsupported opset", "not supported", "nsupported"}))
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  return otherwise;
}

// Appends to the log, which may already have text from other steps.
void say(std::string* log, const std::string& text) {
  if (!log->empty() && log->back() != '\n') *log += '\n';
  *log += text;
}

std::string that(const GraphArgument& argument) { return "argument " + argument.name; }

std::string listed(const OpenVino::PartialShape& shape) {
  std::string text = "[";
  for (int64_t i = 0; i < shape.rank.most; ++i) {
    const auto [least, most] = shape.dims[i];
    if (i) text += ',';
    text += std::to_string(least);
    if (least != most) text += ".." + (most < 0 ? std::string() : std::to_string(most));
  }
  return text + "]";
}

// Reads the model with the library; null, with a log, on failure.
ze_result_t read_model(const OpenVino& openvino, std::string_view xml, std::span<const unsigned char> weights,
                       Owned<OpenVino::Model>* model, std::string* log) {
  std::string reason;
  if (!check_model(xml, &reason)) {
    say(log, "OpenVINO cannot read the model: " + reason);
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  // Without a tensor the library rejects constants of zero bytes.
  static unsigned char none = 0;
  Owned<OpenVino::Tensor> tensor(openvino.tensor_free);
  int64_t size = static_cast<int64_t>(weights.size());
  // Read-only, despite the type.
  void* memory = weights.empty() ? &none : const_cast<unsigned char*>(weights.data());
  if (int status = openvino.tensor_over(OpenVino::kByte, {1, &size}, memory, tensor.out())) {
    say(log, "OpenVINO rejects the weights: " + openvino.explain(status));
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  int status = 0;
  if (!OpenVinoCall::survived(
          [&] { status = openvino.read_model(openvino.core(), xml.data(), xml.size(), tensor, model->out()); })) {
    say(log, OpenVinoCall::refusal());
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  if (status) {
    const std::string why = openvino.explain(status);
    say(log, "OpenVINO cannot read the model: " + why);
    return result_of(why, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  }
  return ZE_RESULT_SUCCESS;
}

using ModelProperties = std::vector<std::pair<std::string, std::string>>;

ze_result_t compile_model(const OpenVino& openvino, const OpenVino::Model* model, const ModelProperties& properties,
                          OpenVino::Compiled** compiled, std::string* log) {
  std::array<const char*, 2 * OpenVino::kMostProperties> p{};
  size_t count = 0;
  for (const auto& [key, value] : properties) {
    if (std::find(kProperties.begin(), kProperties.end(), std::string_view(key)) == kProperties.end()) {
      say(log, "the graph asks for the property " + key + ", which this driver does not allow");
      return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    }
    if (count == p.size()) {
      say(log, "the graph asks for more than " + std::to_string(OpenVino::kMostProperties) + " properties");
      return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    }
    p[count++] = key.c_str();
    p[count++] = value.c_str();
  }
  // The function reads as many arguments as the count says, so all are always passed.
  static_assert(OpenVino::kMostProperties == 16);
  int status = 0;
  if (!OpenVinoCall::survived([&] {
        status = openvino.compile_model(openvino.core(), model, "CPU", count, compiled, p[0], p[1], p[2], p[3], p[4], p[5], p[6],
                                        p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17], p[18], p[19],
                                        p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27], p[28], p[29], p[30], p[31]);
      })) {
    *compiled = nullptr;
    say(log, OpenVinoCall::refusal());
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  if (status == 0) return ZE_RESULT_SUCCESS;
  const std::string why = openvino.explain(status);
  say(log, "OpenVINO cannot compile the model: " + why);
  return result_of(why, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

// Inputs and outputs of a model before compilation.
struct ModelPorts {
  const OpenVino& openvino;
  const OpenVino::Model* model;

  size_t count(bool inputs) const {
    size_t found = 0;
    (inputs ? openvino.inputs_size : openvino.outputs_size)(model, &found);
    return found;
  }
  int get(bool input, size_t index, OpenVino::Port** port) const {
    return (input ? openvino.input_port : openvino.output_port)(model, index, port);
  }
};

// Inputs and outputs of a compiled model.
struct CompiledPorts {
  const OpenVino& openvino;
  const OpenVino::Compiled* compiled;

  size_t count(bool inputs) const {
    size_t found = 0;
    (inputs ? openvino.compiled_inputs_size : openvino.compiled_outputs_size)(compiled, &found);
    return found;
  }
  int get(bool input, size_t index, OpenVino::Port** port) const {
    return (input ? openvino.compiled_input_port : openvino.compiled_output_port)(compiled, index, port);
  }
};

}  // namespace

std::shared_ptr<CompiledGraph> CompiledGraph::begin(const OpenVino& openvino, const Manifest& manifest,
                                                    std::shared_ptr<const void> keeps_weights) {
  std::shared_ptr<CompiledGraph> graph(new CompiledGraph);
  graph->openvino_ = &openvino;
  graph->keeps_weights_ = std::move(keeps_weights);
  graph->arguments_ = manifest.arguments;
  graph->profiling_ = manifest.profiling();
  graph->has_form_ = has_form(manifest.properties);
  return graph;
}

void CompiledGraph::finish() {
  close_gate_first();
  find_aliased_outputs(*openvino_, compiled_, &arguments_);
}

bool CompiledGraph::import(std::span<const unsigned char> form) {
  int status = -1;
  std::string ignored;  // after a failure the model is compiled again, which reports the error
  const auto* content = reinterpret_cast<const char*>(form.data());
  return OpenVinoCall::survived(
             [&] { status = openvino_->import_model(openvino_->core(), content, form.size(), "CPU", &compiled_); }) &&
         status == 0 && agree(CompiledPorts{*openvino_, compiled_}, &ignored) == ZE_RESULT_SUCCESS;
}

ze_result_t CompiledGraph::load(const BlobView& blob, std::shared_ptr<const void> keeps_blob, std::shared_ptr<CompiledGraph>* out,
                                std::string* log) {
  const OpenVino* openvino = blob.form.empty() || !has_form(blob.manifest.properties) ? nullptr : OpenVino::open(log);
  if (openvino && blob.form_identity == anyzero::form_identity(*openvino)) {
    OpenVinoCall call;
    TrapPause not_device_work;
    const GraphStep step("import", blob.manifest.model_name, blob.form.size());
    std::shared_ptr<CompiledGraph> graph = begin(*openvino, blob.manifest, keeps_blob);
    if (call && graph->import(blob.form)) {
      graph->from_form_ = true;
      graph->finish();
      *out = std::move(graph);
      return ZE_RESULT_SUCCESS;
    }
  }
  return compile(blob.manifest, blob.weights, std::move(keeps_blob), out, log);
}

ze_result_t CompiledGraph::compile(const Manifest& manifest, std::span<const unsigned char> weights,
                                   std::shared_ptr<const void> keeps_weights, std::shared_ptr<CompiledGraph>* out,
                                   std::string* log) {
  return make(manifest, weights, std::move(keeps_weights), Depth::Compiled, out, log);
}

ze_result_t CompiledGraph::describe(const Manifest& manifest, std::span<const unsigned char> weights,
                                    std::vector<GraphArgument>* arguments, std::string* log) {
  std::shared_ptr<CompiledGraph> described;
  if (ze_result_t r = make(manifest, weights, nullptr, Depth::Described, &described, log)) return r;
  *arguments = described->arguments_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CompiledGraph::make(const Manifest& manifest, std::span<const unsigned char> weights,
                                std::shared_ptr<const void> keeps_weights, Depth depth, std::shared_ptr<CompiledGraph>* out,
                                std::string* log) {
  std::string reason;
  const OpenVino* openvino = OpenVino::open(&reason);
  if (!openvino) {
    say(log, reason);
    return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  }
  OpenVinoCall call;
  if (!call) {
    say(log, OpenVinoCall::refusal());
    return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  }
  if (weights.size() != manifest.weights_extent()) {
    say(log, "the graph has " + std::to_string(weights.size()) + " bytes of weights, but its manifest says " +
                 std::to_string(manifest.weights_extent()));
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  TrapPause not_device_work;
  const GraphStep step(depth == Depth::Described ? "describe" : "compile", manifest.model_name, weights.size());
  std::shared_ptr<CompiledGraph> graph = begin(*openvino, manifest, std::move(keeps_weights));
  Owned<OpenVino::Model> model(openvino->model_free);
  if (ze_result_t r = read_model(*openvino, manifest.xml, weights, &model, log)) return r;
  if (ze_result_t r = graph->agree(ModelPorts{*openvino, model}, log)) return r;
  if (depth == Depth::Described) {
    *out = std::move(graph);
    return ZE_RESULT_SUCCESS;
  }
  if (ze_result_t r = compile_model(*openvino, model, manifest.properties, &graph->compiled_, log)) return r;
  graph->finish();
  *out = std::move(graph);
  return ZE_RESULT_SUCCESS;
}

bool CompiledGraph::can_compile(std::string_view xml, std::span<const unsigned char> weights, std::string* log) {
  const OpenVino* openvino = OpenVino::open(log);
  if (!openvino) return false;
  OpenVinoCall call;
  TrapPause not_device_work;
  if (!call) return false;
  Owned<OpenVino::Model> model(openvino->model_free);
  Owned<OpenVino::Compiled> compiled(openvino->compiled_free);
  return read_model(*openvino, xml, weights, &model, log) == ZE_RESULT_SUCCESS &&
         compile_model(*openvino, model, {}, compiled.out(), log) == ZE_RESULT_SUCCESS;
}

CompiledGraph::~CompiledGraph() {
  TrapPause not_device_work;
  if (OpenVinoCall call; call) {
    if (compiled_) openvino_->compiled_free(compiled_);
  } else {
    new std::shared_ptr<const void>(std::move(keeps_weights_));  // leaked objects still read them
  }
}

std::shared_ptr<const Mapping> CompiledGraph::form() const {
  OpenVinoCall call;
  TrapPause not_device_work;
  return call && has_form_ ? export_form(*openvino_, compiled_) : nullptr;
}

ContentHash CompiledGraph::form_identity() const { return anyzero::form_identity(*openvino_); }

// The client allocates its buffers by the manifest, so the model must match it.
template <class Ports>
ze_result_t CompiledGraph::agree(const Ports& ports, std::string* log) {
  size_t named[2] = {0, 0};
  const size_t inputs = ports.count(true), outputs = ports.count(false);
  for (GraphArgument& argument : arguments_) {
    if (!argument.has_port()) continue;
    ++named[argument.type];
    Owned<OpenVino::Port> port(openvino_->port_free);
    if (argument.port >= (argument.input() ? inputs : outputs) || ports.get(argument.input(), argument.port, port.out())) {
      say(log, that(argument) + " is not an " + (argument.input() ? "input" : "output") + " of the model");
      return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    }
    if (argument.role == GraphRole::State && argument.dynamic()) {
      say(log, that(argument) + ": a state has one shape for all executions");
      return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    }
    if (ze_result_t r = agree(argument, port, log)) return r;
  }
  if (named[0] == inputs && named[1] == outputs) return ZE_RESULT_SUCCESS;
  say(log, "the model has " + std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
               " outputs, but the manifest has " + std::to_string(named[0]) + " and " + std::to_string(named[1]));
  return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

ze_result_t CompiledGraph::agree(GraphArgument& argument, const OpenVino::Port* port, std::string* log) const {
  uint32_t type = 0;
  if (openvino_->port_type(port, &type) || type != argument.element_type) {
    say(log, that(argument) + " has element type " + std::to_string(argument.element_type) + ", but the model has " +
                 std::to_string(type));
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  OpenVino::PartialShape shape{};
  if (int status = openvino_->port_shape(port, &shape)) {
    say(log, that(argument) + " has no shape: " + openvino_->explain(status));
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  bool unbounded = false;
  const size_t rank = argument.shape.size();
  const bool scalar = rank == 0;
  bool same = shape.rank.least == shape.rank.most && shape.rank.most == static_cast<int64_t>(rank) &&
              (argument.dims.size() == rank || (scalar && argument.dims.size() == 1 && argument.dims[0] == 1));
  uint64_t elements = 1;
  for (size_t i = 0; same && i < rank; ++i) {
    const auto [least, most] = shape.dims[i];
    if (argument.shape[i] != kDynamicDimension) {
      same = least == most && static_cast<uint64_t>(most) == argument.shape[i] && argument.dims[i] == argument.shape[i];
    } else if (argument.dims[i] == 0) {
      same = most > 0 && most <= INT32_MAX;
      unbounded = !same;
      if (same) argument.dims[i] = static_cast<uint32_t>(most);
    } else {
      same = least <= static_cast<int64_t>(argument.dims[i]);
    }
    same = same && !__builtin_mul_overflow(elements, argument.dims[i], &elements) && elements < (uint64_t{1} << 46);
  }
  if (unbounded) {
    say(log,
        "error: the output \"" + argument.name + "\" has the shape " + listed(shape) +
            ", without an upper bound: no memory can be allocated for it. Give the inputs that it follows from fixed or bounded "
            "shapes, for example with model.reshape({\"name\": [ov.Dimension(1, 16), 3]}); where it depends on their values, "
            "end the model before it and compute the rest on the CPU (HETERO:NPU,CPU)");
  } else if (!same) {
    say(log, that(argument) + " has another shape than the model, where it is " +
                 (shape.rank.least == shape.rank.most ? listed(shape) : "of any rank") + ", or none that has bounds");
  } else {
    argument.bytes = (elements * element_bits(argument.element_type) + 7) / 8;
  }
  openvino_->partial_shape_free(&shape);
  return unbounded ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : same ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

std::unique_ptr<Execution> CompiledGraph::prepare(std::string* reason) {
  OpenVinoCall call;
  if (!call) {
    *reason = OpenVinoCall::refusal();
    return nullptr;
  }
  TrapPause not_device_work;
  OpenVino::Request* request = nullptr;
  if (int status = openvino_->create_request(compiled_, &request)) {
    *reason = openvino_->explain(status);
    return nullptr;
  }
  return std::unique_ptr<Execution>(new Execution(shared_from_this(), request));
}

}  // namespace anyzero
