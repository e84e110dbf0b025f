// Models that OpenVINO compiles, and invalid ones: whatever a blob holds, the process survives.
#include "graph_scene.h"
#include "npu/model_check.h"
#include "npu/xml_scanner.h"

using namespace scene;

namespace {

void without_the_library() {
  std::string text;
  std::shared_ptr<CompiledGraph> graph;
  for (const char* path : {"", "/nowhere/libopenvino_c.so", "libc.so.6"}) {
    Text log;
    settings.openvino = path;
    assert(CompiledGraph::compile(add_relu(&text), weights.bytes(), nullptr, &graph, &log.value) ==
           ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE);
    SAYS(log, "pip install 'anyzero[npu]'");
  }
}

// A manifest may leave the bounds of outputs to the model.
void open_bounds() {
  std::string text;
  Manifest manifest = add_relu(&text, {"1..4,16"});
  manifest.arguments[2].dims[0] = 0;
  manifest.arguments[2].bytes = 0;
  auto graph = compile(manifest, weights.bytes());
  assert(graph->arguments()[2].dims[0] == 4 && graph->arguments()[2].bytes == 256);
}

// The text of a model whose bodies have bodies; read by calls inside of calls.
std::string nested(int depth) {
  std::string inner, end;
  for (int i = 0; i < depth; ++i) {
    inner += "<layers><layer id=\"0\" name=\"t\" type=\"TensorIterator\" version=\"opset1\"><data/><body>";
    end += "</body></layer></layers>";
  }
  return "<?xml version=\"1.0\"?><net name=\"n\" version=\"11\">" + inner + end + "</net>";
}

// Whatever a blob says, the answer is an error that tells what.
void wrong_blobs() {
  std::string text;
  auto refusal = [](const Manifest& manifest, std::span<const unsigned char> bytes, ze_result_t expected) -> Text {
    std::shared_ptr<CompiledGraph> graph;
    Text log{"before"};
    const ze_result_t got = CompiledGraph::compile(manifest, bytes, nullptr, &graph, &log.value);
    if (got != expected) std::fprintf(stderr, "%#x: %s\n", static_cast<unsigned>(got), log.value.c_str());
    assert(got == expected && !graph && log.says("before\n"));
    return log;
  };
  constexpr ze_result_t kDamaged = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, kUnsupported = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  const Manifest good = add_relu(&text);
  const std::string original = text;
  auto with_text = [&](const char* from, const std::string& to) {
    text = original;
    const size_t at = text.find(from);
    assert(at != text.npos);
    text.replace(at, std::strlen(from), to);
    Manifest manifest = good;
    manifest.xml = text;
    return manifest;
  };
  SAYS(refusal(with_text("offset=\"0\"", "offset=\"4\""), weights.bytes(), kDamaged), "eight");
  SAYS(refusal(with_text("size=\"64\"", "size=\"4611686018427387904\""), weights.bytes(), kDamaged), "eight");
  SAYS(refusal(with_text("type=\"ReLU\"", "type=\"Blorp\""), weights.bytes(), kUnsupported), "Blorp");
  SAYS(refusal(with_text("to-layer=\"2\"", "to-layer=\"200\""), weights.bytes(), kDamaged), "cannot read the model");
  SAYS(refusal(with_text("shape=\"1,16\"", "shape=\"1,17\""), weights.bytes(), kDamaged), "");
  for (size_t size = 0; size < original.size(); size += 97) {
    Manifest manifest = good;
    manifest.xml = std::string_view(original).substr(0, size);
    refusal(manifest, weights.bytes(), kDamaged);
  }
  for (int depth : {1, 20, 5000}) {
    const std::string deep = nested(depth);
    Manifest manifest = good;
    manifest.xml = deep;
    Text log = refusal(manifest, weights.bytes(), kDamaged);
    if (depth > 100) SAYS(log, "nested too deeply");
  }
  text = original;
  SAYS(refusal(good, {}, kDamaged), "0 bytes of weights");
  auto changed = [&](auto&& change) {
    Manifest manifest = good;
    manifest.xml = original;
    change(manifest);
    return manifest;
  };
  auto& bytes = weights;
  SAYS(refusal(changed([](Manifest& m) { m.arguments[0].element_type = kI32; }), bytes.bytes(), kDamaged), "element type");
  SAYS(refusal(changed([](Manifest& m) { m.arguments[0].shape[1] = m.arguments[0].dims[1] = 8; }), bytes.bytes(), kDamaged),
       "[1,16]");
  SAYS(refusal(changed([](Manifest& m) { m.arguments[1].dims[1] = 8; }), bytes.bytes(), kDamaged), "argument y");
  SAYS(refusal(changed([](Manifest& m) { m.arguments.pop_back(); }), bytes.bytes(), kDamaged), "1 outputs");
  SAYS(refusal(changed([](Manifest& m) { m.arguments[1].port = 7; }), bytes.bytes(), kDamaged), "argument y is not an output");
  SAYS(refusal(changed([](Manifest& m) { m.properties = {{"CACHE_DIR", "/"}}; }), bytes.bytes(), kDamaged), "CACHE_DIR");
  SAYS(refusal(changed([](Manifest& m) { m.properties = {{"PERFORMANCE_HINT", "FASTEST"}}; }), bytes.bytes(), kUnsupported),
       "FASTEST");
  SAYS(refusal(changed([](Manifest& m) { m.properties.assign(17, {"PERF_COUNT", "NO"}); }), bytes.bytes(), kDamaged),
       "more than 16");
  compile(changed([](Manifest& m) { m.properties.assign(16, {"PERF_COUNT", "NO"}); }), bytes.bytes());
}

// What was compiled is loaded where it was made; elsewhere, and where it is damaged, the model is compiled again.
void forms() {
  std::string text;
  BlobView blob;
  blob.manifest = add_relu(&text);
  blob.weights = weights.bytes();
  const auto first = compile(blob.manifest, blob.weights);
  const std::shared_ptr<const Mapping> form = first->form();
  assert(form && !first->from_form());
  auto load = [&](std::span<const unsigned char> bytes, const ContentHash& identity) {
    blob.form = bytes;
    blob.form_identity = identity;
    std::shared_ptr<CompiledGraph> graph;
    std::string log;
    assert(CompiledGraph::load(blob, nullptr, &graph, &log) == ZE_RESULT_SUCCESS && log.empty());
    float x[16], y[16] = {};
    std::iota(x, x + 16, 0.f);
    auto execution = prepare(graph);
    bind(*execution, {x, y});
    run(*execution);
    for (size_t i = 0; i < 16; ++i) assert(y[i] == add_relu_of(x[i], i));
    return graph->from_form();
  };
  const ContentHash here = first->form_identity();
  assert(load(form->bytes(), here) && !load(form->bytes(), {here.low ^ 1, here.high}) && !load({}, here));
  const std::vector<unsigned char> damaged(form->bytes().size(), 'x');
  assert(!load(damaged, here) && !load(form->bytes().first(40), here));
  // Not for a model with other arguments, nor with properties that it was not compiled with.
  std::string other;
  blob.manifest = add_relu(&other, {"2,16"});
  std::shared_ptr<CompiledGraph> graph;
  std::string log;
  blob.form = form->bytes();
  blob.form_identity = here;
  assert(CompiledGraph::load(blob, nullptr, &graph, &log) == ZE_RESULT_SUCCESS && !graph->from_form());
  blob.manifest = add_relu(&text);
  blob.manifest.properties = {{"PERF_COUNT", "YES"}};
  assert(CompiledGraph::load(blob, nullptr, &graph, &log) == ZE_RESULT_SUCCESS && !graph->from_form() && !graph->form());
}

void reads_tags() {
  const std::string text =
      "<?xml version=\"1.0\"?><!-- <a> --><net><layer name='a &lt;b&gt; &quot;c&quot; &#65;&#xe4;&amp;&apos;' id = \"7\" "
      "x=\"1>2\"/>"
      "<b>text</b></net>";
  XmlScanner scanner(text);
  XmlTag tag;
  assert(scanner.next(&tag) && tag.name == "net" && tag.kind == XmlTag::Kind::Open);
  assert(scanner.next(&tag) && tag.name == "layer" && tag.kind == XmlTag::Kind::Empty);
  assert(attribute(tag, "name") == "a <b> \"c\" A\xc3\xa4&'" && attribute(tag, "id") == "7" && attribute(tag, "x") == "1>2");
  assert(attribute(tag, "none").empty() && xml_depth(text) == 2);
  for (const char* bad : {"<a", "<a b=\"", "<!-- ", "<!DOCTYPE x>", "<![CDATA[<a>]]>", "<?", "<a b='\"/>"})
    assert(xml_depth(bad) == SIZE_MAX);
  assert(xml_depth(std::string_view("<\0a\0>\0", 6)) == SIZE_MAX && xml_depth("") == 0 && xml_depth("</a></a>") == 0);
  for (const char* bad : {"", " ", "a", "a=", "a=b", "a='", "='' a='1", "a b='1'"}) {
    tag.attributes = bad;
    attribute(tag, "a");
  }
}

// OpenVINO reads weights by the one number that are as large as the other.
void checks_recurrent_layers() {
  auto text = [](const char* hidden, const char* state) {
    const std::string cell = std::string("<layer name=\"cell\" type=\"LSTMCell\"><data hidden_size=\"") + hidden +
                             "\"/><input><port id=\"0\"><dim>1</dim><dim>9</dim></port><port id=\"1\"><dim>1</dim><dim>" + state +
                             "</dim></port><port id=\"2\"><dim>7</dim></port></input></layer>";
    return "<net><layers>" + cell + "<layer name=\"if\"><then_body><layers>" + cell +
           "</layers></then_body></layer></layers></net>";
  };
  std::string reason;
  assert(check_model(text("3", "3"), &reason) && check_model(text("3", "-1"), &reason) && reason.empty());
  assert(!check_model(text("6", "3"), &reason) && reason == "layer cell has the hidden size 6 and a state of 3");
  std::string inner = text("3", "3");
  inner.replace(inner.rfind("\"3\""), 3, "\"4\"");
  assert(!check_model(inner, &reason));
  for (const char* odd : {"</layer></layer>", "<layer></layer></layer>", "<layer><input><port/><port/><dim/></input></layer>"})
    check_model(odd, &reason);
}

// A client that shares a model out asks for every layer by name, also when some cannot be had.
void names_layers() {
  using Names = std::vector<std::string>;
  std::string text, log;
  GraphModel model;
  auto x = model.parameter("x", {"1..4,16"});
  auto add = model.op("a &lt;dd", "Add", {x, model.constant("c", {"1,16"}, 0, 64)}, {"1..4,16"});
  model.result("y", model.op("relu", "ReLU", {model.op("middle", "Sigmoid", {add}, {"1..4,16"})}, {"1..4,16"}));
  Manifest manifest = model.manifest(&text, 64);
  Names names;
  assert(query_layers(manifest, weights.bytes(), &names, &log) && log.empty());
  assert((names == Names{"x", "c", "a <dd", "middle", "relu", "result_y"}));
  for (const auto& [type, rest] : {std::pair{"Sigmoid", Names{"x", "c", "a <dd", "relu", "result_y"}},
                                   {"ReLU", Names{"x", "c", "a <dd", "middle"}},
                                   {"Add", Names{"middle", "relu", "result_y"}}}) {
    std::string changed = text;
    changed.replace(changed.find(type), std::strlen(type), "Blorp");
    manifest.xml = changed;
    log.clear();
    assert(query_layers(manifest, weights.bytes(), &names, &log));
    assert(names == rest && log.find("Blorp") != log.npos);
  }
  for (std::string_view bad : {"", "<net", "<net><layers><layer><input><port></layer></input></layers></net>", "</layer>"}) {
    manifest.xml = bad;
    assert(query_layers(manifest, weights.bytes(), &names, &log) && names.empty());
  }
}

}  // namespace

int main() {
  install_traps();
  without_the_library();
  if (!openvino_found("compiled_graph")) return 0;
  open_bounds();
  forms();
  wrong_blobs();
  reads_tags();
  checks_recurrent_layers();
  names_layers();
  std::puts("compiled_graph: ok");
  return 0;
}
