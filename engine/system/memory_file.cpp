#include "memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "descriptor.h"

namespace anyzero {

bool raise_file_limit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int memory_file(size_t size) {
  int fd = memfd_create("anyzero", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 && errno == EMFILE && raise_file_limit()) fd = memfd_create("anyzero", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  fd = behind_streams(fd);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) {
    close(fd);
    return -1;
  }
  // A process that maps the file could otherwise truncate it.
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

bool descriptor_target(int fd, char* target, size_t room) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(path, target, room - 1);
  if (length < 0) return false;
  target[length] = 0;
  return true;
}

}  // namespace anyzero
