// Adds the compiled form to new models in the cache, on a background thread. The first inference does not wait for it; process exit
// waits for a limited time.
#pragma once

#include <functional>

namespace anyzero {

// Queues `job` behind earlier ones. It is dropped if no thread can be started, or if the process ends first.
void keep_form_later(std::function<void()> job);

}  // namespace anyzero
