// The driver's cache of models: native blobs in files of one folder, found by what they were made from. A blob is written under
// another name and then renamed, so that a reader finds all of it or nothing, and its checksum tells when the disk thought
// otherwise. Nothing here is worth an error: where the disk is full, read-only or damaged, there is just no cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "blob.h"
#include "content_hash.h"

namespace anyzero {

// Threading: any thread of any process, with any number of them on one folder.
class ModelCache {
 public:
  // A limit of 0 bytes, or no folder, is a cache that finds and keeps nothing. The folder is made with the first blob.
  ModelCache(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // The blob, mapped and looked through; it counts as used now. One that is damaged is removed.
  std::optional<MappedBlob> find(const ContentHash& key) const noexcept;

  // Keeps the blob, if that is possible, and then removes what was not used for the longest time until the rest is within the
  // limit.
  void keep(const ContentHash& key, std::span<const unsigned char> blob) const noexcept;

  // The size of all entries together.
  uint64_t bytes() const noexcept;

 private:
  std::string folder_;
  uint64_t limit_;
};

}  // namespace anyzero
