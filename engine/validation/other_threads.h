// Threads of the process that wait in no call of the API: as long as one of them may go on by itself, it may submit or signal
// anything, whether it has called the API before or not.
#pragma once

namespace anyzero {

// The calling thread calls the API for the first time, or ends.
void note_calling_thread(bool calls);

// The calling thread begins to wait in a call, or has ended to.
void note_waiting_thread(bool waits);

// Check mode begins for a part of the program: threads that are there now count as long as they call the API only.
void note_bystanders();

// True when a thread that waits in no call runs, or sleeps in a way that ends without another thread of the process. Threads of the
// engine do not count. Also true where the system does not tell.
bool another_thread_may_act();

// Whether a thread of the process sleeps.
bool is_asleep(long thread);

}  // namespace anyzero
