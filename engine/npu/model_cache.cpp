#include "model_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "trusted_folder.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace anyzero {

namespace {

constexpr size_t kDigits = 32;
constexpr std::string_view kEntry = ".blob";
constexpr std::string_view kUnfinished = ".part";
constexpr time_t kAbandonedSeconds = 3600;  // an older temporary file was abandoned

std::string name_of(const ContentHash& key) { return key.hex() + std::string(kEntry); }

// Whether the cache creates such names. Other files are left alone.
bool ours(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending) || name.size() < kDigits + ending.size()) return false;
  if (ending == kEntry && name.size() != kDigits + ending.size()) return false;
  return name.substr(0, kDigits).find_first_not_of("0123456789abcdef") == name.npos;
}

void remove(const Descriptor& folder, const std::string& name) { unlinkat(*folder, name.c_str(), 0); }

// Only if it is still the file that was examined: another process may have replaced it.
void remove_if_same(const Descriptor& folder, const std::string& name, const struct stat& seen) {
  struct stat now;
  if (fstatat(*folder, name.c_str(), &now, AT_SYMLINK_NOFOLLOW)) return;
  if (now.st_ino == seen.st_ino && now.st_dev == seen.st_dev) remove(folder, name);
}

std::shared_ptr<Mapping> map(const Descriptor& file, size_t size) {
  auto mapping = Mapping::of(mmap(nullptr, size, PROT_READ, MAP_PRIVATE, *file, 0), size);
  // All of it is read soon. If the disk fails, this call returns an error, while a later read would raise SIGBUS. Kernels without
  // this call leave that risk.
  if (mapping && madvise(mapping->address(), size, MADV_POPULATE_READ) && (errno == EFAULT || errno == EHWPOISON)) return nullptr;
  return mapping;
}

bool write_all(const Descriptor& file, std::span<const unsigned char> bytes) {
  // Reserves the space before writing. File systems without fallocate fail with other errors.
  if (fallocate(*file, 0, 0, static_cast<off_t>(bytes.size())) && (errno == ENOSPC || errno == EDQUOT)) return false;
  while (!bytes.empty()) {
    const ssize_t written = write(*file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// A write beyond this limit would end the process by SIGXFSZ.
bool may_write(size_t size) {
  struct rlimit most;
  return getrlimit(RLIMIT_FSIZE, &most) == 0 && (most.rlim_cur == RLIM_INFINITY || size <= most.rlim_cur);
}

std::string unfinished_name(const ContentHash& key) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    random = static_cast<uint64_t>(now.tv_nsec) << 32 ^ static_cast<uint64_t>(gettid());
  }
  return key.hex() + "." + std::to_string(getpid()) + "." + std::to_string(random) + std::string(kUnfinished);
}

struct CachedModel {
  timespec used;
  uint64_t bytes;
  std::string name;

  bool operator<(const CachedModel& other) const {
    return std::tie(used.tv_sec, used.tv_nsec, name) < std::tie(other.used.tv_sec, other.used.tv_nsec, other.name);
  }
};

std::vector<CachedModel> entries(const Descriptor& folder) {
  std::vector<CachedModel> found;
  // A separate descriptor, because reading a directory moves its position.
  const int again = openat(*folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> listing(again >= 0 ? fdopendir(again) : nullptr, closedir);
  if (!listing) {
    if (again >= 0) close(again);
    return found;
  }
  const time_t now = time(nullptr);
  while (const dirent* each = readdir(listing.get())) {
    const bool whole = ours(each->d_name, kEntry);
    if (!whole && !ours(each->d_name, kUnfinished)) continue;
    struct stat about;
    if (fstatat(*folder, each->d_name, &about, AT_SYMLINK_NOFOLLOW) || !S_ISREG(about.st_mode)) continue;
    if (whole)
      found.push_back({about.st_mtim, static_cast<uint64_t>(about.st_size), each->d_name});
    else if (now - about.st_mtime > kAbandonedSeconds)
      remove(folder, each->d_name);
  }
  return found;
}

// Any number of processes may do this concurrently without a lock: they choose the same entries in the same order, an entry that is
// gone counts as removed, and the process that kept the last blob sees all the others.
void make_room(const Descriptor& folder, uint64_t limit, const std::string& newest) {
  std::vector<CachedModel> all = entries(folder);
  uint64_t total = 0;
  for (const CachedModel& each : all) total += each.bytes;
  if (total <= limit) return;
  std::sort(all.begin(), all.end());
  for (const CachedModel& each : all) {
    if (total <= limit) return;
    if (each.name == newest) continue;
    if (unlinkat(*folder, each.name.c_str(), 0) && errno != ENOENT) continue;
    total -= each.bytes;
  }
}

}  // namespace

std::optional<MappedBlob> ModelCache::find(const ContentHash& key) const noexcept try {
  if (!limit_ || folder_.empty()) return {};
  const Descriptor folder = open_trusted_folder(folder_, false);
  if (!folder) return {};
  const std::string name = name_of(key);
  const Descriptor file(openat(*folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about;
  if (!file || fstat(*file, &about) || !is_trusted_file(about)) return {};
  MappedBlob found;
  std::string reason;
  const size_t size = static_cast<size_t>(about.st_size);
  if (size) found.memory = map(file, size);
  if (size && !found.memory) return {};
  if (!size || !read_blob(found.memory->bytes(), &found.view, &reason) || found.view.all.size() != size) {
    remove_if_same(folder, name, about);
    return {};
  }
  futimens(*file, nullptr);
  return found;
} catch (...) {
  return {};
}

void ModelCache::keep(const ContentHash& key, std::span<const unsigned char> blob) const noexcept try {
  if (folder_.empty() || blob.empty() || blob.size() > limit_ || !may_write(blob.size())) return;
  const Descriptor folder = open_trusted_folder(folder_, true);
  if (!folder) return;
  const std::string name = name_of(key), unfinished = unfinished_name(key);
  struct stat there;
  if (fstatat(*folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(there.st_mode)) return;
  bool written = false;
  {
    const Descriptor file(openat(*folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return;
    written = fchmod(*file, 0600) == 0 && write_all(file, blob);
  }
  if (!written || renameat(*folder, unfinished.c_str(), *folder, name.c_str())) return remove(folder, unfinished);
  make_room(folder, limit_, name);
} catch (...) {
}

uint64_t ModelCache::bytes() const noexcept try {
  const Descriptor folder = open_trusted_folder(folder_, false);
  uint64_t total = 0;
  if (folder)
    for (const CachedModel& each : entries(folder)) total += each.bytes;
  return total;
} catch (...) {
  return 0;
}

}  // namespace anyzero
