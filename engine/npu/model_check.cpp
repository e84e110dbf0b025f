#include "model_check.h"

#include <vector>

#include "xml_scanner.h"

namespace anyzero {

namespace {

// Nested bodies are parsed recursively and could overflow the stack. This depth allows over thirty of them.
constexpr size_t kDeepest = 128;

// An open layer on the path from the outermost layer to the scanner's position.
struct Open {
  std::string name, hidden_size;
  size_t depth;
  size_t inputs = 0;       // so far
  std::string last_state;  // last dimension of the second input, the layer's hidden state
};

// A recurrent layer states the size of its hidden state twice. The weights are read by one and sized by the other.
bool agrees(const Open& layer) {
  return layer.hidden_size.empty() || layer.last_state.empty() || layer.last_state == "-1" || layer.hidden_size == layer.last_state;
}

}  // namespace

bool check_model(std::string_view xml, std::string* reason) {
  if (xml_depth(xml) > kDeepest) {
    *reason = "its text is not XML, or is nested too deeply";
    return false;
  }
  XmlScanner scanner(xml);
  std::vector<Open> layers;
  std::string_view part;
  size_t depth = 0, dim_begin = 0;
  for (XmlTag tag; scanner.next(&tag);) {
    if (tag.kind != XmlTag::Kind::Close) {
      ++depth;
      if (tag.name == "layer") layers.push_back({attribute(tag, "name"), {}, depth, 0, {}});
      if (!layers.empty()) {
        Open& layer = layers.back();
        if (depth == layer.depth + 1) part = tag.name;
        if (depth == layer.depth + 1 && part == "data") layer.hidden_size = attribute(tag, "hidden_size");
        if (depth == layer.depth + 2 && part == "input" && tag.name == "port") ++layer.inputs;
        if (depth == layer.depth + 3) dim_begin = tag.end;
      }
    }
    if (tag.kind == XmlTag::Kind::Open || depth == 0) continue;
    if (!layers.empty()) {
      Open& layer = layers.back();
      if (depth == layer.depth + 3 && part == "input" && layer.inputs == 2 && tag.kind == XmlTag::Kind::Close)
        layer.last_state = xml.substr(dim_begin, tag.begin - dim_begin);
      if (depth == layer.depth) {
        if (!agrees(layer)) {
          *reason = "layer " + layer.name + " has the hidden size " + layer.hidden_size + " and a state of " + layer.last_state;
          return false;
        }
        layers.pop_back();
      }
    }
    --depth;
  }
  return true;
}

}  // namespace anyzero
