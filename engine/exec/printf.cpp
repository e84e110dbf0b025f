#include "printf.h"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace anyzero {
namespace {

constexpr size_t kLongestString = 64 << 10;
constexpr size_t kMostBytes = 1 << 20;
constexpr int kWidest = 4095;  // width of a field, and precision; C requires no more
constexpr uintptr_t kFirstAddress = 4096;

// Formats numbers independently of the program's locale. Memory of the kernel must not be read meanwhile: a fault would leave this
// locale set on the program's thread.
class PlainLocale {
 public:
  PlainLocale() : before_(uselocale(plain())) {}
  ~PlainLocale() { uselocale(before_); }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  static locale_t plain() {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
  }
  locale_t before_;
};

struct Conversion {
  std::string flags;
  int width = 0;
  int precision = -1;       // none
  uint32_t components = 0;  // of a vector; 0 for a scalar
  uint32_t bits = 32;       // of an integer
  bool has_length = false;
  char letter = 0;

  uint32_t slots() const { return components ? components : 1; }
};

// Consumes characters of a text while they match.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  size_t taken() const { return at_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  // An optional number; false if it is too large.
  bool number(int* to) {
    for (*to = 0; peek() >= '0' && peek() <= '9'; ++at_) {
      *to = *to * 10 + (peek() - '0');
      if (*to > kWidest) return false;
    }
    return true;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

void scan_length(Scanner& scanner, Conversion* to) {
  struct Length {
    std::string_view name;
    uint32_t bits;
  };
  // ll, j, z and t are not part of OpenCL, but C programmers write them, and their meaning is clear.
  static constexpr Length kLengths[] = {{"hh", 8}, {"hl", 32}, {"h", 16}, {"ll", 64}, {"l", 64}, {"j", 64}, {"z", 64}, {"t", 64}};
  for (const Length& length : kLengths) {
    if (!scanner.take(length.name)) continue;
    to->bits = length.bits;
    to->has_length = true;
    return;
  }
}

// Parses the conversion after a percent sign. False if it is invalid; `taken` characters are consumed in either case.
bool scan(std::string_view text, Conversion* to, size_t* taken) {
  Scanner scanner(text);
  auto fits = [&] {
    for (char flag = scanner.peek(); flag && std::strchr("-+ #0", flag); flag = scanner.peek()) {
      if (to->flags.find(flag) == std::string::npos) to->flags.push_back(flag);
      scanner.take(flag);
    }
    if (!scanner.number(&to->width)) return false;
    if (scanner.take('.') && !scanner.number(&to->precision)) return false;
    if (scanner.take('v')) {
      int components;
      if (!scanner.number(&components)) return false;
      to->components = static_cast<uint32_t>(components);
      if (components != 2 && components != 3 && components != 4 && components != 8 && components != 16) return false;
    }
    scan_length(scanner, to);
    to->letter = scanner.peek();
    bool number = to->letter && std::strchr("diouxXfFeEgGaA", to->letter);
    bool other = to->letter && std::strchr("csp", to->letter) && !to->components && !to->has_length;
    return (number || other) && scanner.take(to->letter);
  };
  bool good = fits();
  *taken = scanner.taken();
  return good;
}

// One C conversion, with the star for width and precision.
template <class Value>
void print(std::string* out, const Conversion& as, const char* flags, const char* length, Value value) {
  std::string format = "%";
  for (char flag : as.flags)
    if (std::strchr(flags, flag)) format.push_back(flag);
  format += "*.*";
  format += length;
  format.push_back(as.letter);
  PlainLocale locale;
  char few[128];
  int size = std::snprintf(few, sizeof few, format.c_str(), as.width, as.precision, value);
  if (size < 0) return;
  if (static_cast<size_t>(size) < sizeof few) {
    out->append(few, static_cast<size_t>(size));
    return;
  }
  size_t begin = out->size();
  out->resize(begin + static_cast<size_t>(size) + 1);
  std::snprintf(out->data() + begin, static_cast<size_t>(size) + 1, format.c_str(), as.width, as.precision, value);
  out->pop_back();
}

// The text may contain any characters, also NUL.
void print_text(std::string* out, const Conversion& as, std::string_view text) {
  size_t width = static_cast<size_t>(as.width), gap = width > text.size() ? width - text.size() : 0;
  bool left = as.flags.find('-') != std::string::npos;
  if (!left) out->append(gap, ' ');
  out->append(text);
  if (left) out->append(gap, ' ');
}

std::string_view string_at(uint64_t address, size_t longest) {
  if (address < kFirstAddress) return "(null)";
  auto* begin = reinterpret_cast<const char*>(address);
  return {begin, strnlen(begin, longest)};
}

void print_slot(std::string* out, const Conversion& as, uint64_t slot) {
  switch (as.letter) {
    case 'd':
    case 'i':
      // Shifting left and right again sign-extends the value from the type's width.
      print(out, as, "-+ 0", "ll", static_cast<long long>(slot << (64 - as.bits)) >> (64 - as.bits));
      break;
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      print(out, as, "-#0", "ll", static_cast<unsigned long long>(slot << (64 - as.bits)) >> (64 - as.bits));
      break;
    case 'c': {
      auto letter = static_cast<char>(slot);
      print_text(out, as, {&letter, 1});
      break;
    }
    case 's': {
      size_t longest = as.precision < 0 ? kLongestString : static_cast<size_t>(as.precision);
      print_text(out, as, string_at(slot, longest).substr(0, longest));
      break;
    }
    case 'p': {
      Conversion plain = as;
      plain.precision = -1;
      print(out, plain, "-", "", reinterpret_cast<void*>(slot));
      break;
    }
    default:
      double value;
      std::memcpy(&value, &slot, sizeof value);
      print(out, as, "-+ #0", "", value);
  }
}

}  // namespace

std::string format_printf(const char* format, const uint64_t* slots, uint32_t n_slots) {
  std::string out;
  if (!format) return out;
  std::string_view rest(format, strnlen(format, kLongestString));
  while (!rest.empty() && out.size() < kMostBytes) {
    size_t percent = std::min(rest.find('%'), rest.size());
    out.append(rest.substr(0, percent));
    rest.remove_prefix(percent);
    if (rest.empty()) break;
    if (rest.starts_with("%%")) {
      out.push_back('%');
      rest.remove_prefix(2);
      continue;
    }
    Conversion conversion;
    size_t taken;
    if (scan(rest.substr(1), &conversion, &taken) && conversion.slots() <= n_slots) {
      for (uint32_t i = 0; i < conversion.slots(); ++i) {
        if (i) out.push_back(',');
        print_slot(&out, conversion, slots[i]);
      }
      slots += conversion.slots();
      n_slots -= conversion.slots();
    } else {
      out.append(rest.substr(0, 1 + taken));
    }
    rest.remove_prefix(1 + taken);
  }
  if (out.size() > kMostBytes) out.resize(kMostBytes);
  return out;
}

}  // namespace anyzero
