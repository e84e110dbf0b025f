#include "model_key.h"

#include <charconv>
#include <map>
#include <vector>

#include "../exec/trap.h"
#include "../system/settings.h"
#include "compiled_form.h"
#include "manifest.h"
#include "xml_scanner.h"

namespace anyzero {

namespace {

using Bytes = std::span<const unsigned char>;

bool number(const std::string& text, uint64_t* value) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stopped == end;
}

// The model's text with each address replaced by the values at that address.
class PointingText {
 public:
  bool read(std::string_view xml) {
    XmlScanner scanner(xml);
    size_t told = 0;
    for (XmlTag tag; scanner.next(&tag);) {
      if (tag.name != "attribute" || attribute(tag, "name") != "WeightsPointerAttribute") continue;
      const std::string address = attribute(tag, "mp");
      uint64_t at = 0, size = 0;
      if (!number(address, &at) || !number(attribute(tag, "ms"), &size) || at + size < at) return false;
      // Only OpenVINO's own spelling is accepted; any other gets no key.
      const std::string written = " mp=\"" + address + "\"";
      const size_t place = tag.attributes.find(written);
      if (place == std::string_view::npos || tag.attributes.find(" mp=", place + 1) != std::string_view::npos) return false;
      const size_t digits = static_cast<size_t>(tag.attributes.data() - xml.data()) + place + 5;
      parts_.push_back(as_bytes(xml.substr(told, digits - told)));
      told = digits + address.size();
      values({at, size});
    }
    parts_.push_back(as_bytes(xml.substr(told)));
    return scanner.good();
  }

  const std::vector<Bytes>& parts() const { return parts_; }

 private:
  struct Place {
    uint64_t at, size;
    auto operator<=>(const Place&) const = default;
  };

  // Constants may share their values, which are hashed only once.
  void values(const Place& place) {
    const auto [known, is_new] = seen_.try_emplace(place, seen_.size());
    // The label distinguishes values from the index of earlier values.
    parts_.push_back(as_bytes(is_new ? "values" : "the same as"));
    if (is_new) {
      parts_.push_back({reinterpret_cast<const unsigned char*>(place.at), place.size});
    } else {
      parts_.push_back({reinterpret_cast<const unsigned char*>(&known->second), sizeof known->second});
    }
  }

  std::vector<Bytes> parts_;
  std::map<Place, uint64_t> seen_;
};

}  // namespace

bool model_key(const SerializedModel& model, const char* build_flags, ContentHash* key) {
  const std::string made_by = settings.openvino_version + "/" ANYZERO_VERSION_TEXT "/" + std::to_string(kManifestVersion) + "/" +
                              processor_identity().hex();
  const std::string_view flags = build_flags ? build_flags : "";
  if (model.serializer == ModelSerializer::Whole) {
    *key = content_hash({as_bytes(model.xml), model.weights, as_bytes(flags), as_bytes(made_by)});
    return true;
  }
  PointingText text;
  if (!text.read(model.xml)) return false;
  std::vector<Bytes> parts = text.parts();
  parts.push_back(as_bytes(flags));
  parts.push_back(as_bytes(made_by));
  // The addresses come from the model's text and may be invalid.
  return trapped([&] { *key = content_hash(parts); }).signal == 0;
}

}  // namespace anyzero
