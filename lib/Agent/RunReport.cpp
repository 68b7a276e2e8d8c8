// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the summary and the HTML page of a run.

#include "d2k/Agent/RunReport.h"

#include "d2k/Agent/Message.h"
#include "d2k/Support/Terminal.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::agent;

static std::string formatNumber(const json::Value &value, const char *format) {
  std::optional<double> number = value.getAsNumber();
  if (!number)
    return "-";
  char text[64];
  std::snprintf(text, sizeof(text), format, *number);
  return text;
}

static json::Value get(const json::Value &value, std::string_view name) {
  const json::Object *object = value.getAsObject();
  const json::Value *member = object ? object->find(name) : nullptr;
  return member ? *member : json::Value();
}

static std::string getString(const json::Value &value, std::string_view name) {
  json::Value member = get(value, name);
  return member.getAsString() ? *member.getAsString() : "";
}

/// Text in a cell of a Markdown table: one line, no markup.
static std::string makeCell(const std::string &text) {
  std::string cell;
  for (char c : sanitize(text.substr(0, text.find('\n')))) {
    if (c == '|' || c == '<' || c == '`' || c == '*' || c == '[')
      cell += '\\';
    cell += c;
    if (cell.size() > 160)
      return cell + " ...";
  }
  return cell;
}

/// "1 2 3" as the sum of the four kinds of tokens.
static int64_t addTokens(const json::Value &usage, bool prompt) {
  int64_t sum = 0;
  for (const char *name : {"input", "cached", "cache_written"})
    if (prompt)
      sum += int64_t(get(usage, name).getAsNumber().value_or(0));
  return prompt ? sum : int64_t(get(usage, "output").getAsNumber().value_or(0));
}

std::string agent::renderRunSummary(const json::Value &result) {
  json::Value usage = get(result, "usage");
  bool isCorrect = get(result, "correct").getAsBoolean() &&
                   *get(result, "correct").getAsBoolean();
  std::string text = "# " + makeCell(getString(result, "task")) + " by " +
                     makeCell(getString(result, "model")) + ", guidance " +
                     getString(result, "arm") + "\n\n";
  text += isCorrect
              ? "**Speedup " + formatNumber(get(result, "speedup"), "%.3f") +
                    "** over the baseline, measured again after the run "
                    "(submission " +
                    formatNumber(get(result, "selected"), "%.0f") + ").\n"
              : "**No submission is correct.** In the Performance Score the "
                "task counts 0.5.\n";
  text += "\n| | |\n|---|---|\n";
  auto row = [&](const std::string &name, const std::string &value) {
    text += "| " + name + " | " + value + " |\n";
  };
  row("ended by", makeCell(getString(result, "ended")));
  row("turns", formatNumber(get(result, "turns"), "%.0f") + " of " +
                   formatNumber(get(get(result, "budget"), "turns"), "%.0f"));
  row("tokens", std::to_string(addTokens(usage, true)) + " read (" +
                    formatNumber(get(usage, "cached"), "%.0f") +
                    " of them from the cache), " +
                    std::to_string(addTokens(usage, false)) + " written");
  row("cost", formatNumber(get(result, "cost"), "$%.2f"));
  row("time", formatNumber(get(result, "seconds"), "%.0f s"));
  row("submissions",
      std::to_string(get(result, "submissions").getAsArray()
                         ? get(result, "submissions").getAsArray()->size()
                         : 0) +
          ", timed " + formatNumber(get(result, "timed_submissions"), "%.0f"));
  std::string repeats;
  json::Value again = get(result, "repeats");
  if (again.getAsArray())
    for (const json::Value &value : *again.getAsArray())
      repeats += (repeats.empty() ? "" : ", ") + formatNumber(value, "%.3f");
  row("measured again", repeats.empty() ? "-" : repeats);
  json::Value heldOut = get(result, "held_out");
  row("held-out workloads",
      heldOut.isNull() ? "-" : makeCell(getString(heldOut, "verdict")));
  row("implementation score",
      formatNumber(get(get(result, "implementation"), "combined"), "%.1f"));
  text += "\n| submission | turn | verdict | speedup | reason |\n"
          "|---|---|---|---|---|\n";
  json::Value submissions = get(result, "submissions");
  if (submissions.getAsArray())
    for (const json::Value &record : *submissions.getAsArray())
      text += "| " + formatNumber(get(record, "number"), "%.0f") + " | " +
              formatNumber(get(record, "turn"), "%.0f") + " | " +
              getString(record, "verdict") + " | " +
              formatNumber(get(record, "speedup"), "%.3f") + " | " +
              makeCell(getString(record, "reason")) + " |\n";
  json::Value rejected = get(result, "rejected");
  if (rejected.getAsArray() && !rejected.getAsArray()->empty()) {
    text += "\nNot correct when measured again:\n\n";
    for (const json::Value &record : *rejected.getAsArray())
      text += "- submission " + formatNumber(get(record, "number"), "%.0f") +
              ": " + getString(record, "verdict") + ", " +
              makeCell(getString(record, "reason")) + "\n";
  }
  return text + "\nThe conversation is in transcript.html, every submission "
                "below submissions/.\n";
}

