#include "manifest.h"

#include <algorithm>
#include <new>
#include <unordered_map>

namespace anyzero {

namespace {

// Five dimensions of 32 bits can give sizes far beyond any memory.
constexpr uint64_t kMostArgumentBytes = uint64_t{1} << 46;
constexpr uint32_t kMostArguments = 1u << 16;
constexpr std::string_view kReadValue = "vpux_ie_read_value_";
constexpr std::string_view kAssign = "vpux_ie_assign_";

// The element size that clients assume; 0 if they cannot know it.
uint32_t precision_bits(uint32_t precision) {
  switch (precision) {
    case ZE_GRAPH_ARGUMENT_PRECISION_BIN:
      return 1;
    case ZE_GRAPH_ARGUMENT_PRECISION_UINT2:
    case ZE_GRAPH_ARGUMENT_PRECISION_INT2:
      return 2;
    case ZE_GRAPH_ARGUMENT_PRECISION_UINT4:
    case ZE_GRAPH_ARGUMENT_PRECISION_INT4:
    case ZE_GRAPH_ARGUMENT_PRECISION_NF4:
      return 4;
    case ZE_GRAPH_ARGUMENT_PRECISION_UINT8:
    case ZE_GRAPH_ARGUMENT_PRECISION_INT8:
    case ZE_GRAPH_ARGUMENT_PRECISION_BOOLEAN:
    case ZE_GRAPH_ARGUMENT_PRECISION_FP8_E4M3:
    case ZE_GRAPH_ARGUMENT_PRECISION_FP8_E5M2:
    case ZE_GRAPH_ARGUMENT_PRECISION_FP8_E8M0:
      return 8;
    case ZE_GRAPH_ARGUMENT_PRECISION_UINT16:
    case ZE_GRAPH_ARGUMENT_PRECISION_INT16:
    case ZE_GRAPH_ARGUMENT_PRECISION_FP16:
    case ZE_GRAPH_ARGUMENT_PRECISION_BF16:
      return 16;
    case ZE_GRAPH_ARGUMENT_PRECISION_UINT32:
    case ZE_GRAPH_ARGUMENT_PRECISION_INT32:
    case ZE_GRAPH_ARGUMENT_PRECISION_FP32:
      return 32;
    case ZE_GRAPH_ARGUMENT_PRECISION_UINT64:
    case ZE_GRAPH_ARGUMENT_PRECISION_INT64:
    case ZE_GRAPH_ARGUMENT_PRECISION_FP64:
      return 64;
    default:
      return 0;
  }
}

// Validates a manifest and reports the first error.
class ManifestReader {
 public:
  ManifestReader(std::string_view bytes, Manifest* manifest) : bytes_(bytes), manifest_(*manifest) {}

  bool read(std::string* reason) {
    ManifestRecord record;
    if (decoded(record)) {
      head(record);
      arguments(record);
      if (wrong_.empty()) relations();
    }
    if (wrong_.empty()) return true;
    *reason = "the graph's manifest is damaged: " + wrong_;
    return false;
  }

