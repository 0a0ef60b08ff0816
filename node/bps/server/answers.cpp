#include "node/bps/server/answers.hpp"

#include "base/check.hpp"

#include <utility>

namespace bps {

bool Answers::put(std::uint64_t number, Answer answer) {
    if (number < first_ || number - first_ >= places_.size()) return false;
    std::optional<Answer>& place = places_[number - first_];
    if (place) return false;
    if (answer.response) {
        CHECK(answer.files.size() == answer.response->splices.size());
        unsent_bytes_ += answer.response->bytes.size();
    }
    place = std::move(answer);
    return true;
}

Transfer Answers::write(Stream& stream) {
    CHECK(is_ready());
    const Answer& answer = *places_.front();
    Transfer transfer;
    if (answer.response) transfer = write_part(stream, answer);
    if (transfer.kind != Transfer::Kind::done) return transfer;
    const bool is_whole = !answer.response || (at_ == answer.response->bytes.size() &&
                                               splice_ == answer.response->splices.size());
    if (is_whole) finish();
    return transfer;
}

// Bytes up to the next splice, or of it.
Transfer Answers::write_part(Stream& stream, const Answer& answer) {
    const ResponseFrame& frame = *answer.response;
    const bool has_splice = splice_ < frame.splices.size();
    const std::size_t until = has_splice ? frame.splices[splice_].at : frame.bytes.size();
    if (at_ < until) {
        Transfer transfer =
            stream.write(base::ByteView(frame.bytes).subspan(at_, until - at_), has_splice);
        at_ += transfer.bytes;
        return transfer;
    }
    if (!has_splice) return {};
    const StoredRecords& records = frame.splices[splice_].records;
    Transfer transfer = stream.write_file({.descriptor = answer.files[splice_]->descriptor(),
                                           .position = records.position + spliced_,
                                           .bytes = records.bytes - spliced_});
    spliced_ += static_cast<std::uint32_t>(transfer.bytes);
    if (spliced_ == records.bytes) {
        ++splice_;
        spliced_ = 0;
    }
    return transfer;
}

void Answers::finish() {
    Answer& answer = *places_.front();
    if (answer.response) unsent_bytes_ -= answer.response->bytes.size();
    close_reason_ = std::move(answer.close_reason);
    refusal_ = std::move(answer.refusal);
    places_.pop_front();
    ++first_;
    at_ = 0;
    splice_ = 0;
}

}  // namespace bps
