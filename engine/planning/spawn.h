// Starts a program that the host does not notice.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace anyzero {

// Starts `arguments[0]` with one end of a socket as its descriptor 3, and returns the other, which is closed by exec and never 0, 1
// or 2; -1 with a reason when that fails. `process` receives the number of the new process.
//
// The program is no child of this process: nobody gets a SIGCHLD, and wait() does not see it. It has a session of its own, so what
// is typed at a terminal does not reach it; default signal actions; an empty standard input, its output goes to our standard error;
// and of the host's other descriptors it has none.
int spawn_unnoticed(const std::vector<std::string>& arguments, char* const* environment, pid_t* process, std::string* reason);

}  // namespace anyzero
