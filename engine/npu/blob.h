// A native blob: everything that a graph is, in one run of bytes that needs nothing else to be loaded again.
//
//     head (64 bytes) · manifest · zeros · weights, from the next multiple of 4096 · zeros · form, from the next one
//
// The form is what OpenVINO has compiled of the rest, for whom `form_identity` says; a blob need not have one.
//
// It is used where it lies. At an address that is a multiple of 4096 the weights are on pages of their own; any other works too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "content_hash.h"
#include "manifest.h"

namespace anyzero {

// The format above, and the oldest that is still read.
inline constexpr uint32_t kBlobVersion = 2;
inline constexpr uint32_t kOldestBlobVersion = 1;  // without a form, and zeros where the head tells of it

// A view of bytes that the caller keeps.
struct BlobView {
  Manifest manifest;
  std::span<const unsigned char> weights;
  std::span<const unsigned char> form;
  ContentHash form_identity;
  std::span<const unsigned char> all;  // without what may follow it
};

// Whole pages of memory, or of a file. Threading: immutable.
class Mapping {
 public:
  // Takes over what mmap returned; nothing where that failed.
  static std::shared_ptr<Mapping> of(void* mapped, size_t size);
  Mapping(unsigned char* address, size_t size) : address_(address), size_(size) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  unsigned char* address() const { return address_; }
  std::span<const unsigned char> bytes() const { return {address_, size_}; }

 private:
  unsigned char* address_;
  size_t size_;
};

// Memory of its own, zeroed; nothing where there is none.
std::shared_ptr<Mapping> allocate_mapping(uint64_t size);

// A blob and what keeps its bytes; copies share them.
struct MappedBlob {
  std::shared_ptr<const Mapping> memory;
  BlobView view;
};

// What `bytes` begin with; others may follow, because who stores a blob pads it. False with a reason: nothing in them is trusted.
bool read_blob(std::span<const unsigned char> bytes, BlobView* view, std::string* reason);

// Lays a blob out in memory of its own. `fill` writes every byte of the weights, or says why it cannot.
using FillWeights = std::function<bool(std::span<unsigned char> weights, std::string* reason)>;
bool make_blob(std::string_view manifest, uint64_t weights_size, const FillWeights& fill, MappedBlob* blob, std::string* reason);

// The same blob in memory of its own, for bytes that will not stay.
bool copy_blob(const BlobView& from, MappedBlob* blob, std::string* reason);

// The same blob with that form.
bool extend_blob(const BlobView& from, std::span<const unsigned char> form, const ContentHash& identity, MappedBlob* blob,
                 std::string* reason);

}  // namespace anyzero
