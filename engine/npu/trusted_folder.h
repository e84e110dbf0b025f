// Folders whose contents are executed: only this user and root may be able to write to them. The same rule as anyzero.trust.folder
// in Python; the model cache is used without Python, so it cannot call that.
#pragma once

#include <sys/stat.h>

#include <string>

#include "../system/descriptor.h"

namespace anyzero {

// Opens a folder by an absolute path, component by component. Checks the owner and the mode of each component by its descriptor, so
// that the checked folder is the one used. Follows symbolic links that this user or root created; world-writable parents need the
// sticky bit. With `make`, missing folders are created with mode 0700, whatever the umask. Returns no descriptor on failure, or if
// another user could write there.
Descriptor open_trusted_folder(const std::string& path, bool make);

// Whether only this user or root can have written the file, and it has no other hard link.
bool is_trusted_file(const struct stat& found);

}  // namespace anyzero
