#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/ring/record.hpp"
#include "transport/ring/seal.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace transport::ring {

// The reading end of a ring, over memory of ours that the peer may write at any moment: nothing
// is looked at twice, and what is handed out is a private copy. Allocates nothing.
//
// The copy comes first and is opened in place: OpenSSL's GCM reads its input once for the tag and
// once more to decrypt it, and somebody who writes in between would change what was checked.
//
// Thread: one.
class Consumer : base::Pinned {
  public:
    // The first word of `ring` is zero. `seal`: null for open records; outlives the consumer.
    Consumer(std::span<std::byte> ring, Seal* seal);

    // The next record's payload, valid and the same until consume(). Empty: none has come.
    // invalid: the peer broke the ring; for good.
    [[nodiscard]] base::Result<std::optional<base::ByteView>> peek();
    // Goes on behind the record that peek() gave.
    void consume();

    // Whether a record lies there, without opening it. For a last look before sleeping.
    [[nodiscard]] bool has_record() const;
    // Where the next record begins, and where that ends which peek() gave.
    [[nodiscard]] std::uint64_t position() const { return position_; }
    [[nodiscard]] std::uint64_t position_behind() const { return position_ + held_bytes_; }
    // The producer waits for our position, or will.
    [[nodiscard]] bool is_asked() const { return is_asked_; }
    // The position to return to the producer now: half the ring was read, or it asked, or
    // nothing is left to read. Empty: not yet. Counts as returned.
    [[nodiscard]] std::optional<std::uint64_t> take_due_credit();
    // The position is returned, due or not.
    void count_returned();

  private:
    [[nodiscard]] std::uint64_t load_word() const;
    void advance(std::size_t bytes);
    // What is wrong with a word of the expected lap.
    [[nodiscard]] base::Result<RecordWord> check(std::uint64_t bits) const;
    [[nodiscard]] base::Result<void> open(std::uint64_t bits, const RecordWord& word);
    // Reads what lies at position_, if a record does: goes past a skip, holds a frame.
    [[nodiscard]] base::Result<std::optional<RecordKind>> read();

    std::span<std::byte> ring_;
    Seal* seal_;
    std::uint64_t position_ = 0;
    std::size_t at_ = 0;     // position_ in the ring,
    std::uint32_t lap_ = 1;  // and how often it was there: without a division each look.
    std::uint64_t returned_ = 0;
    bool is_asked_ = false;
    // The record in copy_: how many bytes of the ring it takes (0: none is there), its length,
    // and whether it asks for credit.
    std::size_t held_bytes_ = 0;
    std::size_t held_length_ = 0;
    bool held_asks_ = false;
    std::array<std::byte, kPayloadBytesMax + kTagBytes> copy_{};
};

}  // namespace transport::ring
