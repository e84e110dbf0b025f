// The layers of the upstream loader that environment variables switch on.
#pragma once

namespace anyzero::loader {

// Reads the variables when the first program part initializes: tools set them before that in their own process.
void switch_layers_on_as_told();

// The modes of the validation layer are checks of the driver, where it has a check mode. Called before its functions are asked for.
void switch_checks_on_as_told(void* library, const char* path);

}  // namespace anyzero::loader
