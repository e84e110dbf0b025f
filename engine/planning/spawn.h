// Starts a program without side effects on the host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace anyzero {

// Starts `arguments[0]` with one end of a socket as its descriptor 3, and returns the other one, which is close-on-exec and never
// 0, 1 or 2; -1 with a reason on failure. `process` receives the id of the new process.
//
// The program is no child of this process: there is no SIGCHLD, and wait() does not see it. It has a session of its own, so that
// signals of the terminal do not reach it; default signal actions; an empty standard input; our standard error as its output; and
// none of the host's other descriptors.
int spawn_unnoticed(const std::vector<std::string>& arguments, char* const* environment, pid_t* process, std::string* reason);

}  // namespace anyzero
