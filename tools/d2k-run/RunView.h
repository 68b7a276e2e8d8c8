// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run as somebody at a terminal sees it: one line that is written over, and
// a line for each thing to keep.

#ifndef D2K_TOOLS_D2K_RUN_RUNVIEW_H
#define D2K_TOOLS_D2K_RUN_RUNVIEW_H

#include "d2k/Agent/Run.h"

namespace d2k::run {

/// The state in one line: "turn 12/350  1.2M tokens  $3.40  best 1.84x ...".
std::string formatProgress(const agent::RunProgress &progress);

class RunView {
public:
  explicit RunView(bool isQuiet);
  ~RunView() { clear(); }
  RunView(const RunView &) = delete;
  RunView &operator=(const RunView &) = delete;

  const agent::RunObserver &getObserver() const { return observer; }
  /// Removes the line.
  void clear();

private:
  void show(const agent::RunProgress &progress);
  void note(const std::string &text);

  bool isTerminal, isShown = false;
  unsigned lastTurn = ~0u;
  agent::RunObserver observer;
};

} // namespace d2k::run

#endif // D2K_TOOLS_D2K_RUN_RUNVIEW_H
