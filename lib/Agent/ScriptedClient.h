// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that reads its responses from a file, for tests and rehearsals.

#ifndef D2K_LIB_AGENT_SCRIPTEDCLIENT_H
#define D2K_LIB_AGENT_SCRIPTEDCLIENT_H

#include "d2k/Agent/ModelClient.h"

namespace d2k::agent {

/// Reads the script \p path: {"responses": [{"text": ..., "calls": [{"name":
/// ..., "arguments": {...}}], "usage": {...}, "seconds": N}]}. Response N
/// answers turn N; after the last one the model has nothing to say. An
/// argument {"$file": NAME} stands for the text of a file beside the script.
Result<std::unique_ptr<ModelClient>>
makeScriptedClient(const std::string &path);

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_SCRIPTEDCLIENT_H
