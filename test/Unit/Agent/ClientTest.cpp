// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the clients send and understand, without a network.

#include "Http/EventStream.h"
#include "Providers/Provider.h"
#include "Retry.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace d2k;
using namespace d2k::agent;

static std::vector<std::string> feedInPieces(const std::string &text,
                                             size_t size) {
  std::vector<std::string> events;
  EventStream stream([&](const std::string &data) { events.push_back(data); });
  for (size_t at = 0; at < text.size(); at += size)
    stream.feed(std::string_view(text).substr(at, size));
  return events;
}

TEST(EventStreamTest, TakesEventsApartHoweverTheyArrive) {
  std::string text = "event: a\ndata: one\n\n: comment\r\ndata:two\r\ndata: "
                     "three\r\n\r\nid: 7\n\ndata\n\ndata: unfinished";
  std::vector<std::string> expected = {"one", "two\nthree", ""};
  for (size_t size : {size_t(1), size_t(2), size_t(3), text.size()})
    EXPECT_EQ(feedInPieces(text, size), expected) << size;
}

TEST(RetryTest, KnowsWhatMayPass) {
  for (int status : {0, 408, 409, 429, 500, 502, 503, 529})
    EXPECT_TRUE(isTransient(status)) << status;
  for (int status : {400, 401, 403, 404, 413, 422})
    EXPECT_FALSE(isTransient(status)) << status;
}

TEST(RetryTest, ReadsRetryAfter) {
  EXPECT_EQ(parseRetryAfter({}, 0), std::nullopt);
  EXPECT_EQ(parseRetryAfter({{"retry-after", "7"}}, 0), 7.0);
  EXPECT_EQ(
      parseRetryAfter({{"retry-after", "7"}, {"retry-after-ms", "250"}}, 0),
      0.25);
  // 1994-11-06 08:49:37 UTC is 784111777 seconds after the epoch.
  std::map<std::string, std::string> date = {
      {"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}};
  EXPECT_EQ(parseRetryAfter(date, 784111777 - 30), 30.0);
  // A clock that jumped by years, in either direction.
  EXPECT_EQ(parseRetryAfter(date, 0), kMaxRetrySeconds);
  EXPECT_EQ(parseRetryAfter(date, 2000000000), 0.0);
  EXPECT_EQ(parseRetryAfter({{"retry-after", "soon"}}, 0), std::nullopt);
  EXPECT_EQ(parseRetryAfter({{"retry-after", "-5"}}, 0), 0.0);
  EXPECT_EQ(parseRetryAfter({{"retry-after", "1e9"}}, 0), kMaxRetrySeconds);
}

TEST(RetryTest, BacksOffToAMinute) {
  EXPECT_EQ(getBackoff(1, 1, 0), 0.5);
  EXPECT_EQ(getBackoff(3, 1, 0), 2.0);
  EXPECT_LT(getBackoff(3, 1, 0.999), 4.0);
  EXPECT_EQ(getBackoff(4000000000u, 1, 0), 30.0);
}

static const Provider &findProvider(std::string_view name) {
  for (const Provider &provider : getProviders())
    if (provider.name == name)
      return provider;
  std::abort();
}

static ModelResponse readStream(std::string_view provider,
                                const std::vector<std::string> &events,
                                bool isComplete = true) {
  std::unique_ptr<AnswerReader> reader = findProvider(provider).makeReader();
  for (const std::string &event : events) {
    Result<void> taken = reader->onEvent(event);
    EXPECT_TRUE(taken) << taken.error().message;
  }
  EXPECT_EQ(reader->isComplete(), isComplete);
  return reader->take();
}

TEST(AnthropicTest, ReadsAStream) {
  ModelResponse response = readStream(
      "anthropic",
      {R"({"type":"message_start","message":{"model":"m","usage":{"input_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":2,"output_tokens":1}}})",
       R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})",
       R"({"type":"ping"})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}})",
       R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"list_files","input":{}}})",
       R"({"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"u","name":"read_file","input":{}}})",
       R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\""}})",
       R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":":\"a.cu\"}"}})",
       R"({"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":30}})",
       R"({"type":"message_stop"})"});
  ASSERT_EQ(response.message.blocks.size(), 4u);
  EXPECT_EQ(response.message.blocks[0].value,
            json::Value(json::Object{{"type", "thinking"},
                                     {"thinking", "hm"},
                                     {"signature", "s1"}}));
  EXPECT_EQ(response.message.getText(), "ab");
  EXPECT_EQ(response.message.blocks[2].text, "{}");
  EXPECT_EQ(response.message.blocks[3].text, R"({"path":"a.cu"})");
  EXPECT_EQ(response.message.blocks[3].callId, "u");
  EXPECT_EQ(response.stop, StopReason::ToolUse);
  EXPECT_EQ(response.usage.input, 5);
  EXPECT_EQ(response.usage.getPromptTokens(), 14);
  EXPECT_EQ(response.usage.output, 30);
}

