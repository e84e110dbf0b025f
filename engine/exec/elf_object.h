// Links and loads a relocatable x86-64 ELF object into this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace anyzero {

// Resolves an undefined symbol of an object; false if the engine has none of that name.
using Resolve = std::function<bool(const std::string& name, uintptr_t* address)>;

// Threading: immutable once loaded. Constructors of the object are not run.
class LoadedObject {
 public:
  // nullptr with a reason if the bytes are no valid object, or one of the functions is not there.
  static std::unique_ptr<LoadedObject> load(std::string_view object, const std::vector<std::string>& functions,
                                            const Resolve& resolve, std::string* reason);
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  // By its place among those that were asked for.
  uintptr_t function(size_t place) const { return functions_[place]; }
  uintptr_t text() const { return base_; }
  size_t text_bytes() const { return text_bytes_; }
  bool contains(uintptr_t address) const { return address - base_ < text_bytes_; }
  // The object with the addresses of its sections, for debuggers; empty where it has no debug information.
  std::string take_symbols() { return std::move(symbols_); }
  // True for an address in the mapping: code, constants and tables.
  bool holds(uintptr_t address) const { return address - base_ < bytes_; }

 private:
  LoadedObject() = default;
  friend class ObjectLoader;

  uintptr_t base_ = 0;
  size_t bytes_ = 0;
  size_t text_bytes_ = 0;
  std::vector<uintptr_t> functions_;
  std::string symbols_;
};

}  // namespace anyzero
