#include "tests/node/bps/kills/killed_broker.hpp"

#include "tests/node/bps/core/log_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace kills {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

using bps::ErrorCode;
using bps::PartitionId;

namespace {

constexpr bps::TopicId kTopic = 1;
constexpr bps::TopicId kOffsetsTopic = 100;
constexpr std::int32_t kPartitions = 2;
constexpr std::size_t kProducers = 3;
constexpr std::uint64_t kRetentionBytes = 4'000;
constexpr std::size_t kStepsMax = 200;
constexpr std::size_t kCallsMax = 120;
constexpr std::size_t kStartsMax = 100;  // Chance does not cut as many.
// So that a snapshot of the producers is always left.
constexpr std::size_t kBatchesBetweenTruncations = 12;

const support::NoDecompressor kOpener;

[[noreturn]] void lose(const std::string& what) {
    throw Lost(what);
}

// The answer as a client decodes it, given to `take` while its bytes are there.
template <class Response, class Take>
void decode(const bps::Reply& reply, std::int16_t version, const Take& take) {
    if (!reply.response) lose("a request without an answer");
    const bool flexible = Response::kApi.is_flexible(version);
    bps::Decoder decoder(
        base::ByteView(reply.response->bytes).subspan(flexible ? 9 : 8), version, flexible);
    Response response;
    decoder.structure(response);
    if (const auto whole = decoder.finish(); !whole) lose(whole.error().detail);
    take(response);
}

}  // namespace

KilledBroker::KilledBroker(std::uint64_t seed) : chance_(seed) {
    view_.topic(kTopic, "t", kPartitions);
    view_.grant_all("alice"_n);
    view_.id_space("alice"_n, 0);
    while (!start())
        end();
}

bps::PartitionSettings KilledBroker::settings(PartitionId id) {
    bps::PartitionSettings settings{.log = {.segment_bytes = 600}, .batches = {}};
    if (id.topic == kTopic) {
        settings.log.retention_bytes = static_cast<std::int64_t>(kRetentionBytes);
    } else {
        settings.log.compacts = true;
    }
    return settings;
}

// --- The process ----------------------------------------------------------------------------

bool KilledBroker::has_ended() const {
    return std::ranges::any_of(files_, [](const auto& each) { return each.second->is_cut_off(); });
}

// False, since the process has ended; else nothing may fail.
bool KilledBroker::check_error(const base::Error& error) const {
    if (!has_ended()) lose(error.detail);
    return false;
}

bool KilledBroker::start() {
    broker_ = std::make_unique<bps::Broker>(
        bps::Broker::World{view_.rights, view_.directory, quotas_, kOpener, broker_rng_},
        bps::GroupSettings{.gather_ms = 0},
        "chain");
    broker_->set_offsets_topic(kOffsetsTopic, 1);
    for (const PartitionId id : {PartitionId{kTopic, 0}, {kTopic, 1}, {kOffsetsTopic, 0}}) {
        if (!add(id)) return false;
    }
    compare();
    return true;
}

bool KilledBroker::add(PartitionId id) {
    auto& files = files_[id];
    files = std::make_unique<LogDirectory>(disk_, fmt::format("/m/{}-{}", id.topic, id.index));
    if (const auto taken = files->take_over(); !taken) return check_error(taken.error());
    auto opened = bps::Log::open(*files, settings(id).log, now_);
    if (!opened) return check_error(opened.error());
    if (opened->findings.cut_bytes > 0) ++counts_.cut_records;
    if (id.topic == kTopic && !truncate(*opened->log, part(id.index))) return false;
    broker_->add(id, std::move(opened->log), settings(id));
    view_.partition(id, ++epoch_);
    const auto led = broker_->lead(now_, id, epoch_, 1, effects_);
    if (!led) return check_error(led.error());
    if (id.topic != kTopic) return true;
    Part& of = part(id.index);
    const auto moved = broker_->set_log_start(now_, id, of.deletion, effects_);
    if (!moved) return check_error(moved.error());
    return true;
}