 private:
  void wrong(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  bool decoded(ManifestRecord& record) {
    // Other versions have different fields.
    ByteReader first(bytes_);
    const uint32_t version = first.u32();
    if (first.good() && version != kManifestVersion)
      wrong("it has version " + std::to_string(version) + ", which this driver does not know");
    ByteReader reader(bytes_);
    if (wrong_.empty()) decode(reader, record);
    if (!reader.good()) wrong("it ends before its contents do, or a length in it is wrong");
    if (!reader.at_end()) wrong("bytes follow the last argument");
    return wrong_.empty();
  }

  void head(const ManifestRecord& record) {
    manifest_.weights_size = record.weights_size;
    manifest_.model_name = record.model_name;
    manifest_.xml = record.xml;
    if (manifest_.xml.empty()) wrong("it has no model");
    manifest_.flags = record.flags;
    if (manifest_.flags & ~ManifestFlag::kAll) wrong("it has flags that this driver does not know");
    for (const CompileProperty& each : record.properties) manifest_.properties.emplace_back(each.key, each.value);
  }

  void arguments(const ManifestRecord& record) {
    const size_t count = record.arguments.size();
    if (count > kMostArguments) return wrong("it has " + std::to_string(count) + " arguments");
    manifest_.arguments.reserve(count);
    for (const ArgumentRecord& each : record.arguments)
      if (wrong_.empty()) argument(each);
  }

  void argument(const ArgumentRecord& record) {
    GraphArgument& argument = manifest_.arguments.emplace_back();
    const uint32_t type = record.type, role = record.role;
    const uint32_t precision = record.precision, metadata_type = record.metadata_type, layout = record.layout;
    argument.port = record.port;
    argument.element_type = record.element_type;
    argument.name = record.name;
    argument.friendly_name = record.friendly_name;
    argument.tensor_names.assign(record.tensor_names.begin(), record.tensor_names.end());
    argument.dims = record.dims;
    argument.shape = record.shape;

    if (type > ZE_GRAPH_ARGUMENT_TYPE_OUTPUT) return wrong(that(argument) + " is neither an input nor an output");
    if (!is_known(static_cast<GraphRole>(role))) return wrong(that(argument) + " has role " + std::to_string(role));
    // The client may know newer values than the driver, but they must fit the enumeration.
    if (std::max({precision, metadata_type, layout}) > ZE_GRAPH_ARGUMENT_PRECISION_FORCE_UINT32)
      return wrong(that(argument) + " has an invalid precision, type or layout");
    argument.type = static_cast<ze_graph_argument_type_t>(type);
    argument.role = static_cast<GraphRole>(role);
    argument.precision = static_cast<ze_graph_argument_precision_t>(precision);
    argument.metadata_type = static_cast<ze_graph_metadata_type>(metadata_type);
    argument.layout = static_cast<ze_graph_argument_layout_t>(layout);
    const size_t index = manifest_.arguments.size() - 1;
    if (argument.input() && index && !manifest_.arguments[index - 1].input()) wrong(that(argument) + " is an input after outputs");
    if (argument.dims.size() > ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE)
      return wrong(that(argument) + " has " + std::to_string(argument.dims.size()) + " dimensions");
    // A scalar may be described as one element.
    const bool scalar = argument.shape.empty() && argument.dims == std::vector<uint32_t>{1};
    if (argument.shape.size() != argument.dims.size() && !scalar)
      return wrong(that(argument) + " has a shape that does not match its dimensions");
    measure(argument);
  }

  void measure(GraphArgument& argument) {
    const uint32_t bits = element_bits(argument.element_type);
    if (!bits) return wrong(that(argument) + " has element type " + std::to_string(argument.element_type));
    // The client sizes its buffers by the precision, and the model writes elements of the element type into them.
    const uint32_t told = precision_bits(argument.precision);
    if (told && told != bits) return wrong(that(argument) + " has a precision that does not match its element type");
    uint64_t elements = 1;
    for (uint32_t each : argument.dims)
      if (__builtin_mul_overflow(elements, each, &elements) || elements > kMostArgumentBytes)
        return wrong(that(argument) + " is larger than any memory");
    if (elements > kMostArgumentBytes / bits * 8) return wrong(that(argument) + " is larger than any memory");
    argument.bytes = (elements * bits + 7) / 8;
  }

  void lay_out(GraphArgument& argument) {
    if (!argument.input() || argument.dynamic() || argument.bytes == 0) return wrong(that(argument) + " cannot be weights");
    const uint64_t end = manifest_.weights_extent();
    if (end > kMostArgumentBytes) return wrong("its weights are larger than any memory");
    argument.place = (end + Manifest::kWeightsAlignment - 1) / Manifest::kWeightsAlignment * Manifest::kWeightsAlignment;
    manifest_.weights_added = argument.place + argument.bytes - manifest_.weights_size;
  }

  // Links related arguments once all have been read.
  void relations() {
    auto& all = manifest_.arguments;
    std::vector<char> taken[2] = {std::vector<char>(all.size()), std::vector<char>(all.size())};
    for (uint32_t i = 0; i < all.size() && wrong_.empty(); ++i) {
      GraphArgument& argument = all[i];
      if (argument.port >= all.size()) return wrong(that(argument) + " belongs to an invalid port");
      if (argument.role == GraphRole::Shape) {
        shape_of(i);
      } else if (argument.role == GraphRole::Weights) {
        lay_out(argument);
      } else if (std::exchange(taken[argument.type][argument.port], 1)) {
        wrong("two arguments belong to " + std::string(argument.input() ? "input " : "output ") + std::to_string(argument.port));
      }
    }
    if (wrong_.empty()) states();
  }

  void shape_of(uint32_t index) {
    GraphArgument& argument = manifest_.arguments[index];
    GraphArgument& owner = manifest_.arguments[argument.port];
    const bool sound = owner.role == GraphRole::Data && owner.type == argument.type && owner.companion == GraphArgument::kNone &&
                       element_bits(argument.element_type) == 32 && argument.dims.size() == 1 &&
                       argument.dims[0] == owner.dims.size();
    if (!sound) return wrong(that(argument) + " cannot hold the shape of argument " + std::to_string(argument.port));
    argument.companion = argument.port;
    owner.companion = index;
  }

  void states() {
    auto& all = manifest_.arguments;
    std::unordered_map<std::string_view, uint32_t> written;
    for (uint32_t i = 0; i < all.size(); ++i)
      if (state(all[i]) && !all[i].input() && all[i].name.starts_with(kAssign))
        written.emplace(std::string_view(all[i].name).substr(kAssign.size()), i);
    for (uint32_t i = 0; i < all.size(); ++i) {
      if (!state(all[i]) || !all[i].input() || !all[i].name.starts_with(kReadValue)) continue;
      auto found = written.find(std::string_view(all[i].name).substr(kReadValue.size()));
      if (found == written.end()) continue;
      GraphArgument& other = all[found->second];
      // Both use the same buffer.
      if (other.bytes != all[i].bytes || other.element_type != all[i].element_type || other.companion != GraphArgument::kNone)
        return wrong(that(all[i]) + " and " + that(other) + " are not one state");
      all[i].companion = found->second;
      other.companion = i;
    }
  }

  static bool state(const GraphArgument& argument) { return argument.role == GraphRole::State; }

  std::string that(const GraphArgument& argument) const {
    return "argument " + std::to_string(&argument - manifest_.arguments.data()) + " (" + argument.name + ")";
  }

  std::string_view bytes_;
  Manifest& manifest_;
  std::string wrong_;
};

}  // namespace

uint32_t element_bits(uint32_t element_type) {
  // In the order of ov_element_type_e: dynamic, boolean, bf16, f16, f32, f64, i4, i8, i16, i32, i64, u1, u2, u3, u4, u6, u8, u16,
  // u32, u64, nf4, f8e4m3, f8e5m2, string, f4e2m1, f8e8m0. Elements of 3 and 6 bits are not contiguous, and no precision stands for
  // them.
  constexpr uint8_t kBits[] = {0, 8, 16, 16, 32, 64, 4, 8, 16, 32, 64, 1, 2, 0, 4, 0, 8, 16, 32, 64, 4, 8, 8, 0, 4, 8};
  return element_type < std::size(kBits) ? kBits[element_type] : 0;
}

bool GraphArgument::dynamic() const { return std::find(shape.begin(), shape.end(), kDynamicDimension) != shape.end(); }

bool Manifest::read(std::string_view bytes, Manifest* manifest, std::string* reason) try {
  *manifest = {};
  return ManifestReader(bytes, manifest).read(reason);
} catch (const std::bad_alloc&) {
  *reason = "not enough memory for the graph's manifest";
  return false;
}

}  // namespace anyzero
