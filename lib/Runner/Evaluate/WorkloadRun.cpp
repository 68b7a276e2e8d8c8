// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the steps is what the verdict rests on: the submission runs on
// inputs before the reference does, outputs are copied away before anybody
// looks at them, and which part of them is compared is drawn after that.

#include "Evaluate/WorkloadRun.h"

#include "Evaluate/Sanitizer.h"

#include "d2k/Support/Files.h"
#include "d2k/Task/Arguments.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace d2k;
using namespace d2k::runner;
using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

/// References in fp64 of the largest workloads take seconds.
static constexpr std::chrono::milliseconds kJudgeTimeout = 10min;
static constexpr std::chrono::milliseconds kOracleTimeout = 2min;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A seed as JSON: digits, because it has 64 bits.
static json::Value makeSeed() { return std::to_string(makeRandomSeed()); }

void WorkloadRun::report(const std::string &doing) const {
  if (options.progress)
    options.progress(workload.id + ": " + doing);
}

Step<WorkloadResult> WorkloadRun::run() {
  result = {};
  result.id = workload.id;
  Step<void> done = runSteps();
  if (done)
    return result;
  if (done.error().kind != Trouble::Kind::Lost)
    if (std::optional<Trouble> lost = session.findLostOracle())
      return tl::unexpected<Trouble>(std::move(*lost));
  if (done.error().kind != Trouble::Kind::Verdict)
    return forwardTrouble(std::move(done));
  result.verdict = done.error().verdict;
  result.reason = std::move(done.error().reason);
  // Whatever is wrong with it, the next workload gets a fresh process.
  session.stopWorker(Side::Submission);
  return result;
}

