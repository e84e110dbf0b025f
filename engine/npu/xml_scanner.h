// The tags of an XML text, one after the other. No tree is made of it: OpenVINO does that, and here only a look is needed.
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
  // False at the end, or where the text is not as a model's is.
  bool next(XmlTag* tag);
  // Whether there was nothing but tags and text. Comments are passed over; declarations of types and raw sections are no part of
  // any model.
  bool good() const { return good_; }

 private:
  bool skip(std::string_view end);

  std::string_view text_;
  size_t at_ = 0;
  bool good_ = true;
};

// The value of an attribute, without what stands for characters put in their place; empty when it is not there.
std::string attribute(const XmlTag& tag, std::string_view key);

// The nesting depth of elements; SIZE_MAX when that cannot be told.
size_t xml_depth(std::string_view text);

}  // namespace anyzero
