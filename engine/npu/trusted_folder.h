// Folders whose contents are executed: only this user and root may be able to write to them. The same rule as anyzero.trust.folder
// in Python; the model cache is used without Python, so it cannot call that.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace anyzero {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  explicit operator bool() const { return number_ >= 0; }
  int operator*() const { return number_; }

 private:
  int number_;
};

// Opens a folder by an absolute path, component by component. Checks the owner and the mode of each component by its descriptor, so
// that the checked folder is the one used. Follows symbolic links that this user or root created; world-writable parents need the
// sticky bit. With `make`, missing folders are created with mode 0700, whatever the umask. Returns no descriptor on failure, or if
// another user could write there.
Descriptor open_trusted_folder(const std::string& path, bool make);

// Whether only this user or root can have written the file, and it has no other hard link.
bool is_trusted_file(const struct stat& found);

}  // namespace anyzero
