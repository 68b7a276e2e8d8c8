// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A finished run for people: one page, and the whole conversation as HTML.

#ifndef D2K_AGENT_RUNREPORT_H
#define D2K_AGENT_RUNREPORT_H

#include "d2k/Agent/Transcript.h"

#include <string>
#include <vector>

namespace d2k::agent {

/// One page of Markdown about the document d2k.run/1 \p result.
std::string renderRunSummary(const json::Value &result);

/// The conversation as one HTML file, without scripts and without anything
/// that is loaded from elsewhere. Whatever models and tools wrote is text.
std::string renderTranscript(const std::vector<Event> &events,
                             const json::Value &result);

} // namespace d2k::agent

#endif // D2K_AGENT_RUNREPORT_H
