// A kernel's printf against what OpenCL's specification makes of the same text.
#undef NDEBUG
#include "exec/printf.h"

#include <sys/mman.h>

#include <bit>
#include <cassert>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

using anyzero::format_printf;

namespace {

uint64_t slot(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t slot(const char* text) { return reinterpret_cast<uint64_t>(text); }
uint64_t slot(int32_t value) { return static_cast<uint32_t>(value); }

void expect(const std::string& wanted, const char* format, std::initializer_list<uint64_t> slots = {}) {
  std::string got = format_printf(format, slots.begin(), static_cast<uint32_t>(slots.size()));
  if (got != wanted) std::fprintf(stderr, "%s: got \"%s\", wanted \"%s\"\n", format, got.c_str(), wanted.c_str());
  assert(got == wanted);
}

void integers() {
  expect("-5 5 37 25 1f 1F", "%d %i %o %u %x %X", {slot(-5), 5, 31, 25, 31, 31});
  expect("4294967295", "%u", {slot(-1)});
  expect("-1 255", "%hhd %hhu", {0xff, 0xff});
  expect("-1 65535", "%hd %hu", {0x1234ffff, 0xffff});
  expect("-1 18446744073709551615", "%ld %lu", {~uint64_t{0}, ~uint64_t{0}});
  expect("-2147483648", "%d", {0x80000000});
  expect("-1 8 9 7", "%lld %zu %jd %td", {~uint64_t{0}, 8, 9, 7});
  expect("+7| 7|    7|7    |00007|0x7|007|00", "%+d|% d|%5d|%-5d|%05d|%#x|%.3d|%.2d", {7, 7, 7, 7, 7, 7, 7, 0});
  expect("||", "%.0d|%.d|", {0, 0});
  expect("  -042", "%6.3d", {slot(-42)});
}

void floats() {
  expect("1.500000 1.5 1.50 2", "%f %g %.2f %.0f", {slot(1.5), slot(1.5), slot(1.5), slot(1.5)});
  expect("1.250000e+00 1.250000E+00 1e-05 1E-05", "%e %E %g %G", {slot(1.25), slot(1.25), slot(1e-5), slot(1e-5)});
  expect("0x1.8p+0 0X1.8P+0", "%a %A", {slot(1.5), slot(1.5)});
  expect("inf -INF nan", "%f %F %f", {slot(INFINITY), slot(-INFINITY), slot(std::fabs(NAN))});
  expect("+1.5|  1.50|1.50  |001.50|2.", "%+.1f|%6.2f|%-6.2f|%06.2f|%#.0f",
         {slot(1.5), slot(1.5), slot(1.5), slot(1.5), slot(2.0)});
  expect("1.500000", "%lf", {slot(1.5)});
  expect(std::string(197, ' ') + "1.5", "%200.1f", {slot(1.5)});
}

void vectors() {
  expect("f4 = 1.00,2.00,3.00,4.00\n", "f4 = %2.2v4hlf\n", {slot(1.0), slot(2.0), slot(3.0), slot(4.0)});
  expect("uc = 0xfa,0xfb,0xfc,0xfd", "uc = %#v4hhx", {0xfa, 0xfb, 0xfc, 0xfd});
  expect("-1,-2", "%v2hhd", {0xff, 0xfe});
  expect("-1,-2,3", "%v3hd", {0xffff, 0xfffe, 3});
  expect("-1,2", "%v2ld", {~uint64_t{0}, 2});
  expect("1,-2", "%v2hld", {1, slot(-2)});
  expect("1,-2", "%v2d", {1, slot(-2)});
  expect("   1,   2;3", "%4v2d;%d", {1, 2, 3});
  expect("1.5,2.5", "%v2lg", {slot(1.5), slot(2.5)});
  expect("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "%v16hlu", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  expect("0,0,0,0,0,0,0,0", "%v8u", {0, 0, 0, 0, 0, 0, 0, 0});
}

void texts() {
  expect("a|  b|c  |", "%c|%3c|%-3c|", {'a', 'b', 'c'});
  expect(std::string("x\0y", 3), "x%cy", {0});
  expect("hello|  hi|hi  |he", "%s|%4s|%-4s|%.2s", {slot("hello"), slot("hi"), slot("hi"), slot("hello")});
  expect("(null) (nu", "%s %.3s", {0, 0});
  expect("(null)", "%s", {8});
  expect("100%", "100%%");
  expect("0x1234", "%p", {0x1234});
  expect("  0x1234|0x1234  ", "%8p|%-8p", {0x1234, 0x1234});
  expect("", "");
  expect("no conversions\n", "no conversions\n", {1, 2});
}

void what_is_no_conversion_stands_as_it_is() {
  expect("%", "%");
  expect("%5", "%5");
  expect("%q 1", "%q %d", {1});
  expect("%n", "%n", {0x1000});
  expect("%v5d %v4s %v4c %vd", "%v5d %v4s %v4c %vd", {1, 2, 3, 4});
  expect("%ls %hhc %lp", "%ls %hhc %lp", {1, 2, 3});
  expect("%*d", "%*d", {1, 2});
  expect("%53", "%5%d", {3});
  expect("%99999d", "%99999d", {1});
  expect("%.99999d", "%.99999d", {1});
  expect("%'d %Lf %ld", "%'d %Lf %ld");
  expect("%-+ #05.3v4hh", "%-+ #05.3v4hh", {1, 2, 3, 4});
}

void missing_slots_are_not_read() {
  expect("1 %d %s", "%d %d %s", {1});
  expect("%v4d 1", "%v4d %d", {1});
  expect("%d", "%d");
  assert(format_printf("%d %s", nullptr, 0) == "%d %s");
  assert(format_printf(nullptr, nullptr, 0).empty());
}

// A text right before memory that nobody may read.
char* at_the_end_of_a_page(size_t size) {
  size_t mapped = (size + 4095) / 4096 * 4096;
  void* base = mmap(nullptr, mapped + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(base != MAP_FAILED);
  assert(mprotect(static_cast<char*>(base) + mapped, 4096, PROT_NONE) == 0);
  return static_cast<char*>(base) + mapped - size;
}

void long_texts_are_bounded() {
  constexpr size_t kLimit = 64 << 10;
  char* endless = at_the_end_of_a_page(kLimit);
  std::memset(endless, 'x', kLimit);
  assert(format_printf(endless, nullptr, 0) == std::string(kLimit, 'x'));
  expect(std::string(kLimit, 'x'), "%s", {slot(endless)});
  expect("xx", "%.2s", {slot(endless + kLimit - 2)});
  endless[kLimit - 1] = '%';
  assert(format_printf(endless, nullptr, 0).back() == '%');
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "%4000d";
  std::vector<uint64_t> slots(2000, 1);
  assert(format_printf(many.c_str(), slots.data(), 2000).size() == 1 << 20);
}

void locales_change_nothing() {
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"})
    if (std::setlocale(LC_ALL, name)) break;
  expect("1.5", "%g", {slot(1.5)});
  std::setlocale(LC_ALL, "C");
}

// Any text at all: slots are finite, so nothing but the answer's length is promised.
void nonsense_is_harmless() {
  std::mt19937 generator(3);
  const std::string letters = "%%%%%dioxXfeEgGaAcpvhl0123456789.-+ #nqz*";
  for (int round = 0; round < 20000; ++round) {
    std::string format;
    for (uint32_t i = 0; i < generator() % 30; ++i) format.push_back(letters[generator() % letters.size()]);
    auto count = static_cast<uint32_t>(generator() % 20);
    std::vector<uint64_t> slots(count);
    for (uint64_t& s : slots) s = uint64_t{generator()} << 32 | generator();
    assert(format_printf(format.c_str(), slots.data(), count).size() <= 1 << 20);
  }
}

}  // namespace

int main() {
  integers();
  floats();
  vectors();
  texts();
  what_is_no_conversion_stands_as_it_is();
  missing_slots_are_not_read();
  long_texts_are_bounded();
  locales_change_nothing();
  nonsense_is_harmless();
  std::puts("printf_test: ok");
  return 0;
}
