#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace bps {

// A batch of an idempotent producer that is in the log.
struct ProducedBatch {
    std::int32_t first_sequence = 0;
    std::int32_t last_sequence = 0;
    std::int64_t base_offset = 0;
    std::int64_t next_offset = 0;
    std::int64_t max_timestamp = 0;

    friend bool operator==(const ProducedBatch&, const ProducedBatch&) = default;
};

// What a partition knows of its idempotent producers: {id, epoch, last 5 batches}. A function of
// the batches in the log, in their order: every replica has the same (spec 08, "Replication" 7).
//
// Invariants, checked by check_invariants():
// P1. The batches of a producer ascend in offsets, and are of its epoch; there are 1 to 5.
// P2. `by_space_` names each producer once, in its id space under the next offset of its last
// batch.
class Producers {
  public:
    static constexpr std::size_t kBatchesKept = 5;  // Of each; what a client may have in flight.
    // Above them, of the account that has most of them, the one that produced longest ago is
    // forgotten, as if it had expired: it goes on, and only what it sends twice after that is not
    // known again. No account takes another's away by that. Some 300 bytes each.
    static constexpr std::size_t kProducersMax = 1'000;
    static constexpr std::uint64_t kProducerBytes = 300;

    // Judges a batch before it is appended, as Kafka does. A batch: this is the one that it
    // repeats, and nothing is to be appended. Nothing: it is in order.
    // invalid_producer_epoch: a later epoch of the producer has been here.
    // out_of_order_sequence_number: its sequence does not follow on the last one.
    [[nodiscard]] Verdict<std::optional<ProducedBatch>> check(const BatchHeader& batch) const;

    // Takes a batch as it stands in the log.
    void add(const BatchHeader& placed);

    // This one has produced now; all have that are known, as far as one who opens a log can say.
    // Their records may be of any time.
    void note_use(std::int64_t id, std::int64_t now);
    void note_use_of_all(std::int64_t now);
    // Forgets who has not produced since `before`, in milliseconds since 1970.
    void expire(std::int64_t before);

    // All of it, with the offset up to which the log is in it.
    [[nodiscard]] base::Bytes snapshot(std::int64_t next_offset) const;
    // corrupt: not what snapshot() made for this offset.
    [[nodiscard]] static base::Result<Producers> read_snapshot(base::ByteView bytes,
                                                               std::int64_t next_offset);

    [[nodiscard]] std::size_t size() const { return producers_.size(); }
    // Of memory, about.
    [[nodiscard]] std::uint64_t bytes() const { return producers_.size() * kProducerBytes; }
    void check_invariants() const;
    friend bool operator==(const Producers&, const Producers&) = default;

  private:
    struct Producer {
        std::int16_t epoch = 0;
        std::vector<ProducedBatch> batches;
        std::int64_t used = 0;  // When it was seen to produce. Not of the log.

        friend bool operator==(const Producer& a, const Producer& b) {
            return a.epoch == b.epoch && a.batches == b.batches;
        }
    };

    void insert(std::int64_t id, Producer producer);
    // Takes the producer out of by_space_.
    void take_out(std::int64_t id, const Producer& producer);
    // The id of the producer that makes room for another one.
    [[nodiscard]] std::int64_t to_forget() const;

    std::map<std::int64_t, Producer> producers_;  // By id.
    // Ids by the next offset of the last batch, by the id space of whose they are.
    std::map<std::uint32_t, std::map<std::int64_t, std::int64_t>> by_space_;
};

}  // namespace bps
