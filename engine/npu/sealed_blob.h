// A native blob that only this user on this machine can read: encrypted and authenticated.
//
//     head (64 bytes) · the blob, encrypted
#pragma once

#include <span>
#include <string>

#include "blob.h"

namespace anyzero {

// Whether the bytes begin with the magic of a sealed blob.
bool is_sealed(std::span<const unsigned char> bytes);

// Whether this process can seal and unseal. False with a reason that tells the user what to do.
bool can_seal(std::string* reason);

std::shared_ptr<const Mapping> seal(std::span<const unsigned char> blob, std::string* reason);

// The blob inside; other bytes may follow the sealed one. nullptr, with a reason, if it belongs to another user or was changed.
std::shared_ptr<const Mapping> unseal(std::span<const unsigned char> bytes, std::string* reason);

}  // namespace anyzero
