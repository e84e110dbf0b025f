#include "chain.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace anyzero {

namespace {

constexpr uintptr_t kPage = 4096;

// rt_sigprocmask reads the signal set before it rejects the invalid operation. Unlike a pipe this needs no descriptor, and unlike
// process_vm_readv no permission.
bool word_readable(uintptr_t address) {
  constexpr int kNothing = -1;
  const int before = errno;
  const bool faulted = syscall(SYS_rt_sigprocmask, kNothing, address, nullptr, sizeof(uint64_t)) != 0 && errno == EFAULT;
  errno = before;
  return !faulted;
}

}  // namespace

bool readable(const ze_base_desc_t* structure) {
  const auto first = reinterpret_cast<uintptr_t>(structure);
  const uintptr_t last = first + sizeof *structure - sizeof(uint64_t);
  return word_readable(first) && (first / kPage == last / kPage || word_readable(last));
}

}  // namespace anyzero
