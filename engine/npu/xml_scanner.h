// A sequential scanner for XML tags. It builds no tree: OpenVINO does that, and this code only needs a few tags.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anyzero {

struct XmlTag {
  enum class Kind { Open, Close, Empty };
  Kind kind;
  std::string_view name;
  std::string_view attributes;  // as written
  size_t begin, end;            // in the text
};

class XmlScanner {
 public:
  explicit XmlScanner(std::string_view text) : text_(text) {}
  // False at the end, or if the text is not as in a model.
  bool next(XmlTag* tag);
  // Whether the text had only tags and text. Comments are skipped; document type declarations and CDATA sections do not occur in
  // models.
  bool good() const { return good_; }

 private:
  bool skip(std::string_view end);

  std::string_view text_;
  size_t at_ = 0;
  bool good_ = true;
};

// The value of an attribute, with entities not decoded; empty if missing.
std::string attribute(const XmlTag& tag, std::string_view key);

// The nesting depth of elements; SIZE_MAX if unknown.
size_t xml_depth(std::string_view text);

}  // namespace anyzero
