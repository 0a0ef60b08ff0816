#pragma once

#include "node/bps/core/codec/responses.hpp"
#include "node/bps/server/memory_shares.hpp"
#include "node/bps/server/record_files.hpp"
#include "node/bps/server/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bps {

// An answer with the files of the records that it names, in their order.
struct Answer {
    std::optional<ResponseFrame> response{};  // Nothing: none is wanted.
    std::vector<std::shared_ptr<const RecordFile>> files{};
    MemoryHold hold{};           // Of the response's bytes.
    std::string close_reason{};  // Not empty: the connection ends after it.
    std::string refusal{};       // Why a client may leave after it.
};

// The answers of one connection: put in place in any order, written in that of the requests.
//
// Thread: that of its connection.
class Answers {
  public:
    // The next request awaits its answer; its number: 1, 2, ...
    std::uint64_t expect() {
        places_.emplace_back();
        return first_ + places_.size() - 1;
    }
    // False: no request that waits has this number.
    [[nodiscard]] bool put(std::uint64_t number, Answer answer);

    // Requests without an answer, or whose answer is not written.
    [[nodiscard]] std::size_t waiting() const { return places_.size(); }
    // Bytes of answers in memory that are not written.
    [[nodiscard]] std::size_t unsent_bytes() const { return unsent_bytes_; }
    // The next to be written is here.
    [[nodiscard]] bool is_ready() const { return !places_.empty() && places_.front().has_value(); }

    // Writes some of the next one, which is ready, or short ones together. done: 0 bytes where that
    // had none.
    [[nodiscard]] Transfer write(Stream& stream);
    // Why the connection ends, once the answer before that is written; empty: it goes on.
    [[nodiscard]] const std::string& close_reason() const { return close_reason_; }
    // What the last answer that is written refused; empty: nothing.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

  private:
    [[nodiscard]] Transfer write_part(Stream& stream, const Answer& answer);
    // It is ready, without records, and no end follows.
    [[nodiscard]] bool is_short(std::size_t index) const;
    [[nodiscard]] Transfer write_together(Stream& stream);
    void finish();

    std::deque<std::optional<Answer>> places_;
    std::uint64_t first_ = 1;  // The number of the first place.
    std::size_t unsent_bytes_ = 0;
    std::string close_reason_;
    std::string refusal_;
    // Of the front: bytes and splices that are written, and bytes of the next splice.
    std::size_t at_ = 0;
    std::size_t splice_ = 0;
    std::uint32_t spliced_ = 0;
};

}  // namespace bps
