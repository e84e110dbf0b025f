// The file that receives the findings of a process.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace anyzero {

// Kept open, because a program may give up the right to open it again. But programs also close descriptors that they do not know,
// as daemons do, and open files of their own under the same numbers: each write makes sure that the descriptor is still this
// file's. Threading: under the owner's lock.
class ReportFile {
 public:
  // Creates the file; false with errno if that fails, also where there is one.
  bool create(const char* path);
  void close();

  explicit operator bool() const { return !path_.empty(); }
  // False if not all of it was written. The file's mode then says that it is incomplete.
  bool write(std::string_view bytes, off_t at);

 private:
  static constexpr mode_t kIncomplete = 0700;

  bool is_own(int descriptor) const;
  bool open_again();

  std::string path_;
  int descriptor_ = -1;
  dev_t device_ = 0;
  ino_t number_ = 0;
};

}  // namespace anyzero
