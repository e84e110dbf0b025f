#include "trusted_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <vector>

namespace anyzero {

namespace {

constexpr int kMostLinks = 40;
constexpr uid_t kUnmapped = 65534;

// In a user namespace without root, folders of root are owned by the overflow user ("nobody").
bool hides_the_administrator() {
  unsigned long long first = 0, outside = 0, count = 0;
  FILE* map = std::fopen("/proc/self/uid_map", "re");
  const bool read = map && std::fscanf(map, "%llu %llu %llu", &first, &outside, &count) == 3;
  if (map) std::fclose(map);
  return read && !(first == 0 && outside == 0);
}

bool trusted_owner(const struct stat& found, bool last) {
  if (found.st_uid == 0 || found.st_uid == geteuid()) return true;
  return !last && found.st_uid == kUnmapped && hides_the_administrator();
}

bool trusted(const struct stat& found, bool last) {
  if (!trusted_owner(found, last)) return false;
  if (S_ISLNK(found.st_mode) || !(found.st_mode & (S_IWGRP | S_IWOTH))) return true;
  return !last && (found.st_mode & S_ISVTX);
}

// Appends the components of a path in reverse order.
void add_parts(const std::string& path, std::vector<std::string>* rest) {
  for (size_t end = path.size(); end > 0;) {
    const size_t slash = path.rfind('/', end - 1);
    const size_t begin = slash == path.npos ? 0 : slash + 1;
    const std::string name = path.substr(begin, end - begin);
    if (!name.empty() && name != ".") rest->push_back(name);
    end = slash == path.npos ? 0 : slash;
  }
}

Descriptor look(const Descriptor& at, const char* name) { return Descriptor(openat(*at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)); }

Descriptor root() { return Descriptor(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

bool make_folder(const Descriptor& at, const char* name) {
  struct stat made;
  if (mkdirat(*at, name, 0700)) return errno == EEXIST;  // another process was faster
  if (fstatat(*at, name, &made, AT_SYMLINK_NOFOLLOW)) return false;
  // The umask may have removed permissions that we need.
  return (made.st_mode & 0700) == 0700 || fchmodat(*at, name, 0700, 0) == 0;
}

}  // namespace

Descriptor open_trusted_folder(const std::string& path, bool make) {
  if (path.empty() || path[0] != '/' || path.size() >= PATH_MAX) return Descriptor();
  std::vector<std::string> rest;
  add_parts(path, &rest);
  Descriptor here = root();
  struct stat found;
  if (!here || fstat(*here, &found) || !trusted(found, rest.empty())) return Descriptor();
  for (int links = 0; !rest.empty();) {
    const std::string name = std::move(rest.back());
    rest.pop_back();
    Descriptor there = look(here, name.c_str());
    if (!there && make && make_folder(here, name.c_str())) there = look(here, name.c_str());
    if (!there || fstat(*there, &found) || !trusted(found, rest.empty())) return Descriptor();
    if (S_ISLNK(found.st_mode)) {
      char target[PATH_MAX];
      const ssize_t size = readlinkat(*there, "", target, sizeof target);
      if (size <= 0 || size == static_cast<ssize_t>(sizeof target) || ++links > kMostLinks) return Descriptor();
      add_parts(std::string(target, static_cast<size_t>(size)), &rest);
      if (target[0] == '/') here = root();
      if (!here) return Descriptor();
    } else if (S_ISDIR(found.st_mode)) {
      here = std::move(there);
    } else {
      return Descriptor();
    }
  }
  return here;
}

bool is_trusted_file(const struct stat& found) { return S_ISREG(found.st_mode) && found.st_nlink == 1 && trusted(found, true); }

}  // namespace anyzero
