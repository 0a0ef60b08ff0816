#include "chain/execution/rows.hpp"
#include "node/chain_api.hpp"
#include "node/contract_abi.hpp"
#include "node/table_keys.hpp"
#include "node/table_walk.hpp"

#include <fmt/format.h>

#include <charconv>

namespace node {

using chain::Exception;

namespace {

constexpr std::uint32_t kRowsMax = 1000;

// What get_table_rows asks for.
struct RowsRequest {
    bool json = false;
    chain::Name code;
    std::string scope_text;
    chain::Name table;
    std::string lower_bound;
    std::string upper_bound;
    std::uint32_t limit = 10;
    std::string key_type;
    std::string index_position;
    bool is_hex = false;  // encode_type.
    bool reverse = false;
    bool show_payer = false;
    std::optional<std::uint32_t> time_limit_ms;

    chain::TableId id;  // With the scope as a number.
    std::chrono::milliseconds time{0};
};

RowsRequest read_request(Params& params) {
    RowsRequest request;
    request.json = params.boolean("json");
    request.code = params.name("code");
    request.scope_text = params.text("scope");
    request.table = params.name("table");
    request.lower_bound = params.text("lower_bound");
    request.upper_bound = params.text("upper_bound");
    request.limit = params.u32("limit", 10);
    request.key_type = params.text("key_type");
    request.index_position = params.text("index_position");
    request.is_hex = params.text("encode_type", "dec") == "hex";
    request.reverse = params.boolean("reverse");
    request.show_payer = params.boolean("show_payer");
    request.time_limit_ms = params.optional_u32("time_limit_ms");
    return request;
}

// The number of the secondary index, or nothing for the primary one.
base::Result<std::optional<std::uint64_t>> parse_position(const std::string& text) {
    using Position = std::optional<std::uint64_t>;
    const auto begins = [&](std::string_view prefix) { return text.starts_with(prefix); };
    if (text.empty() || text == "first" || text == "primary" || text == "one") return Position{};
    if (begins("sec") || text == "two") return Position{0};
    if (begins("ter") || begins("th")) return Position{1};
    if (begins("fou")) return Position{2};
    if (begins("fi")) return Position{3};
    if (begins("six")) return Position{4};
    if (begins("sev")) return Position{5};
    if (begins("eig")) return Position{6};
    if (begins("nin")) return Position{7};
    if (begins("ten")) return Position{8};
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return chain::fail(Exception::contract_table_query_exception,
                           "Invalid index_position: " + text);
    }
    if (number < 2) return Position{};
    return Position{number - 2};
}

// Collects rows until the limit or the time ends.
class RowCollector {
  public:
    RowCollector(const RowsRequest& request, const ContractAbi& abi)
        : request_(request),
          abi_(abi),
          deadline_(request.time),
          limit_(std::min(request.limit, kRowsMax)) {}

    [[nodiscard]] bool is_full() const {
        return count_ >= limit_ || (count_ > 0 && deadline_.is_over());
    }
    void count() { ++count_; }
    // Adds one row; `stored` is the value of Table::contract_row.
    void add(base::ByteView stored) {
        Json data = row_json(chain::row_value(stored));
        if (request_.show_payer) {
            data = {{"data", std::move(data)}, {"payer", chain::row_payer(stored).to_string()}};
        }
        rows_.push_back(std::move(data));
    }
    [[nodiscard]] Json finish(const std::optional<std::string>& next_key) && {
        return {{"rows", std::move(rows_)},
                {"more", next_key.has_value()},
                {"next_key", next_key.value_or("")}};
    }

  private:
    // A row that its ABI does not describe is shown as bytes.
    [[nodiscard]] Json row_json(base::ByteView value) const {
        if (request_.json) {
            auto json = abi_.serializer->to_json(abi_.row_type, value);
            if (json) return std::move(*json);
        }
        return base::to_hex(value);
    }

