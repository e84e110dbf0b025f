// Readers and writers of bytes that come from the planner, from files or from other processes: the only ones of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace anyzero {

// Takes values off the front. The bytes are not trusted: a value that is not there reads as zero, and from then on all do and the
// reader is bad. Views lead into the bytes, whose owner must outlive them.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  explicit ByteReader(std::span<const unsigned char> bytes)
      : ByteReader(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())) {}

  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }
  // Everything that has not been read yet.
  std::string_view rest() const { return rest_; }

  uint32_t u32() { return record<uint32_t>(); }
  uint64_t u64() { return record<uint64_t>(); }

  // A number, or a structure of engine/layouts/gen.
  template <class T>
  T record() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::string_view found = take(sizeof value);
    if (!found.empty()) std::memcpy(&value, found.data(), sizeof value);
    return value;
  }
  // The next `size` bytes.
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) return fail();
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }
  // Bytes behind their length.
  std::string_view blob() { return take(u64()); }
  // The same without a zero byte: texts become C strings, and one that ends early would mean something else.
  std::string_view text() {
    const std::string_view found = blob();
    return found.find('\0') == found.npos ? found : fail();
  }
  // A text of known length with the zero byte behind it.
  std::string_view c_string(uint32_t length) {
    const std::string_view found = take(uint64_t{length} + 1);
    if (found.empty() || found.find('\0') != length) return fail();
    return found.substr(0, length);
  }
  // A count of elements that take at least `least` bytes each, so that no count makes anybody allocate more than there is.
  uint32_t count(size_t least) {
    const uint32_t found = u32();
    if (found > rest_.size() / least) fail();
    return good_ ? found : 0;
  }
  // Numbers behind their count.
  template <class T>
  void numbers(std::vector<T>& to) {
    to.resize(count(sizeof(T)));
    const std::string_view found = take(to.size() * sizeof(T));
    if (!found.empty()) std::memcpy(to.data(), found.data(), found.size());
  }
  // Skips the padding behind `size` bytes.
  void skip_to_8(uint64_t size) { take((8 - size % 8) % 8); }

 private:
  std::string_view fail() {
    good_ = false;
    rest_ = {};
    return {};
  }

  std::string_view rest_;
  bool good_ = true;
};

// Collects values that a ByteReader, or anyzero.wire.Reader, reads.
class ByteWriter {
 public:
  void reserve(size_t size) { bytes_.reserve(size); }
  void u32(uint32_t value) { record(value); }
  void u64(uint64_t value) { record(value); }
  template <class T>
  void record(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void raw(std::string_view bytes) { bytes_.append(bytes); }
  void blob(std::string_view bytes) {
    u64(bytes.size());
    raw(bytes);
  }
  void text(std::string_view text) { blob(text); }

  const std::string& bytes() const { return bytes_; }
  std::string done() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace anyzero
