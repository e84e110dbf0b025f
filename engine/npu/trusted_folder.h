// Folders whose contents are run: only this user and root may be able to change anything in them. The same rule as that of
// anyzero.trust.folder in Python; the model cache cannot ask there, because it is used without Python.
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

// Opens a folder by an absolute path, part by part, and looks at the owner and the mode of every part, so that what was checked is
// what is used. Symbolic links are followed where this user or the administrator has made them; a folder on the way that everybody
// may write to is fine with the sticky bit. With `make`, what is missing is made for this user alone, whatever the umask.
// Without a descriptor where that is not possible, or where another user could write there.
Descriptor open_trusted_folder(const std::string& path, bool make);

// Is it a file that only this user or the administrator can have written, and that has no other name?
bool is_trusted_file(const struct stat& found);

}  // namespace anyzero
