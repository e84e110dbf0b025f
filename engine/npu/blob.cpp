#include "blob.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "checksum.h"
#include "foreign_format.h"

namespace anyzero {

namespace {

constexpr char kMagic[8] = {'A', 'Z', 'G', 'R', 'A', 'P', 'H', '\n'};
constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 46;

// Offsets are computed from the sizes, so that no stored offset can contradict them.
struct Head {
  char magic[8];
  uint32_t version;
  uint32_t checksum;  // of the whole blob, with this field as zero
  uint64_t total_bytes;
  uint64_t manifest_bytes;
  uint64_t weights_bytes;
  uint64_t form_bytes;
  ContentHash form_identity;
};
static_assert(sizeof(Head) == 64);

uint64_t rounded(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

uint64_t weights_offset(uint64_t manifest_bytes) { return rounded(sizeof(Head) + manifest_bytes, kPage); }

uint64_t form_offset(const Head& head) { return rounded(weights_offset(head.manifest_bytes) + head.weights_bytes, kPage); }

uint64_t total_bytes(const Head& head) {
  return head.form_bytes ? form_offset(head) + head.form_bytes : weights_offset(head.manifest_bytes) + head.weights_bytes;
}

uint32_t checksum_of(Head head, std::span<const unsigned char> all) {
  head.checksum = 0;
  const uint32_t first = checksum({reinterpret_cast<const unsigned char*>(&head), sizeof head});
  return checksum(all.subspan(sizeof head), first);
}

bool no_memory(uint64_t size, std::string* reason) {
  *reason = "not enough memory for a blob of " + std::to_string(size) + " bytes";
  return false;
}

// Splits a blob with a valid head into its parts.
bool take_apart(std::span<const unsigned char> all, const Head& head, BlobView* view, std::string* reason) {
  const std::string_view manifest(reinterpret_cast<const char*>(all.data()) + sizeof head, head.manifest_bytes);
  if (!Manifest::read(manifest, &view->manifest, reason)) return false;
  if (view->manifest.weights_size != head.weights_bytes) {
    *reason = "the blob is damaged: its manifest says " + std::to_string(view->manifest.weights_size) +
              " bytes of weights, but it has " + std::to_string(head.weights_bytes);
    return false;
  }
  view->all = all;
  view->weights = all.subspan(weights_offset(head.manifest_bytes), head.weights_bytes);
  if (head.form_bytes) view->form = all.subspan(form_offset(head));
  view->form_identity = head.form_identity;
  return true;
}

bool head_of(std::span<const unsigned char> bytes, Head* head, std::string* reason) {
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), sizeof kMagic));
  if (!begin.empty() && begin != std::string_view(kMagic, begin.size())) {
    *reason = describe_foreign_format(bytes);
    if (reason->empty()) *reason = "these bytes are not a native blob of anyzero; compile the model for this device again";
    return false;
  }
  if (bytes.size() < sizeof *head) {
    *reason = "these " + std::to_string(bytes.size()) + " bytes are too few for a native blob";
    return false;
  }
  std::memcpy(head, bytes.data(), sizeof *head);
  if (head->version < kOldestBlobVersion || head->version > kBlobVersion) {
    *reason = "the blob has format version " + std::to_string(head->version) + " and this driver reads version " +
              std::to_string(kBlobVersion) + "; compile the model again, or use the version of anyzero that wrote it";
    return false;
  }
  const bool sound = head->manifest_bytes <= kMostBytes && head->weights_bytes <= kMostBytes && head->form_bytes <= kMostBytes &&
                     head->total_bytes == total_bytes(*head);
  if (!sound) {
    *reason = "the blob is damaged: its sizes are inconsistent";
    return false;
  }
  if (head->total_bytes > bytes.size()) {
    *reason = "the blob is truncated: it has " + std::to_string(head->total_bytes) + " bytes, and " + std::to_string(bytes.size()) +
              " are here";
    return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<Mapping> Mapping::of(void* mapped, size_t size) try {
  if (mapped == MAP_FAILED) return nullptr;
  return std::make_shared<Mapping>(static_cast<unsigned char*>(mapped), size);
} catch (const std::bad_alloc&) {
  munmap(mapped, size);
  return nullptr;
}

std::shared_ptr<Mapping> allocate_mapping(uint64_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // Weights are read sequentially, so huge pages only help.
  if (memory != MAP_FAILED && size >= 2 * kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  return Mapping::of(memory, size);
}

Mapping::~Mapping() { munmap(address_, size_); }

bool read_blob(std::span<const unsigned char> bytes, BlobView* view, std::string* reason) try {
  *view = {};
  Head head;
  if (!head_of(bytes, &head, reason)) return false;
  const auto all = bytes.first(head.total_bytes);
  if (checksum_of(head, all) != head.checksum) {
    *reason = "the blob is damaged: its checksum does not match";
    return false;
  }
  return take_apart(all, head, view, reason);
} catch (const std::bad_alloc&) {
  *reason = "not enough memory to read the blob";
  return false;
}

bool make_blob(std::string_view manifest, uint64_t weights_size, const FillWeights& fill, MappedBlob* blob,
               std::string* reason) try {
  *blob = {};
  if (manifest.size() > kMostBytes || weights_size > kMostBytes) return no_memory(weights_size, reason);
  Head head = {};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.version = kBlobVersion;
  head.manifest_bytes = manifest.size();
  head.weights_bytes = weights_size;
  const uint64_t offset = weights_offset(manifest.size());
  head.total_bytes = offset + weights_size;
  const auto memory = allocate_mapping(head.total_bytes);
  if (!memory) return no_memory(head.total_bytes, reason);
  std::memcpy(memory->address() + sizeof head, manifest.data(), manifest.size());
  BlobView view;
  if (!take_apart(memory->bytes(), head, &view, reason)) return false;
  if (weights_size && !fill({memory->address() + offset, weights_size}, reason)) return false;
  head.checksum = checksum_of(head, memory->bytes());
  std::memcpy(memory->address(), &head, sizeof head);
  *blob = {memory, std::move(view)};
  return true;
} catch (const std::bad_alloc&) {
  return no_memory(weights_size, reason);
}

bool extend_blob(const BlobView& from, std::span<const unsigned char> form, const ContentHash& identity, MappedBlob* blob,
                 std::string* reason) try {
  *blob = {};
  Head head;
  if (!head_of(from.all, &head, reason)) return false;
  const uint64_t without = weights_offset(head.manifest_bytes) + head.weights_bytes;
  head.version = kBlobVersion;
  head.form_bytes = form.size();
  head.form_identity = identity;
  head.total_bytes = total_bytes(head);
  const auto memory = allocate_mapping(head.total_bytes);
  if (!memory) return no_memory(head.total_bytes, reason);
  std::memcpy(memory->address(), from.all.data(), without);
  if (!form.empty()) std::memcpy(memory->address() + form_offset(head), form.data(), form.size());
  BlobView view;
  if (!take_apart(memory->bytes(), head, &view, reason)) return false;
  head.checksum = checksum_of(head, memory->bytes());
  std::memcpy(memory->address(), &head, sizeof head);
  *blob = {memory, std::move(view)};
  return true;
} catch (const std::bad_alloc&) {
  return no_memory(from.all.size() + form.size(), reason);
}

bool copy_blob(const BlobView& from, MappedBlob* blob, std::string* reason) try {
  *blob = {};
  const auto memory = allocate_mapping(from.all.size());
  if (!memory) return no_memory(from.all.size(), reason);
  std::memcpy(memory->address(), from.all.data(), from.all.size());
  // The bytes may have changed since they were read, so the head is read again.
  Head head;
  BlobView view;
  if (!head_of(memory->bytes(), &head, reason) || !take_apart(memory->bytes().first(head.total_bytes), head, &view, reason))
    return false;
  *blob = {memory, std::move(view)};
  return true;
} catch (const std::bad_alloc&) {
  return no_memory(from.all.size(), reason);
}

}  // namespace anyzero
