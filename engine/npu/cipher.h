// AES-256 in Galois/counter mode, by the system's OpenSSL, which is loaded when it is first needed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace anyzero {

using CipherKey = std::array<unsigned char, 32>;
using CipherNonce = std::array<unsigned char, 12>;  // never twice with one key
using CipherTag = std::array<unsigned char, 16>;

// Threading: any thread.
class Cipher {
 public:
  // nullptr, with a reason that says what to do, where the system has no OpenSSL.
  static const Cipher* open(std::string* reason);

  // `text` and `to` have the same size. `known` is not encrypted, and as safe from changes.
  bool encrypt(const CipherKey& key, const CipherNonce& nonce, std::span<const unsigned char> known,
               std::span<const unsigned char> text, unsigned char* to, CipherTag* tag) const;
  // False when anything was changed; what was written to `to` then means nothing.
  bool decrypt(const CipherKey& key, const CipherNonce& nonce, std::span<const unsigned char> known,
               std::span<const unsigned char> text, unsigned char* to, const CipherTag& tag) const;

 private:
  // Objects of the library; only pointers to them are seen.
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
