// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows the progress of a run on standard error.

#include "RunView.h"

#include "d2k/Support/Terminal.h"

#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::agent;

static std::string formatCount(int64_t count) {
  char text[32];
  if (count >= 1000000)
    std::snprintf(text, sizeof(text), "%.1fM", double(count) / 1e6);
  else if (count >= 1000)
    std::snprintf(text, sizeof(text), "%.0fk", double(count) / 1e3);
  else
    std::snprintf(text, sizeof(text), "%lld", static_cast<long long>(count));
  return text;
}

std::string d2k::run::formatProgress(const RunProgress &progress) {
  char text[64];
  std::string line = "turn " + std::to_string(progress.turn) + "/" +
                     std::to_string(progress.turns) + "  " +
                     formatCount(progress.usage.getTotal()) + " tokens";
  if (progress.cost > 0) {
    std::snprintf(text, sizeof(text), "  $%.2f", progress.cost);
    line += text;
  }
  int64_t minutes = int64_t(progress.elapsed) / 60;
  std::snprintf(text, sizeof(text), "  %lld:%02lld",
                static_cast<long long>(minutes),
                static_cast<long long>(int64_t(progress.elapsed) % 60));
  line += text;
  line += "  " + std::to_string(progress.submissions) + " submitted";
  if (progress.best) {
    std::snprintf(text, sizeof(text), "  best %.3gx", *progress.best);
    line += text;
  }
  if (!progress.lastVerdict.empty())
    line += "  last " + progress.lastVerdict;
  if (!progress.doing.empty())
    line += "  " + progress.doing;
  return sanitize(line);
}

RunView::RunView(bool isQuiet) : isTerminal(::isatty(STDERR_FILENO)) {
  if (isQuiet)
    return;
  observer.progress = [this](const RunProgress &progress) { show(progress); };
  observer.note = [this](const std::string &text) { note(text); };
}

void RunView::show(const RunProgress &progress) {
  std::string line = formatProgress(progress);
  if (!isTerminal) {
    // A log gets a line a turn.
    if (progress.turn != lastTurn)
      std::fprintf(stderr, "d2k-run: %s\n", line.c_str());
    lastTurn = progress.turn;
    return;
  }
  winsize size = {};
  size_t columns =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1
          ? size.ws_col - 1u
          : 79u;
  // A cut line is better than one that scrolls.
  line.resize(std::min(line.size(), columns));
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  isShown = true;
}

void RunView::note(const std::string &text) {
  clear();
  std::fprintf(stderr, "d2k-run: %s\n", sanitize(text).c_str());
}

void RunView::clear() {
  if (isShown)
    std::fputs("\r\x1b[K", stderr);
  isShown = false;
}
