// A new mapped file that this process writes and others read: recordings and profiles.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

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

}  // namespace anyzero