Step<void> WorkloadRun::runSteps() {
  Clock::time_point start = Clock::now();
  if (Step<void> done = open(); !done)
    return done;
  Step<void> judged = runTrials();
  if (judged && !options.sanitizer.empty())
    judged = sanitize();
  validateSeconds = secondsSince(start);
  if (!judged || options.onlyValidate)
    return judged;

  start = Clock::now();
  Step<void> measured = measure();
  if (measured && options.profile)
    measured = profile();
  profileSeconds = secondsSince(start);
  return measured;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Step<void> WorkloadRun::open() {
  report("making buffers");
  if (Step<void> done = session.attachOracle(); !done)
    return done;
  AxisValues machine;
  if (const task::Axis *axis = task.findMachineAxis())
    machine[axis->name] = int64_t(options.devices.size());
  Result<int64_t> bytes = task.getBytes(workload, machine);
  if (!bytes)
    return failHarness(std::move(bytes.error()));
  json::Cursor device(session.getDevices().front(), "oracle");
  sets = planSets(uint64_t(*bytes),
                  uint64_t(device.getInteger("l2_bytes").value_or(0)));
  // Tells whether memory can be shared.
  if (Step<void> done = session.startWorker(Side::Submission); !done)
    return done;
  json::Object request{{"task", taskPath},
                       {"workload", workload.id},
                       {"reference", reference},
                       {"sets", int64_t(sets)}};
  exchange.clear();
  if (session.usesCopies()) {
    exchange =
        joinPath(session.getWritableFolder(), "exchange-" + makeRandomId());
    request.set("exchange", exchange);
    result.notes.emplace_back(
        "CUDA IPC is missing here: memory was copied between the processes");
  }
  Step<json::Value> opened =
      session.askOracle("open", std::move(request), kOracleTimeout);
  if (!opened)
    return forwardTrouble(std::move(opened));
  Result<json::Cursor> list = json::Cursor(*opened, "oracle").get("buffers");
  if (!list || !list->getValue().getAsArray())
    return failHarness({FailureKind::Internal, "oracle: names no buffers"});
  buffers = *list->getValue().getAsArray();
  return openWorker(Side::Submission);
}

/// task.json with nothing but this workload: what a worker needs to lay out
/// arguments, and nothing that it could learn.
static Result<std::string> makeWorkerTask(const std::string &path,
                                          const std::string &id) {
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return forwardFailure(std::move(document));
  json::Object object = *document->getValue().getAsObject();
  json::Array kept;
  for (const char *name : {"workloads", "held_out"})
    if (const json::Value *list = object.find(name); list && list->getAsArray())
      for (const json::Value &item : *list->getAsArray())
        if (const json::Value *own = item.getAsObject()->find("id");
            own && *own == json::Value(id))
          kept.push_back(item);
  object.set("workloads", std::move(kept));
  object.set("held_out", json::Array());
  return json::dump(std::move(object), /*pretty=*/false);
}

/// Each side sees its own memory for repacked inputs, under the same name.
static json::Array selectBuffers(const json::Array &buffers, Side side) {
  json::Array selected;
  for (const json::Value &buffer : buffers) {
    std::string tensor =
        json::Cursor(buffer, "oracle").getString("tensor").value_or("");
    bool isOwn = side == Side::Baseline ? tensor != task::kPreparedName
                                        : tensor != task::kBaselinePreparedName;
    if (!isOwn)
      continue;
    json::Object copy = *buffer.getAsObject();
    if (tensor == task::kBaselinePreparedName)
      copy.set("tensor", std::string(task::kPreparedName));
    selected.emplace_back(std::move(copy));
  }
  return selected;
}

Step<void> WorkloadRun::openWorker(Side side) {
  if (Step<void> done = session.startWorker(side); !done)
    return done;
  Result<std::string> own = makeWorkerTask(taskPath, workload.id);
  if (!own)
    return failHarness(std::move(own.error()));
  json::Object request{{"task", *own},
                       {"workload", workload.id},
                       {"buffers", selectBuffers(buffers, side)},
                       {"sets", int64_t(sets)}};
  if (!exchange.empty()) {
    std::vector<unsigned> all(sets);
    std::iota(all.begin(), all.end(), 0);
    if (Step<void> done = exportSets(all); !done)
      return done;
    request.set("exchange", exchange);
  }
  Step<json::Value> opened =
      session.askWorker(side, "open", std::move(request), kOracleTimeout,
                        "the opening of " + workload.id);
  if (!opened)
    return forwardTrouble(std::move(opened));
  return {};
}

Step<void> WorkloadRun::prepare(const std::vector<unsigned> &which,
                                bool perturb) {
  json::Array list;
  for (unsigned set : std::set<unsigned>(which.begin(), which.end()))
    list.emplace_back(int64_t(set));
  json::Object arguments = {{"sets", std::move(list)}};
  if (perturb)
    arguments.set("perturbation", makeSeed());
  Step<json::Value> done =
      session.askOracle("prepare", std::move(arguments), kOracleTimeout);
  if (!done)
    return forwardTrouble(std::move(done));
  return exchange.empty() ? Step<void>() : exportSets(which);
}

static json::Object makeSets(const std::vector<unsigned> &sets) {
  json::Array list;
  for (unsigned set : sets)
    list.emplace_back(int64_t(set));
  return json::Object{{"sets", std::move(list)}};
}

Step<void> WorkloadRun::exportSets(const std::vector<unsigned> &which) {
  Step<json::Value> done =
      session.askOracle("export", makeSets(which), kOracleTimeout);
  if (!done)
    return forwardTrouble(std::move(done));
  return {};
}

Step<void> WorkloadRun::handOver(Side side,
                                 const std::vector<unsigned> &which) {
  if (exchange.empty())
    return {};
  Step<json::Value> done =
      session.askWorker(side, "import", makeSets(which), kOracleTimeout,
                        "the copying of buffers");
  if (!done)
    return forwardTrouble(std::move(done));
  return {};
}

Step<void> WorkloadRun::handBack(Side side, unsigned set) {
  if (exchange.empty())
    return {};
  Step<json::Value> done =
      session.askWorker(side, "export", makeSets({set}), kOracleTimeout,
                        "the copying of buffers");
  if (done)
    done = session.askOracle("import", makeSets({set}), kOracleTimeout);
  if (!done)
    return forwardTrouble(std::move(done));
  return {};
}

Step<void> WorkloadRun::capture(Side side, unsigned set) {
  if (Step<void> done = handBack(side, set); !done)
    return done;
  Step<json::Value> captured =
      session.askOracle("capture", {{"set", int64_t(set)}}, kOracleTimeout);
  if (!captured)
    return forwardTrouble(std::move(captured));
  return {};
}

//===----------------------------------------------------------------------===//
// Correctness
//===----------------------------------------------------------------------===//

Step<void> WorkloadRun::fill(unsigned set, const task::TrialSpec &trial,
                             const std::vector<Side> &sides) {
  Step<json::Value> filled =
      session.askOracle("fill",
                        {{"set", int64_t(set)},
                         {"kind", trial.kind},
                         {"seed", std::to_string(trial.seed)},
                         {"exact", trial.isExact}},
                        kOracleTimeout);
  if (!filled)
    return forwardTrouble(std::move(filled));
  if (!task.hasPrepare())
    return {};
  if (!exchange.empty())
    if (Step<void> done = exportSets({set}); !done)
      return done;
  for (Side side : sides) {
    Step<void> done = handOver(side, {set});
    if (done)
      done = prepareConstants(side, set);
    if (done)
      done = handBack(side, set);
    if (!done)
      return done;
  }
  Step<json::Value> sealed =
      session.askOracle("seal", {{"set", int64_t(set)}}, kOracleTimeout);
  if (!sealed)
    return forwardTrouble(std::move(sealed));
  return {};
}

/// "inf" and "nan" come as text.
static double readNumber(const json::Cursor &cursor, std::string_view name) {
  Result<double> number = cursor.getNumber(name);
  if (number)
    return *number;
  std::string text = cursor.getString(name).value_or("nan");
  return text == "inf" ? INFINITY : text == "-inf" ? -INFINITY : NAN;
}

/// Time beside the clock, but not without end.
static constexpr std::chrono::milliseconds kPrepareTimeout = 1min;

Step<void> WorkloadRun::prepareConstants(Side side, unsigned set) {
  std::string doing = "the repacking of the weights of " + workload.id;
  Step<json::Value> reply = session.askWorker(
      side, "prepare", {{"set", int64_t(set)}}, kPrepareTimeout, doing);
  if (!reply)
    return forwardTrouble(std::move(reply));
  json::Cursor cursor(*reply, "worker");
  std::string error = cursor.getString("error").value_or("");
  if (side == Side::Baseline) {
    if (!error.empty())
      return failHarness({FailureKind::Environment,
                          "baseline: " + doing + " failed: " + error});
    return {};
  }
  if (cursor.getBoolean("device_error").value_or(false))
    return failSubmission(Verdict::Crash,
                          doing + " ended in a fault of the device: " + error);
  if (!error.empty())
    return failSubmission(Verdict::Incorrect,
                          doing + " returned the error " + error);
  if (cursor.getBoolean("defined").value_or(false))
    result.prepareSeconds = readNumber(cursor, "seconds");
  return {};
}

Step<void> WorkloadRun::callOnce(Side side, unsigned set,
                                 const std::string &trial, unsigned patience) {
  std::string doing = "a call of " + workload.id + " (" + trial + ")";
  if (Step<void> done = handOver(side, {set}); !done)
    return done;
  Step<json::Value> reply =
      session.askWorker(side, "call", {{"set", int64_t(set)}},
                        patience * options.callTimeout, doing);
  if (!reply)
    return forwardTrouble(std::move(reply));
  json::Cursor cursor(*reply, "worker");
  std::string error = cursor.getString("error").value_or("");
  if (side == Side::Baseline) {
    baselineIdentity = cursor.getString("identity").value_or("");
    if (!error.empty())
      return failHarness({FailureKind::Environment,
                          "baseline: " + doing + " failed: " + error});
    return {};
  }
  if (cursor.getBoolean("device_error").value_or(false))
    return failSubmission(Verdict::Crash,
                          doing + " ended in a fault of the device: " + error);
  if (!error.empty())
    return failSubmission(Verdict::Incorrect,
                          doing + " returned the error " + error);
  return {};
}

static std::string writeNumber(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", number);
  return text;
}

static WrongElement readWrong(const json::Cursor &first,
                              const std::string &trial) {
  WrongElement wrong;
  wrong.trial = trial;
  wrong.rank = first.getInteger("rank").value_or(0);
  wrong.tensor = first.getString("tensor").value_or("");
  if (Result<json::Cursor> index = first.get("index"))
    for (const json::Cursor &i :
         index->asArray().value_or(std::vector<json::Cursor>()))
      wrong.index.push_back(i.asInteger().value_or(0));
  wrong.expected = writeNumber(readNumber(first, "expected"));
  wrong.got = writeNumber(readNumber(first, "got"));
  wrong.allowed = writeNumber(readNumber(first, "allowed"));
  return wrong;
}

Step<void> WorkloadRun::judge(unsigned set, bool isComplete,
                              const std::string &trial) {
  json::Object arguments = {{"set", int64_t(set)}};
  // Drawn now, after the outputs are safe.
  if (!isComplete)
    arguments.set("sample", makeSeed());
  Step<json::Value> reply =
      session.askOracle("judge", std::move(arguments), kJudgeTimeout);
  if (!reply)
    return forwardTrouble(std::move(reply));
  json::Cursor judgement(*reply, "oracle");
  double error = readNumber(judgement, "max_error");
  result.maxError = std::isnan(error)
                        ? INFINITY
                        : std::max(result.maxError.value_or(0), error);
  if (judgement.find("rms_ratio"))
    result.rmsRatio = std::max(result.rmsRatio.value_or(0),
                               readNumber(judgement, "rms_ratio"));
  if (judgement.getBoolean("passed").value_or(false))
    return {};
  if (Result<json::Cursor> first = judgement.get("first"))
    result.wrong = readWrong(*first, trial);
  return failSubmission(Verdict::Incorrect,
                        trial + ": " +
                            judgement.getString("reason").value_or("wrong"));
}

Step<void> WorkloadRun::runTrial(const task::TrialSpec &trial, unsigned set,
                                 bool twice) {
  if (Step<void> done = fill(set, trial, {Side::Submission}); !done)
    return done;
  std::string hashes[2];
  std::string name = "trial " + trial.kind;
  for (int call = 0; call < (twice ? 2 : 1); ++call) {
    if (Step<void> done = prepare({set}, /*perturb=*/false); !done)
      return done;
    if (Step<void> done = callOnce(Side::Submission, set, name); !done)
      return done;
    if (Step<void> done = capture(Side::Submission, set); !done)
      return done;
    if (!twice)
      break;
    Step<json::Value> hash =
        session.askOracle("hash", {{"set", int64_t(set)}}, kOracleTimeout);
    if (!hash)
      return forwardTrouble(std::move(hash));
    hashes[call] = json::Cursor(*hash, "oracle").getString("hash").value_or("");
  }
  if (twice)
    result.isDeterministic = hashes[0] == hashes[1];
  ++result.trials;
  return judge(set, trial.isComplete, name);
}

Step<void> WorkloadRun::runTrials() {
  std::vector<task::TrialSpec> trials =
      task::planTrials(task, makeRandomSeed());
  for (size_t i = 0; i < trials.size(); ++i) {
    report("trial " + std::to_string(i + 1) + " of " +
           std::to_string(trials.size()) + " (" + trials[i].kind + ")");
    if (Step<void> done =
            runTrial(trials[i], unsigned(i % sets), /*twice=*/i == 0);
        !done)
      return done;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// compute-sanitizer
//===----------------------------------------------------------------------===//

/// A call under the sanitizer may take this many times as long.
static constexpr unsigned kSanitizerPatience = 100;

Step<void> WorkloadRun::sanitize() {
  for (const char *tool : {"memcheck", "racecheck"})
    if (Step<void> done = sanitizeWith(tool); !done)
      return done;
  // A fresh process for what is timed.
  return openWorker(Side::Submission);
}

Step<void> WorkloadRun::sanitizeWith(const std::string &tool) {
  report("compute-sanitizer, " + tool);
  session.stopWorker(Side::Submission);
  Step<void> done = session.startWorker(Side::Submission, tool);
  if (done)
    done = openWorker(Side::Submission);
  task::TrialSpec trial;
  trial.kind = task::kRandomTrial;
  trial.seed = makeRandomSeed();
  if (done)
    done = fill(0, trial, {Side::Submission});
  if (done)
    done = prepare({0}, /*perturb=*/false);
  if (done)
    done = callOnce(Side::Submission, 0, "compute-sanitizer, " + tool,
                    kSanitizerPatience);
  if (!done)
    return done;
  Step<std::string> output = session.finishWorker(Side::Submission);
  if (!output)
    return forwardTrouble(std::move(output));
  std::optional<uint64_t> errors = findSanitizerErrors(*output);
  if (!errors)
    return failHarness(
        {FailureKind::Environment,
         "compute-sanitizer (" + tool +
             ") gives no summary here: " + output->substr(0, 2000)});
  if (*errors != 0)
    return failSubmission(Verdict::Incorrect,
                          "compute-sanitizer (" + tool + ") finds " +
                              std::to_string(*errors) + " errors:\n" +
                              output->substr(0, 2000));
  result.notes.push_back("compute-sanitizer (" + tool + ") finds no error");
  return {};
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// Samples from the two workers.
class WorkloadRun::Source : public SampleSource {
public:
  explicit Source(WorkloadRun &run) : run(run), random(makeRandomSeed()) {}

  Result<void> announce(const std::vector<SampleRequest> &requests) override;
  Result<SampleRecord> sample(Side side, const SampleRequest &request) override;
  Result<std::pair<BatchRecord, double>>
  batch(Side side, const BatchRequest &request) override;

  /// What made the last Failure.
  Trouble takeTrouble() { return std::move(trouble); }

private:
  Step<json::Value> ask(Side side, const char *operation, json::Value request,
                        const std::vector<unsigned> &sets, double *seconds);
  Step<void> checkOutputs(const std::vector<unsigned> &sets);
  tl::unexpected<Failure> keep(Trouble why) {
    trouble = std::move(why);
    return fail(FailureKind::Finding, trouble.reason);
  }

  WorkloadRun &run;
  std::mt19937_64 random;
  Trouble trouble;
  unsigned samples = 0;
  /// Samples that were announced, and for which everything is ready.
  unsigned ready = 0;
};

/// The sets that calls of \p request touch.
static std::vector<unsigned> getSets(const SampleRequest &request) {
  std::vector<unsigned> sets = request.sets;
  if (request.discardSet)
    sets.push_back(*request.discardSet);
  return sets;
}

/// One sample in so many has its outputs judged, and the second one always.
static constexpr unsigned kCheckEvery = 30;

Step<json::Value> WorkloadRun::Source::ask(Side side, const char *operation,
                                           json::Value request,
                                           const std::vector<unsigned> &sets,
                                           double *seconds) {
  if (ready > 0)
    --ready;
  else if (Step<void> done = run.prepare(sets, /*perturb=*/true); !done)
    return forwardTrouble(std::move(done));
  if (Step<void> done = run.handOver(side, sets); !done)
    return forwardTrouble(std::move(done));
  return run.session.askWorker(side, operation,
                               {{"request", std::move(request)}},
                               run.options.callTimeout + 60s,
                               "the timing of " + run.workload.id, seconds);
}

Step<void>
WorkloadRun::Source::checkOutputs(const std::vector<unsigned> &sets) {
  unsigned set = sets[random() % sets.size()];
  if (Step<void> done = run.capture(Side::Submission, set); !done)
    return done;
  ++run.result.timedChecks;
  return run.judge(set, /*isComplete=*/false, "timed call");
}

static Trouble explainRecord(Side side, const Failure &failure) {
  Trouble trouble;
  if (side == Side::Baseline) {
    trouble.failure = failure;
    return trouble;
  }
  trouble.kind = Trouble::Kind::Verdict;
  trouble.verdict = Verdict::Exploit;
  trouble.reason =
      "the process sent a record that no honest one sends: " + failure.message;
  return trouble;
}

Result<void>
WorkloadRun::Source::announce(const std::vector<SampleRequest> &requests) {
  std::vector<unsigned> touched;
  for (const SampleRequest &request : requests)
    for (unsigned set : getSets(request))
      touched.push_back(set);
  ready = 0;
  if (Step<void> done = run.prepare(touched, /*perturb=*/true); !done)
    return keep(std::move(done.error()));
  ready = unsigned(requests.size());
  return {};
}

Result<SampleRecord> WorkloadRun::Source::sample(Side side,
                                                 const SampleRequest &request) {
  Step<json::Value> reply =
      ask(side, "sample", toJson(request), getSets(request), nullptr);
  if (!reply)
    return keep(std::move(reply.error()));
  Result<SampleRecord> record =
      sampleRecordFromJson(json::Cursor(*reply, "sample").at("record"));
  if (!record)
    return keep(explainRecord(side, record.error()));
  if (side == Side::Submission &&
      (++samples == 2 || random() % kCheckEvery == 0))
    if (Step<void> done = checkOutputs(request.sets); !done)
      return keep(std::move(done.error()));
  return record;
}

Result<std::pair<BatchRecord, double>>
WorkloadRun::Source::batch(Side side, const BatchRequest &request) {
  double seconds = 0;
  ready = 0;
  // Without rounds nothing is called: it asks for the last batch's record.
  std::vector<unsigned> touched;
  if (request.rounds > 0)
    touched = request.sets;
  Step<json::Value> reply =
      ask(side, "batch", toJson(request), touched, &seconds);
  if (!reply)
    return keep(std::move(reply.error()));
  Result<BatchRecord> record =
      batchRecordFromJson(json::Cursor(*reply, "batch").at("record"));
  if (!record)
    return keep(explainRecord(side, record.error()));
  return std::pair{*record, seconds};
}

/// Bits of the narrowest floating-point input: the rate of its matrix unit is
/// the highest.
static unsigned getOperandBits(const task::Task &task) {
  unsigned bits = 16;
  for (const task::Tensor &input : task.inputs)
    if (!input.isScalar && task::getHalfUlp(input.type) > 0)
      bits = std::min(bits, task::getBitWidth(input.type));
  return bits;
}

Step<TimingConfig> WorkloadRun::makeTimingConfig() const {
  AxisValues machine;
  if (const task::Axis *axis = task.findMachineAxis())
    machine[axis->name] = int64_t(options.devices.size());
  Result<int64_t> flops = task.getFlops(workload, machine);
  Result<int64_t> bytes = task.getBytes(workload, machine);
  Result<int64_t> peers = task.getPeerBytes(workload, machine);
  for (Result<int64_t> *count : {&flops, &bytes, &peers})
    if (!*count)
      return failHarness(std::move(count->error()));
  AxisValues axes = task.getAxisValues(workload, machine);
  double written = 0;
  for (const task::Tensor &output : task.outputs)
    written += double(task.getByteSize(output, axes).value_or(0));

  json::Cursor device(session.getDevices().front(), "oracle");
  TimingConfig config;
  config.seed = makeRandomSeed();
  config.comparison.seed = makeRandomSeed();
  config.sets = sets;
  config.gpuSeconds = options.gpuSeconds;
  config.clocks.outside = options.clockTolerance;
  config.peaks =
      metrics::findDevicePeaks(device.getString("arch").value_or(""));
  metrics::CompulsoryWork work;
  work.flops = double(*flops);
  work.operandBits = getOperandBits(task);
  work.writtenBytes = std::min(written, double(*bytes));
  work.readBytes = double(*bytes) - work.writtenBytes;
  work.peerBytes = double(*peers);
  config.work = work;
  config.machine.multiprocessors =
      unsigned(device.getInteger("multiprocessors").value_or(0));
  config.machine.smClockMHz =
      double(device.getInteger("sm_clock_khz").value_or(0)) / 1000;
  config.machine.l2Bytes = double(device.getInteger("l2_bytes").value_or(0));
  return config;
}

/// The first calls of a baseline choose its algorithm; the outputs of the last
/// one are judged, so that a baseline is never faster for being wrong.
Step<void> WorkloadRun::warmBaseline() {
  for (int call = 0; call < 2; ++call) {
    if (Step<void> done = prepare({0}, /*perturb=*/false); !done)
      return done;
    if (Step<void> done = callOnce(Side::Baseline, 0, "warm-up"); !done)
      return done;
  }
  if (Step<void> done = capture(Side::Baseline, 0); !done)
    return done;
  Step<json::Value> reply = session.askOracle(
      "judge", {{"set", 0}, {"sample", makeSeed()}}, kJudgeTimeout);
  if (!reply)
    return forwardTrouble(std::move(reply));
  json::Cursor judgement(*reply, "oracle");
  if (!judgement.getBoolean("passed").value_or(false))
    return failHarness(
        {FailureKind::Environment,
         "baseline: its result for " + workload.id +
             " is wrong: " + judgement.getString("reason").value_or("")});
  return {};
}

static Verdict getVerdict(TimingState state) {
  switch (state) {
  case TimingState::Valid:
    return Verdict::Correct;
  case TimingState::Quarantined:
    return Verdict::Quarantined;
  case TimingState::Unstable:
    return Verdict::Unstable;
  case TimingState::Invalid:
    break;
  }
  return Verdict::InvalidMeasurement;
}

Step<void> WorkloadRun::measure() {
  report("timing");
  if (Step<void> done = openWorker(Side::Baseline); !done)
    return done;
  // All sets are drawn as a timed call's inputs are.
  for (unsigned set = 0; set < sets; ++set) {
    task::TrialSpec trial;
    trial.kind = task::kRandomTrial;
    trial.seed = makeRandomSeed();
    if (Step<void> done = fill(set, trial, {Side::Submission, Side::Baseline});
        !done)
      return done;
  }
  if (Step<void> done = warmBaseline(); !done)
    return done;
  if (!session.getTracingProblem().empty())
    return failSubmission(Verdict::InvalidMeasurement,
                          "the GPU's activity cannot be traced: " +
                              session.getTracingProblem());
  Step<TimingConfig> config = makeTimingConfig();
  if (!config)
    return forwardTrouble(std::move(config));
  Source source(*this);
  Result<WorkloadTiming> timing = measureWorkload(source, *config);
  if (!timing)
    return tl::unexpected<Trouble>(source.takeTrouble());
  result.timing = std::move(*timing);
  if (result.timing->state == TimingState::Valid)
    return {};
  return failSubmission(getVerdict(result.timing->state),
                        std::string(getStateName(result.timing->state)) + ": " +
                            result.timing->reason);
}

Step<void> WorkloadRun::profile() {
  report("counters");
  Step<void> done = prepare({0}, /*perturb=*/true);
  if (done)
    done = handOver(Side::Submission, {0});
  if (!done)
    return done;
  Step<json::Value> reply =
      session.askWorker(Side::Submission, "profile", {{"set", 0}}, 120s,
                        "the profile of " + workload.id);
  if (!reply)
    return forwardTrouble(std::move(reply));
  json::Cursor cursor(*reply, "worker");
  Result<json::Cursor> profile = cursor.get("profile");
  if (!profile || !profile->getValue().getAsObject()) {
    result.countersProblem = "the worker sent no profile";
    return {};
  }
  result.profile = profile->getValue();
  result.countersProblem =
      profile->getString("counters_unavailable").value_or("");
  if (Result<json::Cursor> counters = profile->get("counters");
      counters && counters->getValue().getAsObject())
    for (const json::Member &counter : *counters->getValue().getAsObject())
      if (counter.value.isNumber() || counter.value.isNull())
        result.counters.set(counter.name, counter.value);
  if (options.evidenceFolder.empty())
    return {};
  Step<json::Value> modules = session.askWorker(
      Side::Submission, "modules", {{"folder", options.evidenceFolder}}, 60s,
      "writing the modules of " + workload.id);
  if (!modules)
    return forwardTrouble(std::move(modules));
  return {};
}