    const RowsRequest& request_;
    const ContractAbi& abi_;
    Deadline deadline_;
    std::uint32_t limit_;
    std::uint32_t count_ = 0;
    Json rows_ = Json::array();
};

// `unbounded` where no bound is given.
base::Result<std::uint64_t> primary_bound(const RowsRequest& request,
                                          const std::string& text,
                                          std::string_view field,
                                          std::uint64_t unbounded) {
    if (text.empty()) return unbounded;
    if (request.key_type != "name") return parse_key64(text, field);
    auto name = chain::Name::from_string(text);
    if (!name) return base::fail(name.error());
    return name->value;
}

std::string primary_text(const RowsRequest& request, std::uint64_t primary) {
    if (request.key_type == "name") return chain::Name{primary}.to_string();
    return request.is_hex ? fmt::format("0x{:x}", primary) : std::to_string(primary);
}

Answer primary_rows(const Moment& moment, const RowsRequest& request, const ContractAbi& abi) {
    const auto lower = primary_bound(request, request.lower_bound, "lower_bound", 0);
    if (!lower) return refuse(lower.error());
    const auto upper = primary_bound(request, request.upper_bound, "upper_bound", UINT64_MAX);
    if (!upper) return refuse(upper.error());
    RowCollector collector(request, abi);
    TableWalk walk(*moment.state,
                   chain::Table::contract_row,
                   {base::to_bytes(chain::row_key(request.id, *lower)),
                    base::to_bytes(chain::row_key(request.id, *upper)),
                    request.reverse});
    for (; walk.row() != nullptr && !collector.is_full(); walk.next()) {
        collector.add(*walk.row()->value);
        collector.count();
    }
    if (walk.row() == nullptr) return std::move(collector).finish(std::nullopt);
    constexpr std::size_t kPrimaryOffset = 24;
    const std::uint64_t next = chain::key_u64(walk.row()->key, kPrimaryOffset);
    return std::move(collector).finish(primary_text(request, next));
}

// The range of an index: from the lower secondary key to the upper one, any primary key.
base::Result<TableWalk::Range> index_range(const RowsRequest& request,
                                           const chain::TableId& index,
                                           KeyKind kind) {
    const std::size_t key_bytes = index_table(kind).key_bytes;
    const chain::RowKey prefix = chain::table_key(index);
    const std::size_t all_bytes = prefix.view().size() + key_bytes + 8;
    TableWalk::Range range = range_of(prefix, all_bytes);
    range.reverse = request.reverse;
    const auto narrow = [&](base::Bytes& end,
                            const std::string& text,
                            std::string_view field,
                            std::byte fill) -> base::Result<void> {
        if (text.empty()) return {};
        auto bound = parse_bound(kind, request.is_hex, text, field);
        if (!bound) return base::fail(bound.error());
        end = base::to_bytes(prefix);
        end.insert(end.end(), bound->begin(), bound->end());
        end.resize(all_bytes, fill);
        return {};
    };
    if (auto done = narrow(range.first, request.lower_bound, "lower_bound", std::byte{0}); !done) {
        return base::fail(done.error());
    }
    if (auto done = narrow(range.last, request.upper_bound, "upper_bound", std::byte{0xFF});
        !done) {
        return base::fail(done.error());
    }
    return range;
}

Answer secondary_rows(const Moment& moment,
                      const RowsRequest& request,
                      const ContractAbi& abi,
                      std::uint64_t position) {
    auto kind = parse_key_kind(request.key_type);
    if (!kind) return refuse(kind.error());
    chain::TableId index = request.id;
    index.table.value = (index.table.value & ~std::uint64_t{0xF}) | (position & 0xFU);
    auto range = index_range(request, index, *kind);
    if (!range) return refuse(range.error());
    const IndexTable table = index_table(*kind);
    RowCollector collector(request, abi);
    TableWalk walk(*moment.state, table.table, std::move(*range));
    for (; walk.row() != nullptr && !collector.is_full(); walk.next()) {
        const std::uint64_t primary = chain::key_u64(walk.row()->key, 24 + table.key_bytes);
        const chain::Value row =
            moment.state->find(chain::Table::contract_row, chain::row_key(request.id, primary));
        if (row != nullptr) collector.add(*row);
        collector.count();
    }
    if (walk.row() == nullptr) return std::move(collector).finish(std::nullopt);
    const base::ByteView stored = chain::row_value(*walk.row()->value);
    return std::move(collector).finish(key_text(*kind, request.is_hex, stored));
}

Answer get_table_rows(const ApiContext& context, const Moment& moment, Params& params) {
    RowsRequest request = read_request(params);
    if (!params.ok()) return refuse(params.error());
    auto abi = find_contract_abi(context.abis, *moment.state, request.code, request.table);
    if (!abi) return refuse(abi.error());
    auto position = parse_position(request.index_position);
    if (!position) return refuse(position.error());
    auto scope = parse_key64(request.scope_text, "scope");
    if (!scope) return refuse(scope.error());
    request.id = {request.code, chain::Name{*scope}, request.table};
    request.time = context.response_time;
    if (request.time_limit_ms) {
        request.time = std::min(request.time, std::chrono::milliseconds(*request.time_limit_ms));
    }
    if (!*position) return primary_rows(moment, request, *abi);
    return secondary_rows(moment, request, *abi, **position);
}

Answer get_table_by_scope(const ApiContext& context, const Moment& moment, Params& params) {
    const chain::Name code = params.name("code");
    const chain::Name table = params.name("table");
    const std::string lower_text = params.text("lower_bound");
    const std::string upper_text = params.text("upper_bound");
    const std::uint32_t limit = std::min(params.u32("limit", 10), kRowsMax);
    const bool reverse = params.boolean("reverse");
    const auto time_limit = params.optional_u32("time_limit_ms");
    if (!params.ok()) return refuse(params.error());
    chain::TableId lower{code, {}, table};
    chain::TableId upper{code, {UINT64_MAX}, table.empty() ? chain::Name{UINT64_MAX} : table};
    if (!lower_text.empty()) {
        auto scope = parse_key64(lower_text, "lower_bound scope");
        if (!scope) return refuse(scope.error());
        lower.scope.value = *scope;
    }
    if (!upper_text.empty()) {
        auto scope = parse_key64(upper_text, "upper_bound scope");
        if (!scope) return refuse(scope.error());
        upper.scope.value = *scope;
    }
    const Deadline deadline(std::min(context.response_time,
                                     std::chrono::milliseconds(time_limit.value_or(UINT32_MAX))));
    Json rows = Json::array();
    TableWalk walk(*moment.state,
                   chain::Table::contract_table,
                   {base::to_bytes(chain::table_key(lower)),
                    base::to_bytes(chain::table_key(upper)),
                    reverse});
    // The limit counts tables looked at, as in nodeos.
    for (std::uint32_t count = 0; walk.row() != nullptr && count < limit; ++count, walk.next()) {
        if (count > 0 && deadline.is_over()) break;
        const chain::Name found{chain::key_u64(walk.row()->key, 16)};
        if (!table.empty() && found != table) continue;
        auto row = chain::decode_table(*walk.row()->value);
        if (!row) return refuse(row.error());
        rows.push_back({{"code", code.to_string()},
                        {"scope", chain::Name{chain::key_u64(walk.row()->key, 8)}.to_string()},
                        {"table", found.to_string()},
                        {"payer", row->payer.to_string()},
                        {"count", row->rows}});
    }
    const chain::Row* next = walk.row();
    return Json{
        {"rows", std::move(rows)},
        {"more",
         next == nullptr ? std::string() : chain::Name{chain::key_u64(next->key, 8)}.to_string()}};
}

}  // namespace

void add_chain_table_calls(Calls& calls) {
    calls.read({.path = "/v1/chain/get_table_rows", .need = Need::required}, get_table_rows);
    calls.read({.path = "/v1/chain/get_table_by_scope", .need = Need::required},
               get_table_by_scope);
}

}  // namespace node
