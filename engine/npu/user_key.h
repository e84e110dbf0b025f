// The key by which graphs are encrypted: this user's on this machine, made when it is first needed. It never leaves the machine.
#pragma once

#include <array>
#include <string>

#include "cipher.h"

namespace anyzero {

struct UserKey {
  std::array<unsigned char, 16> name;  // random, so that a mismatch of keys can be reported
  CipherKey key;

  // From $XDG_DATA_HOME/anyzero/graph.key, else from ~/.local/share. False with a reason where it cannot be had, or others can read
  // it.
  static bool get(UserKey* key, std::string* reason);
};

}  // namespace anyzero
