// Images whose contents are followed, for checks of uninitialized reads.
#pragma once

#include "../abi/gen/ze_api.h"

namespace anyzero {

// Only with the checks of `init`: nothing has written an image that was made now. Memory of the program that an image lies over is
// followed by itself.
void note_new_image(ze_image_handle_t image);
// Before the image is destroyed. Its views count as written from now on.
void forget_image(ze_image_handle_t image);

}  // namespace anyzero
