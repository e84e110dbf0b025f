#include "ipc_descriptor.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../../system/memory_file.h"

namespace anyzero {

namespace {

constexpr uint32_t kOffsetBits = 40;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;

// The name of memfds of this driver.
bool is_ours(int fd) {
  char target[32];
  constexpr char kOurs[] = "/memfd:anyzero";
  if (descriptor_target(fd, target, sizeof target)) return std::strncmp(target, kOurs, sizeof kOurs - 1) == 0;
#ifdef F_GET_SEALS
  // Where /proc is missing: a file that cannot be truncated is one in memory.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
#else
  return false;
#endif
}

int open_again(int fd) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return open(path, O_RDWR | O_CLOEXEC);
}

// The length of the lock that begins at `offset`, seen by another open file; 0 when there is none.
uint64_t locked(int other, uint64_t offset) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = 1;
  if (fcntl(other, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK || lock.l_start != static_cast<off_t>(offset)) return 0;
  return lock.l_len > 0 ? static_cast<uint64_t>(lock.l_len) : 0;
}

}  // namespace

bool ipc_lock_bytes(int fd, uint64_t offset, uint64_t size) {
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = static_cast<off_t>(size);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

int ipc_lend(int fd, uint64_t offset, uint64_t size, uint32_t tag) {
  // A duplicate would share its position and its locks with ours.
  int lent = open_again(fd);
  if (lent < 0 && errno == EMFILE && raise_file_limit()) lent = open_again(fd);
  if (lent < 0) return -1;
  const uint64_t position = uint64_t{tag} << kOffsetBits | offset;
  if (offset <= kOffsetMask && ipc_lock_bytes(lent, offset, size) && lseek(lent, static_cast<off_t>(position), SEEK_SET) >= 0)
    return lent;
  const int reason = errno;
  close(lent);
  errno = reason;
  return -1;
}

int ipc_dma_buffer(int fd, uint64_t offset, uint64_t size) {
  const int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (maker < 0) return -1;
  udmabuf_create wanted = {};
  wanted.memfd = static_cast<uint32_t>(fd);
  wanted.flags = UDMABUF_FLAGS_CLOEXEC;
  wanted.offset = offset;
  wanted.size = size;
  const int made = ioctl(maker, UDMABUF_CREATE, &wanted);
  const int reason = errno;
  close(maker);
  if (made >= 0) ipc_lend(fd, offset, size);  // left open on purpose: its lock stays
  errno = reason;
  return made;
}

uint32_t ipc_file_number(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 ? static_cast<uint32_t>(file.st_ino) : 0;
}

bool ipc_describe(int fd, uint64_t* offset, uint64_t* size) {
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0) return false;
  *offset = 0;
  *size = static_cast<uint64_t>(file.st_size);
  if (!is_ours(fd)) return true;
  const off_t at = lseek(fd, 0, SEEK_CUR);
  const int other = open_again(fd);
  if (other < 0) return true;
  const uint64_t start = static_cast<uint64_t>(at) & kOffsetMask;
  if (const uint64_t length = at < 0 ? 0 : locked(other, start)) {
    *offset = start;
    *size = length;
  }
  close(other);
  return true;
}

bool ipc_describe_tagged(int fd, uint32_t file_number, uint32_t tag, uint64_t* offset, uint64_t* size) {
  struct stat file;
  if (fd < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || static_cast<uint32_t>(file.st_ino) != file_number) return false;
  const off_t at = lseek(fd, 0, SEEK_CUR);
  if (at < 0 || static_cast<uint64_t>(at) >> kOffsetBits != tag || !is_ours(fd)) return false;
  const uint64_t start = static_cast<uint64_t>(at) & kOffsetMask;
  const int other = open_again(fd);
  const uint64_t length = other < 0 ? 0 : locked(other, start);
  if (other >= 0) close(other);
  if (length == 0 || start + length > static_cast<uint64_t>(file.st_size)) return false;
  *offset = start;
  *size = length;
  return true;
}

}  // namespace anyzero
