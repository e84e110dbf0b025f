#include "source_text.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anyzero {

namespace {

constexpr size_t kLongest = 200;
constexpr uint64_t kMostLines = 10'000'000;

// A descriptor of a regular file, or -1. Opening anything else may block or have effects.
int open_source(const char* file) {
  if (!*file || getauxval(AT_SECURE)) return -1;
  struct stat before, now;
  if (stat(file, &before) != 0 || !S_ISREG(before.st_mode)) return -1;
  const int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return -1;
  if (fstat(descriptor, &now) == 0 && S_ISREG(now.st_mode)) return descriptor;
  close(descriptor);
  return -1;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  std::string found(text.substr(0, kLongest));
  for (char& each : found)
    if (static_cast<unsigned char>(each) < ' ' || each == 0x7F) each = ' ';
  if (text.size() > kLongest) {
    // Not in the middle of a UTF-8 character.
    while (!found.empty() && (static_cast<unsigned char>(found.back()) & 0xC0) == 0x80) found.pop_back();
    if (!found.empty() && static_cast<unsigned char>(found.back()) >= 0xC0) found.pop_back();
    found += "…";
  }
  return found;
}

std::string source_line(const char* file, uint32_t line) {
  if (line == 0 || line > kMostLines) return {};
  const int descriptor = open_source(file);
  if (descriptor < 0) return {};
  std::string found;
  uint32_t at = 1;
  char piece[16384];
  for (ssize_t size; at <= line && (size = read(descriptor, piece, sizeof piece)) > 0;) {
    for (const char& each : std::string_view(piece, static_cast<size_t>(size))) {
      if (each == '\n') {
        if (++at > line) break;
      } else if (at == line && found.size() <= 4 * kLongest) {
        found += each;
      }
    }
  }
  close(descriptor);
  return shown(found);
}

}  // namespace anyzero
