#pragma once

#include "base/bytes.hpp"
#include "chain/vm/program.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chain::vm {

// A module that was compiled, or the reason why it cannot be.
struct Prepared {
    Program program;
    std::uint64_t start_price = 0;
    std::string refusal;  // Not empty: the code is no valid module.

    [[nodiscard]] std::size_t bytes() const {
        return sizeof(Prepared) + program.bytes + refusal.size();
    }
};

// Compiled modules of one engine or of those of several threads. What is dropped lives on with
// whoever still runs it.
class Programs : base::Pinned {
  public:
    struct Key {
        base::Hash256 code;  // SHA-256 of the module.
        std::uint32_t rules = 0;

        friend auto operator<=>(const Key&, const Key&) = default;
    };

    virtual ~Programs() = default;

    // The number of these rules in a key: equal rules have equal numbers.
    [[nodiscard]] virtual std::uint32_t rules(const Limits& limits, const Prices& prices) = 0;
    // Null: it is not there.
    [[nodiscard]] virtual std::shared_ptr<const Prepared> find(const Key& key) = 0;
    virtual void keep(const Key& key, std::shared_ptr<const Prepared> prepared) = 0;
    // Of what is kept.
    [[nodiscard]] virtual std::size_t bytes() const = 0;
    [[nodiscard]] virtual bool is_full() const = 0;  // Something was dropped.
};

// Bounded by bytes; the least recently used goes first (spec 03, "Loading"). Thread: one.
class ProgramCache final : public Programs {
  public:
    explicit ProgramCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    [[nodiscard]] std::uint32_t rules(const Limits& limits, const Prices& prices) override;
    [[nodiscard]] std::shared_ptr<const Prepared> find(const Key& key) override;
    void keep(const Key& key, std::shared_ptr<const Prepared> prepared) override;
    [[nodiscard]] std::size_t bytes() const override { return bytes_; }
    [[nodiscard]] bool is_full() const override { return is_full_; }

  private:
    struct Entry {
        Key key;
        std::shared_ptr<const Prepared> prepared;
    };

    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    bool is_full_ = false;
    std::list<Entry> entries_;  // The most recently used first.
    std::map<Key, std::list<Entry>::iterator> by_key_;
    std::vector<std::pair<Limits, Prices>> rules_;
};

}  // namespace chain::vm