// As a follower does whose last batches are not its leader's: nobody misses them.
bool KilledBroker::truncate(bps::Log& log, Part& part) {
    const std::size_t count = 1 + chance_.below(3);
    if (!chance_.percent(30) || part.since_truncation < kBatchesBetweenTruncations) return true;
    // Those that the log has not got any more are not sent either.
    std::erase_if(part.sent, [&](const Sent& each) {
        return !each.is_acknowledged && each.offset >= log.end();
    });
    if (part.sent.size() <= count) return true;
    const auto first = part.sent.end() - static_cast<std::ptrdiff_t>(count);
    if (first->offset < log.start() || first->offset < part.deletion) return true;
    for (auto each = first; each != part.sent.end(); ++each)
        each->is_acknowledged = false;
    part.since_truncation = 0;
    ++counts_.truncations;
    const std::int64_t offset = first->offset;
    if (const auto cut = log.truncate(offset); !cut) return check_error(cut.error());
    if (log.end() != offset) {
        lose(fmt::format("cut at offset {}, the log ends with {}", offset, log.end()));
    }
    return true;
}

void KilledBroker::end() {
    broker_.reset();
    files_.clear();
    effects_ = {};
    sync_.reset();
    pending_.clear();
    ++counts_.kills;
    if (chance_.percent(50)) {
        ++counts_.power_cuts;
        disk_.cut_power(chance_);
    } else {
        disk_.end_process();
    }
    // Sometimes the next one does not even get to serve.
    if (chance_.percent(30)) disk_.stop_after(chance_.below(kCallsMax / 2));
}

void KilledBroker::kill() {
    disk_.stop_after(1 + chance_.below(kCallsMax));
    for (std::size_t i = 0; i < kStepsMax && !has_ended(); ++i)
        step();
    end();
    for (std::size_t i = 0; !start(); ++i) {
        ++counts_.starts_cut;
        if (i > kStartsMax) lose("no start succeeds");
        end();
    }
}

// --- What clients do ------------------------------------------------------------------------

void KilledBroker::step() {
    ++now_;
    switch (chance_.below(18)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            return send_new();
        case 5:
        case 6:
            return send_again();
        case 7:
        case 8:
        case 9:
        case 10:
            return sync();
        case 11:
        case 12:
            return commit();
        case 13:
            return join();
        case 14:
            return erase();
        case 15:
        case 16:
            return compact();
        default:
            return expire();
    }
}

std::uint64_t KilledBroker::ask(std::int16_t version,
                                const bps::Request& request,
                                std::span<std::byte> frame) {
    view_.on_final(now_);
    bps::Caller caller;
    caller.id = {.connection = 1, .number = ++number_};
    caller.version = version;
    caller.correlation = 7;
    caller.principal.account = "alice"_n;
    caller.principal.permission = "active"_n;
    caller.client_id = "client";
    caller.client_host = "127.0.0.1";
    caller.protocol = "PLAINTEXT";
    if (!broker_->on_request(now_, caller, request, frame, effects_)) lose("a request of SASL");
    return number_;
}

