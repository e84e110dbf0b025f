#include "xml_scanner.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace anyzero {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

void append_character(std::string* text, uint32_t code) {
  if (code < 0x80) {
    *text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  *text += static_cast<char>((0xff00 >> (more + 1) & 0xff) | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) *text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

std::string unescaped(std::string_view raw) {
  constexpr std::pair<std::string_view, char> kNamed[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  std::string text;
  while (!raw.empty()) {
    const size_t mark = std::min(raw.find('&'), raw.size());
    text += raw.substr(0, mark);
    raw.remove_prefix(mark);
    const size_t end = raw.find(';');
    if (raw.empty() || end == raw.npos) break;
    const std::string_view entity = raw.substr(1, end - 1);
    if (entity.starts_with('#')) {
      const bool hex = entity.starts_with("#x");
      uint32_t code = 0;
      std::from_chars(entity.data() + (hex ? 2 : 1), entity.data() + entity.size(), code, hex ? 16 : 10);
      append_character(&text, code & 0x1fffff);
    } else {
      for (const auto& [name, character] : kNamed)
        if (entity == name) text += character;
    }
    raw.remove_prefix(end + 1);
  }
  text += raw;
  return text;
}

}  // namespace

bool XmlScanner::skip(std::string_view end) {
  const size_t found = text_.find(end, at_);
  if (found == text_.npos) return good_ = false;
  at_ = found + end.size();
  return true;
}

bool XmlScanner::next(XmlTag* tag) {
  while (good_) {
    const size_t begin = text_.find('<', at_);
    if (begin == text_.npos) return false;
    const std::string_view rest = text_.substr(begin);
    at_ = begin + 1;
    if (rest.starts_with("<?")) {
      skip("?>");
      continue;
    }
    if (rest.starts_with("<!--")) {
      at_ = begin + 4;
      skip("-->");
      continue;
    }
    if (rest.starts_with("<!")) {
      good_ = false;
      break;
    }
    // A quoted value may contain characters that would otherwise end the tag.
    for (;;) {
      at_ = text_.find_first_of(">\"'", at_);
      if (at_ == text_.npos) return good_ = false;
      const char found = text_[at_++];
      if (found == '>') break;
      if (!skip(std::string_view(&found, 1))) return false;
    }
    std::string_view inside = text_.substr(begin + 1, at_ - begin - 2);
    tag->kind = inside.starts_with('/') ? XmlTag::Kind::Close : inside.ends_with('/') ? XmlTag::Kind::Empty : XmlTag::Kind::Open;
    if (tag->kind == XmlTag::Kind::Close) inside.remove_prefix(1);
    if (tag->kind == XmlTag::Kind::Empty) inside.remove_suffix(1);
    tag->name = inside.substr(0, inside.find_first_of(kSpace));
    tag->attributes = inside.substr(tag->name.size());
    tag->begin = begin;
    tag->end = at_;
    return true;
  }
  return false;
}

std::string attribute(const XmlTag& tag, std::string_view key) {
  std::string_view rest = tag.attributes;
  for (;;) {
    const size_t name = rest.find_first_not_of(kSpace), equals = rest.find('=');
    if (name == rest.npos || equals == rest.npos || equals < name) return {};
    std::string_view found = rest.substr(name, equals - name);
    found = found.substr(0, found.find_first_of(kSpace));
    const size_t open = rest.find_first_of("\"'", equals);
    if (open == rest.npos) return {};
    const size_t close = rest.find(rest[open], open + 1);
    if (close == rest.npos) return {};
    if (found == key) return unescaped(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
  }
}

size_t xml_depth(std::string_view text) {
  // UTF-16 and UTF-32 contain zero bytes, and an apparent quote in them may be half of a character.
  if (text.find('\0') != text.npos) return SIZE_MAX;
  XmlScanner scanner(text);
  size_t depth = 0, deepest = 0;
  for (XmlTag tag; scanner.next(&tag);) {
    if (tag.kind == XmlTag::Kind::Open) deepest = std::max(deepest, ++depth);
    if (tag.kind == XmlTag::Kind::Close && depth > 0) --depth;
  }
  return scanner.good() ? deepest : SIZE_MAX;
}

}  // namespace anyzero
