// A native blob: a whole graph in one self-contained run of bytes.
//
//     head (64 bytes) · manifest · zeros · weights, from the next multiple of 4096 · zeros · form, from the next one
//
// The form is OpenVINO's compiled model of the IR and weights; it is valid only where `form_identity` matches. It is optional.
//
// A blob is used in place. The weights start on a page boundary if the blob does; other addresses work, too.
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

// The current format version, and the oldest that is still read.
inline constexpr uint32_t kBlobVersion = 2;
inline constexpr uint32_t kOldestBlobVersion = 1;  // no form, and zeros in the head's fields for it

// A view of bytes that the caller owns.
struct BlobView {
  Manifest manifest;
  std::span<const unsigned char> weights;
  std::span<const unsigned char> form;
  ContentHash form_identity;
  std::span<const unsigned char> all;  // without trailing bytes
};

// Whole pages of memory, or of a file. Threading: immutable.
class Mapping {
 public:
  // Takes ownership of a mapping that mmap returned; nullptr if mmap failed.
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

// Zeroed anonymous memory; nullptr if there is not enough.
std::shared_ptr<Mapping> allocate_mapping(uint64_t size);

// A blob and the owner of its bytes; copies share them.
struct MappedBlob {
  std::shared_ptr<const Mapping> memory;
  BlobView view;
};

// Parses the blob at the start of `bytes`; padding may follow it. The bytes are untrusted: false with a reason if they are invalid.
bool read_blob(std::span<const unsigned char> bytes, BlobView* view, std::string* reason);

// Lays out a blob in newly allocated memory. `fill` writes every byte of the weights, or gives the reason why it cannot.
using FillWeights = std::function<bool(std::span<unsigned char> weights, std::string* reason)>;
bool make_blob(std::string_view manifest, uint64_t weights_size, const FillWeights& fill, MappedBlob* blob, std::string* reason);

// Copies the blob to newly allocated memory, for bytes that will not stay valid.
bool copy_blob(const BlobView& from, MappedBlob* blob, std::string* reason);

// Copies the blob and adds the form.
bool extend_blob(const BlobView& from, std::span<const unsigned char> form, const ContentHash& identity, MappedBlob* blob,
                 std::string* reason);

}  // namespace anyzero
