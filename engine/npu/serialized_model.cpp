#include "serialized_model.h"

#include <cstring>

#include "foreign_format.h"

namespace anyzero {

namespace {

using Bytes = std::span<const unsigned char>;

constexpr uint32_t kParts = 2;
constexpr size_t kWholeHead = 2 * sizeof(uint16_t) + sizeof(uint32_t);  // compiler version, number of parts

struct PointingHead {
  uint64_t custom_offset, custom_size, constants_offset, constants_size, model_offset, model_size;
};
static_assert(sizeof(PointingHead) == 48);
constexpr uint64_t kCustomSize = 4;  // the compiler version

template <class T>
T number(Bytes bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool refuse(std::string* reason, std::string what) {
  *reason = "the serialised model is damaged: " + std::move(what);
  return false;
}

std::string sizes(uint64_t told, uint64_t there) {
  return "should have " + std::to_string(told) + " bytes, and " + std::to_string(there) + " are left";
}

std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Takes a part with a length prefix from the front of the input.
bool take(Bytes* input, const char* what, Bytes* part, std::string* reason) {
  if (input->size() < sizeof(uint64_t)) return refuse(reason, std::string("it ends before the size of its ") + what);
  const uint64_t size = number<uint64_t>(*input, 0);
  *input = input->subspan(sizeof size);
  if (size > input->size()) return refuse(reason, std::string("its ") + what + " " + sizes(size, input->size()));
  *part = input->first(size);
  *input = input->subspan(size);
  return true;
}

bool split_whole(Bytes input, SerializedModel* model, std::string* reason) {
  Bytes rest = input.subspan(kWholeHead), xml, weights;
  if (!take(&rest, "XML", &xml, reason) || !take(&rest, "weights", &weights, reason)) return false;
  if (!rest.empty()) return refuse(reason, std::to_string(rest.size()) + " bytes follow its weights");
  *model = {ModelSerializer::Whole, text(xml), weights};
  return true;
}

bool inside(Bytes input, uint64_t offset, uint64_t size) {
  return offset >= sizeof(PointingHead) && offset <= input.size() && size <= input.size() - offset;
}

bool split_pointing(Bytes input, SerializedModel* model, std::string* reason) {
  const auto head = number<PointingHead>(input, 0);
  if (head.custom_size != kCustomSize || !inside(input, head.custom_offset, head.custom_size))
    return refuse(reason, "the version of the compiler is at the wrong place");
  if (head.constants_size && !inside(input, head.constants_offset, head.constants_size))
    return refuse(reason, "its constants lie outside of its " + std::to_string(input.size()) + " bytes");
  if (!inside(input, head.model_offset, head.model_size))
    return refuse(reason, "its XML lies outside of its " + std::to_string(input.size()) + " bytes");
  *model = {ModelSerializer::Pointing, text(input.subspan(head.model_offset, head.model_size)), {}};
  if (head.constants_size) model->weights = input.subspan(head.constants_offset, head.constants_size);
  return true;
}

bool points(Bytes input) { return input.size() >= sizeof(PointingHead) && number<uint64_t>(input, 0) == sizeof(PointingHead); }

bool begins_as_envelope(Bytes input) {
  return points(input) || (input.size() >= kWholeHead && number<uint32_t>(input, 2 * sizeof(uint16_t)) == kParts);
}

// Formats that programs pass by mistake; none of them begins like an envelope.
std::string mistaken_for(Bytes input) {
  if (text(input).starts_with("AZGRAPH\n"))
    return "this is a native blob of anyzero; create the graph with the format ZE_GRAPH_FORMAT_NATIVE";
  return begins_as_envelope(input) ? std::string() : describe_foreign_format(input);
}

}  // namespace

bool SerializedModel::split(Bytes input, SerializedModel* model, std::string* reason) {
  *model = {};
  if (!input.data()) return refuse(reason, "there is none");
  if (std::string other = mistaken_for(input); !other.empty()) {
    *reason = "this is not a serialised model: " + std::move(other);
    return false;
  }
  if (input.size() < kWholeHead) return refuse(reason, "it has " + std::to_string(input.size()) + " bytes and no header");
  bool good;
  if (points(input)) {
    good = split_pointing(input, model, reason);
  } else if (const uint32_t parts = number<uint32_t>(input, 2 * sizeof(uint16_t)); parts != kParts) {
    return refuse(reason, "its header is not one that OpenVINO's NPU plugin writes (" + std::to_string(parts) +
                              " parts instead of " + std::to_string(kParts) + ")");
  } else {
    good = split_whole(input, model, reason);
  }
  if (good && model->xml.empty()) good = refuse(reason, "its XML is empty");
  if (!good) *model = {};
  return good;
}

}  // namespace anyzero
