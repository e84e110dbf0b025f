#include "dispatch.h"

namespace anyzero::loader {

constinit const Functions uninitialized = {
#define FUNCTION(name, ...) .name = Refuse<decltype(&::name), ZE_RESULT_ERROR_UNINITIALIZED>::call,
#include "gen/functions.inc"
};

constinit std::atomic<const Functions*> current{&uninitialized};

}  // namespace anyzero::loader
