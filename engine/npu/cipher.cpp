#include "cipher.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "../exec/trap.h"

namespace anyzero {

namespace {

// Commands of the library's control function.
constexpr int kGetTag = 0x10, kSetTag = 0x11;

}  // namespace

const Cipher* Cipher::open(std::string* reason) {
  static const Cipher* const found = []() -> const Cipher* {
    TrapPause not_device_work;
    auto made = std::make_unique<Cipher>();
    return made->load() ? made.release() : nullptr;
  }();
  if (!found)
    *reason =
        "encrypted graphs need OpenSSL's libcrypto, which this system does not have; install it (Debian and Ubuntu: apt install "
        "libssl3), or compile without encryption";
  return found;
}

bool Cipher::load() {
  void* library = nullptr;
  for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return false;
  bool whole = true;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    whole = whole && function;
  };
  find(make_, "EVP_CIPHER_CTX_new");
  find(free_, "EVP_CIPHER_CTX_free");
  find(method_, "EVP_aes_256_gcm");
  find(control_, "EVP_CIPHER_CTX_ctrl");
  find(encrypt_init_, "EVP_EncryptInit_ex");
  find(encrypt_update_, "EVP_EncryptUpdate");
  find(encrypt_final_, "EVP_EncryptFinal_ex");
  find(decrypt_init_, "EVP_DecryptInit_ex");
  find(decrypt_update_, "EVP_DecryptUpdate");
  find(decrypt_final_, "EVP_DecryptFinal_ex");
  return whole;
}

// The library's sizes are of type int. Without `to` the bytes are only authenticated.
bool Cipher::feed(Run* run, Update update, std::span<const unsigned char> from, unsigned char* to) {
  constexpr size_t kMost = size_t{1} << 30;
  while (!from.empty()) {
    const size_t size = std::min(from.size(), kMost);
    int written = 0;
    if (update(run, to, &written, from.data(), static_cast<int>(size)) != 1) return false;
    if (to) to += size;
    from = from.subspan(size);
  }
  return true;
}

bool Cipher::encrypt(const CipherKey& key, const CipherNonce& nonce, std::span<const unsigned char> known,
                     std::span<const unsigned char> text, unsigned char* to, CipherTag* tag) const {
  TrapPause not_device_work;
  const std::unique_ptr<Run, void (*)(Run*)> run(make_(), free_);
  unsigned char rest[16];
  int written = 0;
  return run && encrypt_init_(run.get(), method_(), nullptr, key.data(), nonce.data()) == 1 &&
         feed(run.get(), encrypt_update_, known, nullptr) && feed(run.get(), encrypt_update_, text, to) &&
         encrypt_final_(run.get(), rest, &written) == 1 &&
         control_(run.get(), kGetTag, static_cast<int>(tag->size()), tag->data()) == 1;
}

bool Cipher::decrypt(const CipherKey& key, const CipherNonce& nonce, std::span<const unsigned char> known,
                     std::span<const unsigned char> text, unsigned char* to, const CipherTag& tag) const {
  TrapPause not_device_work;
  const std::unique_ptr<Run, void (*)(Run*)> run(make_(), free_);
  CipherTag wanted = tag;
  unsigned char rest[16];
  int written = 0;
  return run && decrypt_init_(run.get(), method_(), nullptr, key.data(), nonce.data()) == 1 &&
         feed(run.get(), decrypt_update_, known, nullptr) && feed(run.get(), decrypt_update_, text, to) &&
         control_(run.get(), kSetTag, static_cast<int>(wanted.size()), wanted.data()) == 1 &&
         decrypt_final_(run.get(), rest, &written) == 1;
}

}  // namespace anyzero
