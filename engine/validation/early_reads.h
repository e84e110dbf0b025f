// Accesses by the program itself of memory that a command is still to write, where no language tells of them.
//
// With `races`, commands that will write memory of the program do not run at once, unless they do within their call: they are held
// back, and the pages that they write completely are protected. A call that is no submission lets them go, as does a wait inside of
// one, and time: before anything that could order the program behind the commands. A program that touches a protected page before
// that has not waited. Its access is noted and repeated, the commands go, and once they are done the bytes are compared: if they
// have changed, the program has read them too early, or its write is in conflict with the command's.
//
// Only pages of which all bytes that belong to the allocation are certain to be written are protected, so no right program touches
// one: neither neighbours, nor system calls with buffers beside the result, nor locks or flags in the same page.
#pragma once

#include <cstdint>
#include <vector>

#include "command_use.h"

namespace anyzero {

class Ring;

// Pages that a command writes.
struct AwaitedResult {
  uintptr_t begin, end;
  CommandName command;
};

// What a submission writes to memory of the program, collected command by command.
class AwaitedResults {
 public:
  void add(const CommandUse& use);
  // The ring's commands from `before` to `until` write that: they are held back if it is anything that can be protected. Called by
  // the observer of submissions.
  void hold(Ring& ring, uint64_t before, uint64_t until);

 private:
  static constexpr size_t kMost = 64;  // each is a call of the system
  std::vector<AwaitedResult> results_;
};

void let_held_commands_go();
// Before a call of the program: the same, unless it is a submission.
void before_call(const char* function);
// Reports accesses whose commands are done by now, or in so many nanoseconds.
void finish_early_reads(uint64_t patience);

}  // namespace anyzero
