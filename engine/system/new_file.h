// New files that this process writes and others read: recordings, profiles, findings.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>

namespace anyzero {

// Creates the file, of `bytes` zeros, and maps it. nullptr with errno if that fails, also where the file exists already.
inline unsigned char* map_new_file(const char* path, size_t bytes) {
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0)
    mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  const int why = errno;
  close(fd);
  if (mapped != MAP_FAILED) return static_cast<unsigned char*>(mapped);
  unlink(path);
  errno = why;
  return nullptr;
}

// Makes a file of this process, PID.EXTENSION in a folder. An earlier program of the process, before its exec, or an earlier
// process of the same number may have made that one: the next is PID-2. `make` returns false with errno set if there is a file of a
// name.
template <class Make>
void make_own_file(const char* folder, const char* extension, Make&& make) {
  constexpr unsigned kMost = 1000;
  char path[PATH_MAX];
  for (unsigned number = 1; number <= kMost; ++number) {
    const int size = number == 1 ? std::snprintf(path, sizeof path, "%s/%d.%s", folder, getpid(), extension)
                                 : std::snprintf(path, sizeof path, "%s/%d-%u.%s", folder, getpid(), number, extension);
    if (size < 0 || static_cast<size_t>(size) >= sizeof path) return;
    if (make(static_cast<const char*>(path)) || errno != EEXIST) return;
  }
}

}  // namespace anyzero
