// A native blob that only this user on this machine can read: encrypted and authenticated.
//
//     head (64 bytes) · the blob, encrypted
#pragma once

#include <span>
#include <string>

#include "blob.h"

namespace anyzero {

// Whether bytes begin like a sealed blob.
bool is_sealed(std::span<const unsigned char> bytes);

// Whether this process can seal and unseal at all. False with a reason that says what to do.
bool can_seal(std::string* reason);

std::shared_ptr<const Mapping> seal(std::span<const unsigned char> blob, std::string* reason);

// The blob inside; others bytes may follow the sealed one. Nothing, with a reason, when it is another's, or was changed.
std::shared_ptr<const Mapping> unseal(std::span<const unsigned char> bytes, std::string* reason);

}  // namespace anyzero