void KilledBroker::send_new() {
    const auto index = static_cast<std::int32_t>(chance_.below(kPartitions));
    Sent batch;
    batch.spec.producer_id = static_cast<std::int64_t>(chance_.below(kProducers));
    batch.spec.producer_epoch = 0;
    batch.spec.base_sequence = part(index).next_sequence[batch.spec.producer_id];
    batch.spec.base_timestamp = now_;
    for (std::size_t n = 1 + chance_.below(3); n > 0; --n) {
        batch.spec.records.push_back({"key", "value " + std::to_string(chance_.below(1'000)), 0});
    }
    send(index, batch, true);
}

// As a client does that got no answer, or does not believe it.
void KilledBroker::send_again() {
    const auto index = static_cast<std::int32_t>(chance_.below(kPartitions));
    const std::vector<Sent>& sent = part(index).sent;
    if (sent.empty()) return;
    const std::size_t back = chance_.below(std::min<std::size_t>(3, sent.size()));
    ++counts_.duplicates;
    const Sent batch = sent[sent.size() - 1 - back];
    send(index, batch, false);
}

void KilledBroker::send(std::int32_t index, const Sent& batch, bool is_new) {
    const bps::Log& of = log({kTopic, index});
    const std::int64_t end_before = of.end();
    base::Bytes bytes = support::make_batch(batch.spec);
    bps::ProduceRequest request;
    request.acks = chance_.percent(50) ? std::int16_t{1} : std::int16_t{-1};
    request.timeout_ms = 60'000;
    request.topic_data = {{.name = "t", .partition_data = {{index, bytes}}}};
    const std::uint64_t id = ask(9, request, bytes);
    const bool is_appended = of.end() != end_before;
    if (is_appended && !is_new) {
        lose(
            fmt::format("the batch at offset {} was sent again, and is there twice", batch.offset));
    }
    if (is_appended) {
        Part& to = part(index);
        to.appended_bytes += bytes.size();
        ++to.since_truncation;
        Sent& added = to.sent.emplace_back(batch);
        added.offset = end_before;
        added.bytes_until = to.appended_bytes;
        to.next_sequence[batch.spec.producer_id] +=
            static_cast<std::int32_t>(batch.spec.records.size());
    }
    pending_[id] = {.kind = Pending::Kind::produce,
                    .index = index,
                    .offset = is_new ? end_before : batch.offset};
    take_replies();
}

void KilledBroker::commit() {
    bps::OffsetCommitRequest request;
    request.group_id = "g";
    request.generation_id_or_member_epoch = -1;
    request.topics = {{"t", {{0, ++commit_sent_, 3, "m"}}}};
    const std::uint64_t id = ask(8, request);
    pending_[id] = {.kind = Pending::Kind::commit, .index = 0, .offset = commit_sent_};
    take_replies();
}

void KilledBroker::join() {
    const bool is_under_way = std::ranges::any_of(pending_, [](const auto& each) {
        const auto kind = each.second.kind;
        return kind == Pending::Kind::join || kind == Pending::Kind::sync_group;
    });
    if (is_under_way) return;
    is_joining_ = true;
    bps::JoinGroupRequest request;
    request.group_id = "h";
    request.session_timeout_ms = 1'800'000;
    request.rebalance_timeout_ms = 60'000;
    request.group_instance_id = "instance";
    request.protocol_type = "consumer";
    request.protocols = {{"range", base::as_bytes("t")}};
    const std::uint64_t id = ask(7, request);
    pending_[id] = {.kind = Pending::Kind::join};
    take_replies();
}

void KilledBroker::sync() {
    if (!sync_) return;
    for (const auto& each : sync_->parts) {
        if (!files_.at(PartitionId::of(each.log))->sync(each.files)) return;
    }
    sync_.reset();
    broker_->on_synced(now_, {}, effects_);
    for (std::int32_t index = 0; index < kPartitions && !has_ended(); ++index)
        check_deleted(index);
    take_replies();
}

void KilledBroker::erase() {
    const PartitionId id{kTopic, static_cast<std::int32_t>(chance_.below(kPartitions))};
    Part& of = part(id.index);
    const std::int64_t to = log(id).start() + 2;
    if (!chance_.percent(30) || to > log(id).durable_end()) return;
    of.deletion = std::max(of.deletion, to);
    if (broker_->set_log_start(now_, id, of.deletion, effects_)) of.deleted = of.deletion;
}

void KilledBroker::expire() {
    if (!broker_->is_expiring()) broker_->begin_expiring(now_, effects_);
    const auto errors = broker_->expire(now_, effects_);
    if (!errors.empty()) (void)check_error(errors.front());
    take_replies();
}

void KilledBroker::compact() {
    bool has_more = true;
    while (has_more && !has_ended()) {
        const auto step = broker_->compact(now_, effects_);
        if (!step) (void)check_error(step.error());
        has_more = step.value_or(false);
        if (has_more) ++counts_.compaction_steps;
        take_replies();
    }
}

// --- What they are told ---------------------------------------------------------------------

void KilledBroker::take_replies() {
    broker_->begin_sync(now_, effects_);
    if (effects_.sync) sync_ = std::exchange(effects_.sync, std::nullopt);
    const auto replies = std::exchange(effects_.replies, {});
    for (const bps::Reply& reply : replies) {
        const auto request = pending_.extract(reply.id.number);
        if (request.empty()) lose("an answer to nothing");
        take(request.mapped(), reply);
    }
}

void KilledBroker::take(const Pending& request, const bps::Reply& reply) {
    using Kind = Pending::Kind;
    if (request.kind == Kind::produce) return take_produced(request, reply);
    if (request.kind == Kind::join) return take_joined(reply);
    if (request.kind == Kind::commit) {
        decode<bps::OffsetCommitResponse>(reply, 8, [&](const auto& response) {
            if (response.topics.at(0).partitions.at(0).error_code != ErrorCode::none) return;
            commit_acknowledged_ = std::max(commit_acknowledged_, request.offset);
            ++counts_.commits;
        });
        return;
    }
    decode<bps::SyncGroupResponse>(reply, 5, [&](const auto& response) {
        if (response.error_code != ErrorCode::none) return;
        joining_.assignment = std::string(base::as_text(response.assignment));
        member_ = joining_;
        is_joining_ = false;
        ++counts_.generations;
    });
}

void KilledBroker::take_produced(const Pending& request, const bps::Reply& reply) {
    decode<bps::ProduceResponse>(reply, 9, [&](const auto& response) {
        const auto& answer = response.responses.at(0).partition_responses.at(0);
        if (answer.error_code != ErrorCode::none) {
            if (!has_ended()) lose(fmt::format("refused: {}", answer.error_message.value_or("")));
            return;
        }
        if (answer.base_offset != request.offset) {
            lose(fmt::format(
                "acknowledged at offset {}, appended at {}", answer.base_offset, request.offset));
        }
        auto& sent = part(request.index).sent;
        const auto at = std::ranges::find(sent, request.offset, &Sent::offset);
        if (at == sent.end()) lose("an answer to a batch that was not sent");
        at->is_acknowledged = true;
        ++counts_.acknowledged;
    });
}

void KilledBroker::take_joined(const bps::Reply& reply) {
    bool is_in = false;
    decode<bps::JoinGroupResponse>(reply, 7, [&](const auto& response) {
        is_in = response.error_code == ErrorCode::none;
        joining_ = {.id = std::string(response.member_id),
                    .generation = response.generation_id,
                    .assignment = {}};
    });
    if (!is_in) return;
    const std::string text = std::to_string(++joins_);
    bps::SyncGroupRequest request;
    request.group_id = "h";
    request.generation_id = joining_.generation;
    request.member_id = joining_.id;
    request.group_instance_id = "instance";
    request.assignments = {{joining_.id, base::as_bytes(text)}};
    const std::uint64_t id = ask(5, request);
    pending_[id] = {.kind = Pending::Kind::sync_group};
    take_replies();
}

// --- What is there --------------------------------------------------------------------------

void KilledBroker::compare() {
    for (std::int32_t index = 0; index < kPartitions; ++index)
        compare(index);
    compare_group();
    take_replies();
}

// What the row says is deleted, nobody sees.
void KilledBroker::check_deleted(std::int32_t index) {
    const bps::Log& log = this->log({kTopic, index});
    if (log.start() < std::min(part(index).deletion, log.durable_end())) {
        lose("records that the row deletes are seen");
    }
}

void KilledBroker::compare(std::int32_t index) {
    const bps::Log& log = this->log({kTopic, index});
    Part& of = part(index);
    if (log.start() < of.deleted) lose("deleted records are back");
    check_deleted(index);
    std::erase_if(of.sent, [&](const Sent& each) {
        if (each.end() <= log.end()) return false;
        if (!each.is_acknowledged) return true;
        lose(fmt::format("the batch at offset {} was acknowledged; partition {} ends with {}",
                         each.offset,
                         index,
                         log.end()));
    });
    std::map<std::int64_t, base::Bytes> there;
    const auto read = log.for_each_batch([&](const bps::BatchHeader& header, base::ByteView batch) {
        there[header.base_offset] = base::to_bytes(batch);
        return base::Result<void>();
    });
    if (!read) lose(read.error().detail);
    std::int64_t end = 0;
    for (const Sent& each : of.sent) {
        if (each.offset != end) lose(fmt::format("a gap at offset {}", end));
        end = each.end();
        const auto stored = there.extract(each.offset);
        if (stored.empty()) {
            const bool is_spent = of.appended_bytes - each.bytes_until >= kRetentionBytes;
            if (each.end() <= log.start() && (is_spent || each.end() <= of.deletion)) continue;
            lose(fmt::format("the batch at offset {} is not there", each.offset));
        }
        const auto header = bps::read_stored_batch(stored.mapped(), each.offset);
        if (!header) lose(header.error().detail);
        base::Bytes expected = support::make_batch(each.spec);
        bps::set_place(expected, each.offset, header->leader_epoch);
        if (!base::equal(stored.mapped(), expected)) {
            lose(fmt::format("the batch at offset {} is another one", each.offset));
        }
    }
    if (!there.empty()) lose(fmt::format("nobody sent offset {}", there.begin()->first));
    if (log.end() != end) lose(fmt::format("{} ends with {}, not {}", index, log.end(), end));
    compare_producers(of, log);
    of.next_sequence.clear();
    for (const Sent& each : of.sent) {
        of.next_sequence[each.spec.producer_id] =
            each.spec.base_sequence + static_cast<std::int32_t>(each.spec.records.size());
    }
}

void KilledBroker::compare_producers(const Part& part, const bps::Log& log) const {
    bps::Producers expected;
    for (const Sent& each : part.sent) {
        base::Bytes bytes = support::make_batch(each.spec);
        bps::set_place(bytes, each.offset, 0);
        expected.add(*bps::read_batch_header(bytes));
    }
    if (log.producers() != expected) lose("the producers' state is another one");
}

void KilledBroker::compare_group() {
    bps::OffsetFetchRequest request;
    request.group_id = "g";
    request.topics = {{{"t", {0}}}};
    const std::uint64_t id = ask(7, request);
    const auto reply = std::ranges::find_if(
        effects_.replies, [id](const bps::Reply& each) { return each.id.number == id; });
    if (reply == effects_.replies.end()) lose("no offsets are told");
    std::int64_t found = 0;
    decode<bps::OffsetFetchResponse>(*reply, 7, [&](const auto& response) {
        found = std::max<std::int64_t>(response.topics.at(0).partitions.at(0).committed_offset, 0);
    });
    effects_.replies.erase(reply);
    if (found < commit_acknowledged_ || found > commit_sent_) {
        lose(fmt::format("committed offset {}; {} was acknowledged, {} sent last",
                         found,
                         commit_acknowledged_,
                         commit_sent_));
    }
    commit_acknowledged_ = found;
    if (!member_) return;
    const auto group = broker_->groups().all().find("h");
    if (group == broker_->groups().all().end()) lose("a group is not there");
    if (group->second.generation < member_->generation) lose("a generation is back");
    if (is_joining_) return;
    const auto member = group->second.members.find(member_->id);
    if (member == group->second.members.end()) lose("a member is not there");
    const bool is_same = group->second.state == bps::GroupState::stable &&
                         group->second.generation == member_->generation &&
                         base::as_text(member->second.assignment) == member_->assignment;
    if (!is_same) lose("a group is another one");
}

}  // namespace kills
