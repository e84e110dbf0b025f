// The key that encrypts graphs: one per user and machine, created on first use. It never leaves the machine.
#pragma once

#include <array>
#include <string>

#include "cipher.h"

namespace anyzero {

struct UserKey {
  std::array<unsigned char, 16> name;  // random, so that a mismatch of keys can be reported
  CipherKey key;

  // From $XDG_DATA_HOME/anyzero/graph.key, else from ~/.local/share. False with a reason if it cannot be read or created, or if
  // other users can read it.
  static bool get(UserKey* key, std::string* reason);
};

}  // namespace anyzero