TEST(AnthropicTest, KnowsACutStreamAndAnError) {
  readStream("anthropic",
             {R"({"type":"message_start","message":{"model":"m","usage":{}}})",
              R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})"},
             /*isComplete=*/false);
  Result<void> taken =
      findProvider("anthropic")
          .makeReader()
          ->onEvent(
              R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "overloaded_error: busy");
}

TEST(OpenAITest, ReadsAStream) {
  ModelResponse response = readStream(
      "openai",
      {R"({"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]})",
       R"({"choices":[{"index":0,"delta":{"content":"b"}}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"list_files","arguments":""}}]}}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"y","function":{"name":"read_file","arguments":"{\"pa"}}]}}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"th\":1}"}}]}}]})",
       R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})",
       R"({"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60}}})",
       "[DONE]"});
  std::vector<const Block *> calls = response.message.getToolCalls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->text, "{}");
  EXPECT_EQ(calls[1]->text, R"({"path":1})");
  EXPECT_EQ(response.message.getText(), "ab");
  EXPECT_EQ(response.stop, StopReason::ToolUse);
  EXPECT_EQ(response.usage.input, 40);
  EXPECT_EQ(response.usage.cached, 60);
}

// A budget of tokens or dollars must not grow by what a server says wrongly.
TEST(ProviderTest, BoundsWhatServersCount) {
  Usage few =
      readStream(
          "openai",
          {R"({"choices":[{"delta":{},"finish_reason":"stop"}]})",
           R"({"usage":{"prompt_tokens":10,"completion_tokens":-9,"prompt_tokens_details":{"cached_tokens":60}}})"})
          .usage;
  EXPECT_EQ(few.input, 0);
  EXPECT_EQ(few.cached, 60);
  EXPECT_EQ(few.output, 0);
  Usage many =
      readStream(
          "openai",
          {R"({"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}})"})
          .usage;
  EXPECT_EQ(many.getTotal(), 2000000000000);
  Usage other =
      readStream(
          "anthropic",
          {R"({"type":"message_start","message":{"usage":{"input_tokens":-5,"cache_read_input_tokens":9223372036854775807,"output_tokens":3}}})",
           R"({"type":"message_stop"})"})
          .usage;
  EXPECT_EQ(other.input, 0);
  EXPECT_EQ(other.cached, 1000000000000);
  EXPECT_EQ(other.output, 3);
}

TEST(OpenAITest, TakesCallsWithoutIndex) {
  ModelResponse response = readStream(
      "openai",
      {R"({"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{}"}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"b","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})"});
  ASSERT_EQ(response.message.getToolCalls().size(), 2u);
  EXPECT_EQ(response.message.getToolCalls()[1]->name, "b");
}

static ModelRequest makeRequest(const std::string &arguments) {
  ModelRequest request;
  request.system = "sys";
  Message user, assistant, results;
  user.blocks.push_back(Block::makeText("task"));
  assistant.role = Role::Assistant;
  assistant.blocks = {Block::makeText(""),
                      Block::makeToolCall("id1", "read_file", arguments)};
  results.blocks = {Block::makeToolResult("id1", "no", true),
                    Block::makeText("turn 1 of 2")};
  request.messages = {user, assistant, results};
  return request;
}

TEST(AnthropicTest, SendsMalformedArgumentsAsAnObject) {
  json::Value body =
      findProvider("anthropic").makeBody(makeRequest("{\"path"), {}, false);
  json::Cursor messages = json::Cursor(body, "body").at("messages");
  json::Cursor call = messages.at(1).at("content").at(0);
  EXPECT_EQ(*call.getString("type"), "tool_use");
  EXPECT_EQ(*call.at("input").getString("malformed_arguments"), "{\"path");
  EXPECT_EQ(messages.at(1).at("content").getValue().getAsArray()->size(), 1u);
  EXPECT_EQ(*messages.at(2).at("content").at(0).getString("tool_use_id"),
            "id1");
}

