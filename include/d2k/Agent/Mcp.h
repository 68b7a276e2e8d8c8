// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools of a run for an agent from outside, over the Model Context Protocol
// (modelcontextprotocol.io, stdio transport: one JSON-RPC message a line). Each
// call of a tool is a turn; the rest is a run like any other.

#ifndef D2K_AGENT_MCP_H
#define D2K_AGENT_MCP_H

#include "d2k/Agent/Run.h"

namespace d2k::agent {

/// Serves until \p input ends. The run goes on when it is served again.
Result<void> serveMcp(const RunOptions &options, const RunObserver &observer,
                      int input, int output);

/// Ends a run that was served: the best submission is measured again.
Result<RunResult> finishServedRun(const RunOptions &options,
                                  const RunObserver &observer);

} // namespace d2k::agent

#endif // D2K_AGENT_MCP_H
