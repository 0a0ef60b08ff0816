#include "node/bps/server/answers.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace bps {

namespace {

// Of short answers that leave together.
constexpr std::size_t kTogetherBytes = 4'096;

}  // namespace

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
    if (is_short(0) && is_short(1)) return write_together(stream);
    const Answer& answer = *places_.front();
    Transfer transfer;
    if (answer.response) transfer = write_part(stream, answer);
    if (transfer.kind != Transfer::Kind::done) return transfer;
    const bool is_whole = !answer.response || (at_ == answer.response->bytes.size() &&
                                               splice_ == answer.response->splices.size());
    if (is_whole) finish();
    return transfer;
}

bool Answers::is_short(std::size_t index) const {
    if (index >= places_.size() || !places_[index]) return false;
    const Answer& answer = *places_[index];
    return answer.response && answer.response->splices.empty() && answer.close_reason.empty() &&
           answer.response->bytes.size() <= kTogetherBytes;
}

// After a wait the same bytes are given again, with what has become ready behind them.
Transfer Answers::write_together(Stream& stream) {
    std::array<std::byte, kTogetherBytes> together;  // NOLINT(*-member-init): filled below.
    std::size_t bytes = 0;
    for (std::size_t i = 0; is_short(i); ++i) {
        const base::ByteView next =
            base::ByteView(places_[i]->response->bytes).subspan(i == 0 ? at_ : 0);
        if (bytes + next.size() > together.size()) break;
        std::ranges::copy(next, together.begin() + static_cast<std::ptrdiff_t>(bytes));
        bytes += next.size();
    }
    Transfer transfer = stream.write(base::ByteView(together).first(bytes), false);
    for (std::size_t left = transfer.bytes; left > 0;) {
        const std::size_t of_front = std::min(left, places_.front()->response->bytes.size() - at_);
        at_ += of_front;
        left -= of_front;
        if (at_ == places_.front()->response->bytes.size()) finish();
    }
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
    const bool has_more = at_ < frame.bytes.size() || splice_ + 1 < frame.splices.size();
    Transfer transfer = stream.write_file({.descriptor = answer.files[splice_]->descriptor(),
                                           .position = records.position + spliced_,
                                           .bytes = records.bytes - spliced_,
                                           .has_more = has_more});
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
