#include "base/check.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/rights.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace {

constexpr chain::Name kTables[] = {bps::rows::Topic::kTable,
                                   bps::rows::Grant::kTable,
                                   bps::rows::Prefix::kTable,
                                   bps::rows::Delegation::kTable,
                                   bps::rows::Cert::kTable,
                                   bps::rows::Revocation::kTable,
                                   bps::rows::NotBefore::kTable,
                                   bps::rows::Broker::kTable,
                                   bps::rows::Partition::kTable};

}  // namespace

// Rows of any bytes in any table, one after the other, put and erased: each is taken or refused,
// and questions have answers.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    bps::Rights rights({.contract = {1}, .broker = 1, .broker_account = {2}, .anonymous = {}});
    bps::Directory directory;
    base::Reader in(bytes);
    while (in.ok() && in.left() > 0) {
        const std::uint8_t which = in.u8("table");
        const bps::RowId id{.table = kTables[which % std::size(kTables)],
                            .scope = {in.u8("scope")},
                            .key = in.u64("key")};
        const base::ByteView row = in.raw(in.u8("size"), "row");
        if (!in.ok()) break;
        const auto value = which >= 128 ? std::nullopt : std::optional(row);
        (void)rights.apply(id, value);
        (void)directory.apply(id, value);
        rights.check_invariants();
    }
    const bps::Principal caller{.account = {3}, .permission = {4}};
    const bps::Caller at{.principal = caller, .client_id = {}, .client_host = {}, .protocol = {}};
    (void)directory.nodes(at);
    for (const auto& [key, row] : directory.brokers())
        (void)directory.leader_of({static_cast<bps::TopicId>(key), 0}, at);
    for (const std::string_view name : {"", "a", "__a", "a.b"}) {
        (void)rights.topic(caller, name, bps::Right::see, 0);
        (void)rights.group(caller, name, {}, bps::Right::see, 0);
        (void)rights.new_topic_owner(caller, name);
        (void)rights.delegated({5}, {6}, name);
    }
    return 0;
}
