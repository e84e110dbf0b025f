// Small models as text, with the manifest that goes with them.
#pragma once

#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "npu/compiled_graph.h"

namespace scene {

// Numbers of OpenVINO's C library.
inline constexpr uint32_t kF32 = 4, kI32 = 9, kU8 = 16;

// A dimension of "2..5" has bounds. "" is a scalar.
struct Shape {
  std::string text;

  std::vector<std::string> parts() const {
    std::vector<std::string> found;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) found.push_back(part);
    return found;
  }
  std::string ports() const {
    std::string dims;
    for (const std::string& part : parts()) dims += "<dim>" + (part.find("..") == part.npos ? part : std::string("-1")) + "</dim>";
    return dims;
  }
};

class GraphModel {
 public:
  using Node = int;

  Node parameter(const std::string& name, const Shape& shape, uint32_t type = kF32,
                 anyzero::GraphRole role = anyzero::GraphRole::Data) {
    Node node = layer(name, "Parameter", "shape=\"" + shape.text + "\" element_type=\"" + code(type) + "\"", {}, shape, type, 1);
    argument(inputs_, name, true, shape, type, role);
    return node;
  }
  Node constant(const std::string& name, const Shape& shape, uint64_t offset, uint64_t size) {
    return layer(name, "Const",
                 "element_type=\"f32\" shape=\"" + shape.text + "\" offset=\"" + std::to_string(offset) + "\" size=\"" +
                     std::to_string(size) + "\"",
                 {}, shape, kF32, 1);
  }
  Node op(const std::string& name, const std::string& type, std::initializer_list<Node> from, const Shape& shape,
          const std::string& attributes = "") {
    return layer(name, type, attributes, from, shape, kF32, 1);
  }
  void result(const std::string& name, Node from, anyzero::GraphRole role = anyzero::GraphRole::Data) {
    layer("result_" + name, "Result", "", {from}, {}, kF32, 0);
    argument(outputs_, name, false, shapes_[static_cast<size_t>(from)], types_[static_cast<size_t>(from)], role);
  }

  // The manifest looks into `text`.
  anyzero::Manifest manifest(std::string* text, uint64_t weights = 0) const {
    *text = "<?xml version=\"1.0\"?><net name=\"test\" version=\"11\"><layers>" + layers_ + "</layers><edges>" + edges_ +
            "</edges></net>";
    anyzero::Manifest manifest;
    manifest.model_name = "test";
    manifest.xml = *text;
    manifest.weights_size = weights;
    manifest.arguments = with_shapes(inputs_, 0);
    std::vector<anyzero::GraphArgument> outputs = with_shapes(outputs_, static_cast<uint32_t>(manifest.arguments.size()));
    manifest.arguments.insert(manifest.arguments.end(), outputs.begin(), outputs.end());
    return manifest;
  }

 private:
  static const char* code(uint32_t type) { return type == kF32 ? "f32" : type == kI32 ? "i32" : "u8"; }
  static const char* precision(uint32_t type) { return type == kF32 ? "FP32" : type == kI32 ? "I32" : "U8"; }

  Node layer(const std::string& name, const std::string& type, const std::string& attributes, std::initializer_list<Node> from,
             const Shape& shape, uint32_t element, int outputs) {
    const Node id = static_cast<Node>(shapes_.size());
    auto port = [&](int number, const Shape& of, uint32_t kind) {
      return "<port id=\"" + std::to_string(number) + "\" precision=\"" + precision(kind) + "\">" + of.ports() + "</port>";
    };
    std::string text = "<layer id=\"" + std::to_string(id) + "\" name=\"" + name + "\" type=\"" + type + "\" version=\"opset1\">";
    if (!attributes.empty()) text += "<data " + attributes + "/>";
    int number = 0;
    if (from.size()) text += "<input>";
    for (Node source : from) {
      const auto s = static_cast<size_t>(source);
      edges_ += "<edge from-layer=\"" + std::to_string(source) + "\" from-port=\"" + std::to_string(out_ports_[s]) +
                "\" to-layer=\"" + std::to_string(id) + "\" to-port=\"" + std::to_string(number) + "\"/>";
      text += port(number++, shapes_[s], types_[s]);
    }
    if (from.size()) text += "</input>";
    if (outputs) text += "<output>" + port(number, shape, element) + "</output>";
    layers_ += text + "</layer>";
    shapes_.push_back(shape);
    types_.push_back(element);
    out_ports_.push_back(number);
    return id;
  }

  static void argument(std::vector<anyzero::GraphArgument>& list, const std::string& name, bool input, const Shape& shape,
                       uint32_t type, anyzero::GraphRole role) {
    anyzero::GraphArgument argument{};
    argument.type = input ? ZE_GRAPH_ARGUMENT_TYPE_INPUT : ZE_GRAPH_ARGUMENT_TYPE_OUTPUT;
    argument.role = role;
    argument.port = static_cast<uint32_t>(list.size());
    argument.element_type = type;
    argument.name = name;
    argument.bytes = type == kU8 ? 1 : 4;
    for (const std::string& part : shape.parts()) {
      const size_t dots = part.find("..");
      const bool bounded = dots != part.npos;
      argument.dims.push_back(static_cast<uint32_t>(std::stoul(bounded ? part.substr(dots + 2) : part)));
      argument.shape.push_back(bounded ? anyzero::kDynamicDimension : argument.dims.back());
      argument.bytes *= argument.dims.back();
    }
    if (argument.dims.empty()) argument.dims.push_back(1);
    list.push_back(argument);
  }

  // Dynamic arguments are followed by those that hold their shapes.
  static std::vector<anyzero::GraphArgument> with_shapes(std::vector<anyzero::GraphArgument> list, uint32_t first) {
    const uint32_t count = static_cast<uint32_t>(list.size());
    for (uint32_t i = 0; i < count; ++i) {
      if (!list[i].dynamic()) continue;
      anyzero::GraphArgument shape{};
      shape.type = list[i].type;
      shape.role = anyzero::GraphRole::Shape;
      shape.port = shape.companion = first + i;
      shape.element_type = kI32;
      shape.name = "vpux_ie_shape_" + list[i].name;
      shape.dims = {static_cast<uint32_t>(list[i].dims.size())};
      shape.shape = {list[i].dims.size()};
      shape.bytes = 4 * list[i].dims.size();
      list[i].companion = first + static_cast<uint32_t>(list.size());
      list.push_back(shape);
    }
    return list;
  }

  std::string layers_, edges_;
  std::vector<Shape> shapes_;
  std::vector<uint32_t> types_;
  std::vector<int> out_ports_;
  std::vector<anyzero::GraphArgument> inputs_, outputs_;
};

}  // namespace scene
