#include "transport/ring/consumer.hpp"

#include "base/check.hpp"

#include <cstring>
#include <string>

namespace transport::ring {

namespace {

tl::unexpected<base::Error> broken(std::uint64_t position, const std::string& what) {
    return base::fail(base::Errc::invalid,
                      "the ring at position " + std::to_string(position) + " holds " + what);
}

}  // namespace

Consumer::Consumer(std::span<std::byte> ring, Seal* seal) : ring_(ring), seal_(seal) {
    CHECK(ring.size() % kLineBytes == 0);
    CHECK(ring.size() >= kRingBytesMin && ring.size() <= kRingBytesMax);
    CHECK(reinterpret_cast<std::uintptr_t>(ring.data()) % kWordBytes == 0);
}

std::uint64_t Consumer::load_word() const {
    // The peer's stores are no part of this program: the word is loaded once, and before the bytes
    // that it vouches for.
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(ring_.data() + at_),
                           __ATOMIC_ACQUIRE);
}

bool Consumer::has_record() const {
    return held_bytes_ > 0 || static_cast<std::uint32_t>(load_word()) == lap_;
}

void Consumer::advance(std::size_t bytes) {
    position_ += bytes;
    at_ += bytes;
    if (at_ < ring_.size()) return;
    at_ = 0;
    ++lap_;
}

base::Result<RecordWord> Consumer::check(std::uint64_t bits) const {
    const auto word = decode_word(bits);
    if (!word) return broken(position_, "a word that means nothing");
    const std::size_t rest = ring_.size() - at_;
    if (word->kind == RecordKind::frame && record_bytes(word->length) > rest)
        return broken(position_, "a record that goes beyond its end");
    if (word->kind == RecordKind::skip && rest >= kRecordBytesMax)
        return broken(position_, "a skip where every record fits");
    return *word;
}

base::Result<void> Consumer::open(std::uint64_t bits, const RecordWord& word) {
    const std::size_t size = word.length + (seal_ != nullptr ? kTagBytes : 0);
    const std::span<std::byte> copy(copy_.data(), size);
    if (size > 0) std::memcpy(copy.data(), ring_.data() + at_ + kWordBytes, size);
    if (seal_ != nullptr && !seal_->open(position_, bits, copy))
        return broken(position_, "a record that its peer did not seal");
    return {};
}

base::Result<std::optional<RecordKind>> Consumer::read() {
    const std::uint64_t bits = load_word();
    if (static_cast<std::uint32_t>(bits) != lap_) return std::nullopt;
    const auto word = check(bits);
    if (!word) return base::fail(word.error());
    if (auto opened = open(bits, *word); !opened) return base::fail(opened.error());
    if (word->kind == RecordKind::skip) {
        is_asked_ = is_asked_ || word->sync_req;
        advance(ring_.size() - at_);
    } else {
        held_bytes_ = record_bytes(word->length);
        held_length_ = word->length;
        held_asks_ = word->sync_req;
    }
    return word->kind;
}

base::Result<std::optional<base::ByteView>> Consumer::peek() {
    // After a skip stands the lap's first record, which is none: a peer can't keep us here.
    for (int i = 0; i < 2 && held_bytes_ == 0; ++i) {
        const auto kind = read();
        if (!kind) return base::fail(kind.error());
        if (!*kind) return std::optional<base::ByteView>();
    }
    return std::optional(base::ByteView(copy_).first(held_length_));
}

void Consumer::consume() {
    CHECK(held_bytes_ > 0);
    advance(held_bytes_);
    is_asked_ = is_asked_ || held_asks_;
    held_bytes_ = 0;
}

std::optional<std::uint64_t> Consumer::take_due_credit() {
    if (position_ == returned_) return std::nullopt;
    const bool is_half = position_ - returned_ >= ring_.size() / 2;
    if (!is_half && !is_asked_ && has_record()) return std::nullopt;
    count_returned();
    return position_;
}

void Consumer::count_returned() {
    is_asked_ = false;
    returned_ = position_;
}

}  // namespace transport::ring
