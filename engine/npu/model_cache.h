// The driver's model cache: native blobs in the files of one folder, by a hash of their source. A blob is written to a temporary
// file and then renamed, so a reader finds all of it or nothing; its checksum detects damage by the disk. No failure is an error:
// if the disk is full, read-only or damaged, there is no cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "blob.h"
#include "content_hash.h"

namespace anyzero {

// Threading: any thread of any process; any number of them may use one folder.
class ModelCache {
 public:
  // With a limit of 0 bytes, or no folder, the cache stays empty. The folder is created with the first blob.
  ModelCache(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // The blob, mapped and verified; marked as used now. A damaged one is removed.
  std::optional<MappedBlob> find(const ContentHash& key) const noexcept;

  // Stores the blob if possible, then removes the least recently used entries until the rest is within the limit.
  void keep(const ContentHash& key, std::span<const unsigned char> blob) const noexcept;

  // Total size of all entries.
  uint64_t bytes() const noexcept;

 private:
  std::string folder_;
  uint64_t limit_;
};

}  // namespace anyzero
