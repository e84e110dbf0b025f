// Finds the layers of a model that can be compiled, for clients that split a model among devices.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiled_graph.h"
#include "xml_scanner.h"

namespace anyzero {

namespace {

struct LayerPort {
  std::string id;
  std::string precision;
  std::string dims;  // separated by commas; ? for an unknown one
};

struct Layer {
  std::string id, name, type, version;
  std::string_view text;  // the whole element
  std::string_view data;  // the attributes
  std::vector<LayerPort> inputs, outputs;

  bool is(std::string_view which) const { return type == which; }
  // Each layer is compiled in a model of its own; these types form the boundary of such a model.
  bool boundary() const { return is("Parameter") || is("Result") || is("Const"); }
};

struct Edge {
  std::string from, from_port, to, to_port;
};

struct Network {
  std::vector<Layer> layers;
  std::vector<Edge> edges;
};

// Scans only top-level layers: bodies belong to the layer that contains them.
Network scan(std::string_view xml) {
  constexpr size_t kLayer = 3, kPart = 4, kPort = 5, kDim = 6;  // net, layers, layer, input, port, dim
  Network network;
  XmlScanner scanner(xml);
  std::vector<std::string_view> path;
  size_t dim_begin = 0;
  for (XmlTag tag; scanner.next(&tag);) {
    if (tag.kind != XmlTag::Kind::Close) path.push_back(tag.name);
    const size_t depth = path.size();
    const bool in_layer = depth >= kLayer && path[1] == "layers" && path[2] == "layer";
    const bool in_port = in_layer && depth >= kPort && path[4] == "port" && (path[3] == "input" || path[3] == "output");
    if (tag.kind != XmlTag::Kind::Close) {
      if (in_layer && depth == kLayer) {
        network.layers.push_back({attribute(tag, "id"),
                                  attribute(tag, "name"),
                                  attribute(tag, "type"),
                                  attribute(tag, "version"),
                                  xml.substr(tag.begin, tag.end - tag.begin),
                                  {},
                                  {},
                                  {}});
      } else if (in_layer && depth == kPart && tag.name == "data") {
        network.layers.back().data = tag.attributes;
      } else if (in_port && depth == kPort) {
        auto& ports = path[3] == "input" ? network.layers.back().inputs : network.layers.back().outputs;
        ports.push_back({attribute(tag, "id"), attribute(tag, "precision"), {}});
      } else if (in_port && depth == kDim && tag.name == "dim") {
        dim_begin = tag.end;
      } else if (depth == kLayer && path[1] == "edges" && tag.name == "edge") {
        network.edges.push_back(
            {attribute(tag, "from-layer"), attribute(tag, "from-port"), attribute(tag, "to-layer"), attribute(tag, "to-port")});
      }
    } else if (in_layer && depth == kLayer) {
      Layer& layer = network.layers.back();
      layer.text = xml.substr(static_cast<size_t>(layer.text.data() - xml.data()),
                              tag.end - static_cast<size_t>(layer.text.data() - xml.data()));
    } else if (in_port && depth == kDim && dim_begin) {
      auto& ports = path[3] == "input" ? network.layers.back().inputs : network.layers.back().outputs;
      const std::string_view dim = xml.substr(dim_begin, tag.begin - dim_begin);
      std::string& dims = ports.back().dims;
      if (!dims.empty()) dims += ',';
      dims += dim == "-1" ? "?" : dim;
    }
    if (tag.kind != XmlTag::Kind::Open && !path.empty()) path.pop_back();
  }
  return network;
}

// Ports and parameters use different names for element types.
std::string element_type(std::string_view precision) {
  constexpr std::pair<std::string_view, std::string_view> kOther[] = {
      {"FP64", "f64"}, {"FP32", "f32"}, {"FP16", "f16"}, {"BOOL", "boolean"}, {"BIN", "u1"}};
  for (const auto& [port, type] : kOther)
    if (precision == port) return std::string(type);
  std::string lower(precision);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (char c : text) safe += c == '"' ? std::string("&quot;") : c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

class Query {
 public:
  Query(const Network& network, std::span<const unsigned char> weights) : network_(network), weights_(weights) {
    for (const Layer& layer : network.layers) by_id_.emplace(layer.id, &layer);
    for (const Edge& edge : network.edges) sources_[{edge.to, edge.to_port}] = &edge;
  }

  std::vector<std::string> supported() {
    std::set<std::string> fine;  // ids of supported layers
    for (const Layer& layer : network_.layers)
      if (!layer.boundary() && compiles(layer)) fine.insert(layer.id);
    // Parameters, constants and results are supported if the layer that they connect to is.
    for (const Edge& edge : network_.edges) {
      const Layer *from = layer_of(edge.from), *to = layer_of(edge.to);
      if (!from || !to) continue;
      if (from->boundary() && fine.count(to->id)) fine.insert(from->id);
      if (to->is("Result") && fine.count(from->id)) fine.insert(to->id);
    }
    std::vector<std::string> names;
    for (const Layer& layer : network_.layers)
      if (fine.count(layer.id)) names.push_back(layer.name);
    return names;
  }

 private:
  const Layer* layer_of(const std::string& id) const {
    auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
  }

  // Layers that differ only in name are compiled once.
  bool compiles(const Layer& layer) {
    std::string key = layer.type + '|' + layer.version + '|' + std::string(layer.data);
    for (const LayerPort& port : layer.inputs) {
      key += '|' + port.precision + ':' + port.dims;
      if (const Layer* source = constant_at(layer, port)) key += '=' + std::string(source->data);
    }
    // A body is outside of the attributes, so the key includes the whole text.
    if (layer.text.find("<body") != layer.text.npos || layer.text.find("_body") != layer.text.npos) key += layer.text;
    auto [known, fresh] = tried_.try_emplace(key, false);
    if (fresh) {
      std::string ignored;
      known->second = CompiledGraph::can_compile(alone(layer), weights_, &ignored);
    }
    return known->second;
  }

  const Layer* constant_at(const Layer& layer, const LayerPort& port) const {
    auto edge = sources_.find({layer.id, port.id});
    const Layer* source = edge == sources_.end() ? nullptr : layer_of(edge->second->from);
    return source && source->is("Const") ? source : nullptr;
  }

  // A model of this layer alone: parameters for values from other layers, its own constants, and a result for each output.
  std::string alone(const Layer& layer) const {
    std::string layers, edges, results;
    std::set<std::string> constants;
    size_t next = 1'000'000'000;
    auto connect = [&](const std::string& from, const std::string& from_port, const std::string& to, const std::string& to_port) {
      edges +=
          "<edge from-layer=\"" + from + "\" from-port=\"" + from_port + "\" to-layer=\"" + to + "\" to-port=\"" + to_port + "\"/>";
    };
    for (const LayerPort& port : layer.inputs) {
      if (const Layer* source = constant_at(layer, port)) {
        if (constants.insert(source->id).second) layers += source->text;
        connect(source->id, sources_.at({layer.id, port.id})->from_port, layer.id, port.id);
        continue;
      }
      const std::string id = std::to_string(next++);
      layers += "<layer id=\"" + id + "\" name=\"in" + id + "\" type=\"Parameter\" version=\"opset1\"><data shape=\"" +
                escaped(port.dims) + "\" element_type=\"" + escaped(element_type(port.precision)) +
                "\"/><output><port id=\"0\" precision=\"" + escaped(port.precision) + "\">" + dims(port) +
                "</port></output></layer>";
      connect(id, "0", layer.id, port.id);
    }
    layers += layer.text;
    for (const LayerPort& port : layer.outputs) {
      const std::string id = std::to_string(next++);
      results += "<layer id=\"" + id + "\" name=\"out" + id +
                 "\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" precision=\"" + escaped(port.precision) + "\">" +
                 dims(port) + "</port></input></layer>";
      connect(layer.id, port.id, id, "0");
    }
    return "<?xml version=\"1.0\"?><net name=\"layer\" version=\"11\"><layers>" + layers + results + "</layers><edges>" + edges +
           "</edges></net>";
  }

  static std::string dims(const LayerPort& port) {
    std::string text;
    for (size_t at = 0; at < port.dims.size();) {
      const size_t end = std::min(port.dims.find(',', at), port.dims.size());
      const std::string_view dim = std::string_view(port.dims).substr(at, end - at);
      text += "<dim>" + (dim == "?" ? std::string("-1") : escaped(dim)) + "</dim>";
      at = end + 1;
    }
    return text;
  }

  const Network& network_;
  std::span<const unsigned char> weights_;
  std::map<std::string, const Layer*> by_id_;
  std::map<std::pair<std::string, std::string>, const Edge*> sources_;
  std::map<std::string, bool> tried_;
};

}  // namespace

bool query_layers(const Manifest& manifest, std::span<const unsigned char> weights, std::vector<std::string>* supported,
                  std::string* log) {
  std::string reason;
  if (!OpenVino::open(&reason)) {
    *log += reason;
    return false;
  }
  const Network network = scan(manifest.xml);
  if (CompiledGraph::can_compile(manifest.xml, weights, log)) {
    for (const Layer& layer : network.layers) supported->push_back(layer.name);
  } else {
    *supported = Query(network, weights).supported();
  }
  return true;
}

}  // namespace anyzero
