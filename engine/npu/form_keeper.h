// Adds the compiled form to models that the cache has just got, on a thread beside the program: the first inference does not wait
// for it, the end of the process does for a while.
#pragma once

#include <functional>

namespace anyzero {

// Runs `job` later, after those that came before. It is dropped where there is no thread, or when the process ends first.
void keep_form_later(std::function<void()> job);

}  // namespace anyzero