// A provider refuses a conversation in which such a name stands, so that a run
// could never go on.
TEST(ProviderTest, SendsToolNamesThatAreTaken) {
  const std::pair<std::string, std::string> names[] = {
      {"write_file", "write_file"},
      {"functions.write_file", "functions_write_file"},
      {"", "unnamed"},
      {"a b\x1b\xc3\xa9", "a_b___"},
      {std::string(100, 'x'), std::string(64, 'x')}};
  for (const auto &[said, sent] : names) {
    ModelRequest request = makeRequest("{}");
    request.messages[1].blocks[1].name = said;
    json::Value first = findProvider("anthropic").makeBody(request, {}, false);
    EXPECT_EQ(*json::Cursor(first, "body")
                   .at("messages")
                   .at(1)
                   .at("content")
                   .at(0)
                   .getString("name"),
              sent);
    json::Value second = findProvider("openai").makeBody(request, {}, false);
    EXPECT_EQ(*json::Cursor(second, "body")
                   .at("messages")
                   .at(2)
                   .at("tool_calls")
                   .at(0)
                   .at("function")
                   .getString("name"),
              sent);
  }
}

TEST(AnthropicTest, SendsNoMessageWithoutContent) {
  ModelRequest request = makeRequest("{}");
  request.messages[1].blocks = {Block::makeText("")};
  json::Value body = findProvider("anthropic").makeBody(request, {}, false);
  json::Cursor silent = json::Cursor(body, "body").at("messages").at(1);
  EXPECT_EQ(*silent.at("content").at(0).getString("text"), "(nothing)");
}

TEST(OpenAITest, SendsResultsAsMessagesOfTheirOwn) {
  json::Value body =
      findProvider("openai").makeBody(makeRequest("{}"), {}, true);
  json::Cursor messages = json::Cursor(body, "body").at("messages");
  EXPECT_EQ(messages.getValue().getAsArray()->size(), 5u);
  EXPECT_EQ(*messages.at(3).getString("role"), "tool");
  EXPECT_EQ(*messages.at(3).getString("tool_call_id"), "id1");
  EXPECT_EQ(*messages.at(4).getString("content"), "turn 1 of 2");
}

TEST(ModelOptionsTest, ParsesNames) {
  Result<ModelOptions> own = ModelOptions::parse("openai:org/model:7b");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->provider, "openai");
  EXPECT_EQ(own->model, "org/model:7b");
  EXPECT_EQ(ModelOptions::parse("claude-x")->getName(), "anthropic:claude-x");
  EXPECT_EQ(ModelOptions::parse("scripted:/a/b.json")->getName(),
            "scripted:b.json");
  EXPECT_FALSE(ModelOptions::parse("mystery"));
  EXPECT_FALSE(ModelOptions::parse("openai:"));
}

TEST(ModelClientTest, KeysLeaveTheEnvironment) {
  ::setenv("OPENAI_API_KEY", "sk-secret-of-a-test", 1);
  ModelOptions options = *ModelOptions::parse("openai:m");
  Result<std::unique_ptr<ModelClient>> client = createModelClient(options);
  EXPECT_EQ(std::getenv("OPENAI_API_KEY"), nullptr);
  if (!client) // Built without libcurl.
    GTEST_SKIP() << client.error().message;
  EXPECT_EQ((*client)->getSecrets(),
            std::vector<std::string>{"sk-secret-of-a-test"});
  // A second one, such as a judge, has the key too.
  EXPECT_EQ((*createModelClient(options))->getSecrets(),
            std::vector<std::string>{"sk-secret-of-a-test"});
}

TEST(ModelClientTest, ANeededKeyIsMissing) {
  Result<std::unique_ptr<ModelClient>> client =
      createModelClient(*ModelOptions::parse("anthropic:m"));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, FailureKind::Environment);
}

TEST(RedactTest, RemovesEverySecret) {
  EXPECT_EQ(redact("a longsecret b longsecret", {"longsecret"}),
            "a [redacted] b [redacted]");
  // Also one that stands in the replacement.
  EXPECT_EQ(redact("redacted redacted", {"redacted"}), "[redacted] [redacted]");
}

TEST(RedactTest, HidesUsersOfAddresses) {
  const std::pair<const char *, const char *> texts[] = {
      {"http://u:p@host:1/v1", "http://host:1/v1"},
      {"bad 'http://u:p@h' and \"https://u@h/@x\"",
       "bad 'http://h' and \"https://h/@x\""},
      {"http://u:p@ss@host", "http://host"},
      {"http://u:p/ss@host/v1", "http://host/v1"},
      {"http://host:80/v1/@cf/m", "http://host:80/v1/@cf/m"},
      {"http://host/v1/@cf/m", "http://host/v1/@cf/m"},
      {"http:// a@b", "http:// a@b"},
      {"a@b://", "a@b://"},
      {"://@", "://"},
      {"mail a@b", "mail a@b"}};
  for (const auto &[text, hidden] : texts)
    EXPECT_EQ(hideUsers(text), hidden);
}

TEST(MessageTest, SurvivesJson) {
  for (const Message &message : makeRequest("{\"a\":1}").messages) {
    json::Value value = message.toJson();
    Result<Message> back = Message::fromJson(json::Cursor(value, "m"));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->toJson(), value);
  }
}
