// The C++ tests are linked without the traced and checked forms of the API functions: no test calls them, and they take long to
// compile.
#include "abi/gen/traced.h"

namespace anyzero {

const std::span<const TracedFunction> traced_functions;

}  // namespace anyzero
