// The second stage of kernels: better code, compiled by another process while the first one runs.
#pragma once

#include <memory>
#include <string>

#include "../../exec/code.h"

namespace anyzero {

// False once no compiling process can be started; modules are then compiled to final code at once.
bool can_improve();

// Lets the code be replaced once its kernel has run long enough: by final code if it is `provisional`, and by code for the size of
// its groups if `fits`. `build` is the request of its module. Called before another thread has the code.
void improve_when_it_pays(Code& code, std::shared_ptr<const std::string> build, bool provisional, bool fits);

}  // namespace anyzero
