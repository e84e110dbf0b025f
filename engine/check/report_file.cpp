#include "report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../system/descriptor.h"

namespace anyzero {

bool ReportFile::create(const char* path) {
  const int made = behind_streams(open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (made < 0) return false;
  struct stat facts = {};
  fstat(made, &facts);
  path_ = path;
  descriptor_ = made;
  device_ = facts.st_dev;
  number_ = facts.st_ino;
  return true;
}

void ReportFile::close() {
  if (is_own(descriptor_)) ::close(descriptor_);
  descriptor_ = -1;
  path_.clear();
}

bool ReportFile::is_own(int descriptor) const {
  struct stat facts = {};
  return descriptor >= 0 && fstat(descriptor, &facts) == 0 && facts.st_dev == device_ && facts.st_ino == number_;
}

bool ReportFile::open_again() {
  const int found = behind_streams(open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!is_own(found)) {
    if (found >= 0) ::close(found);
    return false;
  }
  descriptor_ = found;
  return true;
}

bool ReportFile::write(std::string_view bytes, off_t at) {
  if (!*this || (!is_own(descriptor_) && !open_again())) return false;
  if (pwrite(descriptor_, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size())) return true;
  // A full file system has room for no more than this.
  fchmod(descriptor_, kIncomplete);
  return false;
}

}  // namespace anyzero
