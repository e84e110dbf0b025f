// New files that this process writes and others read: recordings, profiles, findings.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

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

// Has the file system provide these bytes of a mapped file. False with errno where it has no room for them: a write would raise
// SIGBUS. Not known before Linux 5.14, where this is true.
inline bool has_room(const void* begin, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(begin) + bytes;
  if (madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE) == 0 || errno == EINVAL) return true;
  if (errno == EFAULT) errno = ENOSPC;
  return false;
}

// Makes a file of this process, PID.EXTENSION in a folder. An earlier program of the process, before its exec, or an earlier
// process of the same number may have made that one: the next is PID-2. `make` returns false with errno set if there is a file of a
// name. False with errno if none was made.
template <class Make>
bool make_own_file(const char* folder, const char* extension, Make&& make) {
  constexpr unsigned kMost = 1000;
  char path[PATH_MAX];
  for (unsigned number = 1; number <= kMost; ++number) {
    const int size = number == 1 ? std::snprintf(path, sizeof path, "%s/%d.%s", folder, getpid(), extension)
                                 : std::snprintf(path, sizeof path, "%s/%d-%u.%s", folder, getpid(), number, extension);
    if (size < 0 || static_cast<size_t>(size) >= sizeof path) {
      errno = ENAMETOOLONG;
      return false;
    }
    if (make(static_cast<const char*>(path))) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

}  // namespace anyzero
