#include "user_key.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../system/descriptor.h"

namespace anyzero {

namespace {

constexpr const char* kName = "graph.key";
static_assert(sizeof(UserKey) == 48);

std::string home() {
  if (const char* named = secure_getenv("HOME"); named && named[0] == '/') return named;
  std::vector<char> room(16384);
  passwd entry{}, *found = nullptr;
  if (getpwuid_r(geteuid(), &entry, room.data(), room.size(), &found) || !found || !found->pw_dir) return {};
  return found->pw_dir;
}

std::string folder_path() {
  if (const char* named = secure_getenv("XDG_DATA_HOME"); named && named[0] == '/') return std::string(named) + "/anyzero";
  const std::string place = home();
  return place.empty() ? place : place + "/.local/share/anyzero";
}

void make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1)) mkdir(path.substr(0, end).c_str(), 0700);
  mkdir(path.c_str(), 0700);
}

bool only_ours(int descriptor, bool folder) {
  struct stat about;
  if (fstat(descriptor, &about) || about.st_uid != geteuid()) return false;
  return folder ? S_ISDIR(about.st_mode) && !(about.st_mode & (S_IWGRP | S_IWOTH))
                : S_ISREG(about.st_mode) && !(about.st_mode & (S_IRWXG | S_IRWXO)) && about.st_size == sizeof(UserKey);
}

// Written to a temporary file first: a reader finds the whole key, and of two concurrent processes the first wins.
bool make_key(const Descriptor& folder) {
  UserKey fresh;
  if (getrandom(&fresh, sizeof fresh, 0) != static_cast<ssize_t>(sizeof fresh)) return false;
  const std::string name = std::string(kName) + "." + std::to_string(getpid()) + "." + std::to_string(gettid());
  unlinkat(*folder, name.c_str(), 0);
  bool written = false;
  {
    const Descriptor file(openat(*folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    written = file && write(*file, &fresh, sizeof fresh) == static_cast<ssize_t>(sizeof fresh) && fsync(*file) == 0;
  }
  const bool linked = written && (linkat(*folder, name.c_str(), *folder, kName, 0) == 0 || errno == EEXIST);
  unlinkat(*folder, name.c_str(), 0);
  explicit_bzero(&fresh, sizeof fresh);
  return linked;
}

}  // namespace

bool UserKey::get(UserKey* key, std::string* reason) {
  const std::string path = folder_path();
  if (!path.empty()) make_folders(path);
  const Descriptor folder(path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  for (int tries = 0; folder && only_ours(*folder, true) && tries < 2; ++tries) {
    const Descriptor file(openat(*folder, kName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && only_ours(*file, false) && read(*file, key, sizeof *key) == static_cast<ssize_t>(sizeof *key)) return true;
    if (file || errno != ENOENT || !make_key(folder)) break;
  }
  *reason =
      "the key for encrypted graphs cannot be read or created: " + (path.empty() ? std::string("there is no home folder") : path) +
      " has to be a folder of this user, and " + kName + " in it a file that no other user can read";
  return false;
}

}  // namespace anyzero
