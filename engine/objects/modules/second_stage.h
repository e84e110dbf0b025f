// The second stage of kernels: better code, compiled by another process while the first one runs.
#pragma once

#include <memory>
#include <string>

#include "../../exec/code.h"

namespace anyzero {

// False once it has turned out that no process can be had for it; then code had better be good at once.
bool can_improve();

// The code may be replaced, once its kernel has run long enough: by final code where it is `provisional`, and by code for the size
// of its groups where `fits`. `build` is the request that its module was made from. Before another thread has the code.
void improve_when_it_pays(Code& code, std::shared_ptr<const std::string> build, bool provisional, bool fits);

}  // namespace anyzero