//===----------------------------------------------------------------------===//
// HTML
//===----------------------------------------------------------------------===//

static std::string escapeHtml(const std::string &text) {
  std::string out;
  for (char c : sanitizeLines(text)) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

static constexpr const char *kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em "
    "auto;padding:0 1em;color:#1a1a1a;background:#fff}"
    "pre{font:12.5px/1.4 "
    "ui-monospace,monospace;background:#f5f5f3;padding:.7em "
    "1em;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "border-radius:4px;margin:.4em 0}"
    "h2{font-size:1em;margin:1.6em 0 .3em;border-top:1px solid "
    "#ddd;padding-top:.8em}summary{cursor:pointer}"
    ".bad{color:#a31515}.good{color:#1a6e2e}.dim{color:#666}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}"
    "pre{background:#262626}h2{border-color:#444}.bad{color:#ff8080}"
    ".good{color:#7fd48f}.dim{color:#999}}";

/// A part that can be folded away.
static std::string makeDetails(const std::string &title,
                               const std::string &text, bool isOpen) {
  return std::string("<details") + (isOpen ? " open" : "") + "><summary>" +
         title + "</summary><pre>" + escapeHtml(text) + "</pre></details>\n";
}

static std::string renderResponse(const json::Cursor &data) {
  int64_t turn = data.getInteger("turn").value_or(0);
  json::Value usage = get(data.getValue(), "usage");
  std::string out = "<h2 id=\"turn" + std::to_string(turn) + "\">Turn " +
                    std::to_string(turn) + " <span class=\"dim\">" +
                    std::to_string(addTokens(usage, true)) + " tokens read, " +
                    std::to_string(addTokens(usage, false)) + " written, " +
                    formatNumber(get(data.getValue(), "seconds"), "%.1f") +
                    " s</span></h2>\n";
  Result<Message> message = Message::fromJson(data.at("message"));
  if (!message)
    return out;
  for (const Block &block : message->blocks) {
    if (block.kind == Block::Kind::Text && !block.text.empty())
      out += "<pre>" + escapeHtml(block.text) + "</pre>\n";
    else if (block.kind == Block::Kind::ToolCall)
      out += makeDetails("calls <b>" + escapeHtml(block.name) + "</b>",
                         block.text, block.text.size() < 400);
    else if (block.kind == Block::Kind::Opaque)
      out += makeDetails("reasoning", json::dump(block.value), false);
  }
  return out;
}

static std::string renderTool(const json::Cursor &data) {
  bool isError = data.getBoolean("is_error").value_or(false);
  std::string text = data.getString("text").value_or("");
  std::string title = "<span class=\"" + std::string(isError ? "bad" : "good") +
                      "\">" + escapeHtml(data.getString("name").value_or("")) +
                      "</span>";
  if (std::optional<json::Cursor> submission = data.find("submission"))
    title += " <b>" +
             escapeHtml(submission->getString("verdict").value_or("")) + "</b>";
  return makeDetails(title, text, text.size() < 2000);
}

std::string agent::renderTranscript(const std::vector<Event> &events,
                                    const json::Value &result) {
  std::string title = escapeHtml(getString(result, "task") + " by " +
                                 getString(result, "model") + ", guidance " +
                                 getString(result, "arm"));
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; style-src 'unsafe-inline'\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>" +
      title + "</title><style>" + kStyle + "</style></head><body>\n<h1>" +
      title + "</h1>\n<pre>" + escapeHtml(renderRunSummary(result)) +
      "</pre>\n";
  for (const Event &event : events) {
    json::Cursor data(event.data, "transcript");
    if (event.type == "start") {
      out += makeDetails("system prompt", data.getString("system").value_or(""),
                         false);
      out += makeDetails("first message",
                         data.getString("first_message").value_or(""), false);
    } else if (event.type == "response") {
      out += renderResponse(data);
    } else if (event.type == "tool") {
      out += renderTool(data);
    } else if (event.type == "compaction") {
      out += makeDetails("the conversation was shortened",
                         data.getString("note").value_or(""), false);
    } else if (event.type == "problem") {
      out += "<p class=\"bad\">" +
             escapeHtml(data.getString("text").value_or("")) + "</p>\n";
    } else if (event.type == "resume") {
      out += "<p class=\"dim\">The run was interrupted here and went on.</p>\n";
    } else if (event.type == "end") {
      out += "<h2>End: " + escapeHtml(data.getString("reason").value_or("")) +
             "</h2>\n";
    }
  }
  return out + "</body></html>\n";
}
