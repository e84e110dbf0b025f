#include "sealed_blob.h"

#include <sys/mman.h>
#include <sys/random.h>

#include <cstring>

#include "cipher.h"
#include "user_key.h"

namespace anyzero {

namespace {

constexpr char kMagic[8] = {'A', 'Z', 'S', 'E', 'A', 'L', 'E', 'D'};
constexpr uint32_t kVersion = 1;

struct Head {
  char magic[8];
  uint32_t version;
  CipherNonce nonce;
  uint64_t bytes;  // of the blob
  std::array<unsigned char, 16> key_name;
  CipherTag tag;
};
static_assert(sizeof(Head) == 64);

std::span<const unsigned char> bytes_of(const Head& head) { return {reinterpret_cast<const unsigned char*>(&head), sizeof head}; }

// Excluded from core dumps and forked children.
std::shared_ptr<Mapping> allocate(uint64_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) madvise(memory, size, MADV_DONTDUMP);
  return Mapping::of(memory, size);
}

}  // namespace

bool is_sealed(std::span<const unsigned char> bytes) {
  return bytes.size() >= sizeof(Head) && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
}

bool can_seal(std::string* reason) {
  UserKey key;
  const bool can = Cipher::open(reason) && UserKey::get(&key, reason);
  explicit_bzero(&key, sizeof key);
  return can;
}

std::shared_ptr<const Mapping> seal(std::span<const unsigned char> blob, std::string* reason) {
  UserKey key;
  const Cipher* cipher = Cipher::open(reason);
  if (!cipher || !UserKey::get(&key, reason)) return nullptr;
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.version = kVersion;
  head.bytes = blob.size();
  head.key_name = key.name;
  std::shared_ptr<Mapping> sealed = allocate(sizeof head + blob.size());
  CipherTag tag{};
  // The head without the tag is authenticated together with the blob.
  if (!sealed || getrandom(head.nonce.data(), head.nonce.size(), 0) != static_cast<ssize_t>(head.nonce.size()) ||
      !cipher->encrypt(key.key, head.nonce, bytes_of(head), blob, sealed->address() + sizeof head, &tag)) {
    *reason = "the graph could not be encrypted: not enough memory, or OpenSSL failed";
    sealed = nullptr;
  } else {
    head.tag = tag;
    std::memcpy(sealed->address(), &head, sizeof head);
  }
  explicit_bzero(&key, sizeof key);
  return sealed;
}

std::shared_ptr<const Mapping> unseal(std::span<const unsigned char> bytes, std::string* reason) {
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.version != kVersion || head.bytes == 0 || head.bytes > bytes.size() - sizeof head) {
    *reason = "the encrypted graph is truncated, or from another version of anyzero";
    return nullptr;
  }
  UserKey key;
  const Cipher* cipher = Cipher::open(reason);
  if (!cipher || !UserKey::get(&key, reason)) return nullptr;
  std::shared_ptr<Mapping> blob;
  if (head.key_name != key.name) {
    *reason = "the graph was encrypted for another user or on another machine; compile the model here";
  } else if (blob = allocate(head.bytes); !blob) {
    *reason = "not enough memory for the encrypted graph";
  } else {
    const CipherTag tag = head.tag;
    head.tag = {};
    if (!cipher->decrypt(key.key, head.nonce, bytes_of(head), bytes.subspan(sizeof head, head.bytes), blob->address(), tag)) {
      *reason = "the encrypted graph was modified";
      blob = nullptr;
    }
  }
  explicit_bzero(&key, sizeof key);
  return blob;
}

}  // namespace anyzero
