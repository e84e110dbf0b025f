// AES-256-GCM by the system's OpenSSL, which is loaded on first use.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace anyzero {

using CipherKey = std::array<unsigned char, 32>;
using CipherNonce = std::array<unsigned char, 12>;  // must be unique for each key
using CipherTag = std::array<unsigned char, 16>;

// Threading: any thread.
class Cipher {
 public:
  // nullptr, with a reason that tells the user what to do, if the system has no OpenSSL.
  static const Cipher* open(std::string* reason);

  // `text` and `to` have the same size. `known` is authenticated but not encrypted.
  bool encrypt(const CipherKey& key, const CipherNonce& nonce, std::span<const unsigned char> known,
               std::span<const unsigned char> text, unsigned char* to, CipherTag* tag) const;
  // False if anything was changed; the contents of `to` are then undefined.
  bool decrypt(const CipherKey& key, const CipherNonce& nonce, std::span<const unsigned char> known,
               std::span<const unsigned char> text, unsigned char* to, const CipherTag& tag) const;

 private:
  // Opaque types of the library.
  struct Run;
  struct Method;
  struct Engine;
  using Update = int (*)(Run*, unsigned char* to, int* written, const unsigned char* from, int size);
  using Init = int (*)(Run*, const Method*, Engine*, const unsigned char* key, const unsigned char* nonce);
  using Final = int (*)(Run*, unsigned char* to, int* written);

  bool load();
  static bool feed(Run* run, Update update, std::span<const unsigned char> from, unsigned char* to);

  Run* (*make_)() = nullptr;
  void (*free_)(Run*) = nullptr;
  const Method* (*method_)() = nullptr;
  int (*control_)(Run*, int what, int size, void* value) = nullptr;
  Init encrypt_init_ = nullptr, decrypt_init_ = nullptr;
  Update encrypt_update_ = nullptr, decrypt_update_ = nullptr;
  Final encrypt_final_ = nullptr, decrypt_final_ = nullptr;
};

}  // namespace anyzero
