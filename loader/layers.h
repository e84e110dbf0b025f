// The layers of the upstream loader that environment variables switch on.
#pragma once

namespace anyzero::loader {

// Reads the variables at the first initialization: tools set them before, in their own process.
void switch_layers_on_as_told();

// Maps the modes of the validation layer to checks of the driver, if it has a check mode. Called before its functions are resolved.
void switch_checks_on_as_told(void* library, const char* path);

}  // namespace anyzero::loader
