// Rows: found, walked, changed and made, in tables of so many that they are not in a cache after
// a restart.
#include "pattern.hpp"

namespace patterns {

namespace {

constexpr const char* kSelf = "(local.get $self)";
constexpr const char* kRow = "(local.get $row)";
constexpr const char* kKey = "(local.get $key)";
constexpr const char* kIterator = "(local.get $a)";
constexpr const char* kKeyAt = "(i32.const 100)";
constexpr const char* kOut = "(i32.const 200)";
constexpr std::uint32_t kIndexTransactions = 4;  // That fill an index.

struct RowWork {
    std::string name;
    std::vector<std::string> imports;
    std::string body;
    std::string prepare = {};
    std::uint32_t prepared = 0;
    std::string init = {};
    std::uint32_t pages = 2;
};

void add(std::vector<Pattern>& out, const RowWork& work) {
    out.push_back({.name = work.name,
                   .module = module_of({.imports = work.imports,
                                        .pages = work.pages,
                                        .init = work.init,
                                        .body = work.body,
                                        .prepare = work.prepare},
                                       work.prepared),
                   .is_stored = true,
                   .prepared = work.prepared,
                   .count = 10,
                   .count_max = kCountMax});
}

std::string set_iterator(const std::string& value) {
    return "(local.set $a " + value + ")\n";
}

std::string store(const std::string& id, int bytes, const std::string& scope = "(i64.const 1)") {
    return expression("db_store_i64", {scope, i64(1), kSelf, id, i32(300), i32(bytes)});
}

void add_primary(std::vector<Pattern>& out) {
    constexpr std::uint32_t kTransactions = 20;
    const std::string row = "(drop " + store(kRow, 100) + ")";
    const std::string find = expression("db_find_i64", {kSelf, i64(1), i64(1), kRow});
    const std::vector<std::string> base{"db_store_i64", "db_find_i64"};
    const auto with =
        [&](const std::string& name, const std::string& function, const std::string& body) {
            auto imports = base;
            if (!function.empty()) imports.push_back(function);
            add(out, {name, imports, body, row, kTransactions});
        };
    const auto each = [&find](const std::string& call) { return set_iterator(find) + call; };
    with("db_find_i64 among 10,000 rows", "", "(drop " + find + ")");
    add(out, {"db_find_i64 among 50,000 rows", base, "(drop " + find + ")", row, 100});
    add(out,
        {"db_find_i64 of rows of 4 KB",
         base,
         "(drop " + find + ")",
         "(drop " + store(kRow, 4'000) + ")",
         8});
    with("db_find_i64 of rows that are not there",
         "",
         "(drop " + expression("db_find_i64", {kSelf, i64(1), i64(1), kKey}) + ")");
    with("db_find_i64 of tables that are not there",
         "",
         "(drop " + expression("db_find_i64", {kSelf, kKey, i64(1), kRow}) + ")");
    with("db_end_i64 of tables that are not there",
         "db_end_i64",
         call("db_end_i64", {kSelf, kKey, i64(1)}));
    with("db_lowerbound_i64 among 10,000 rows",
         "db_lowerbound_i64",
         call("db_lowerbound_i64", {kSelf, i64(1), i64(1), kRow}));
    with("db_upperbound_i64 among 10,000 rows",
         "db_upperbound_i64",
         call("db_upperbound_i64", {kSelf, i64(1), i64(1), kRow}));
    with("db_lowerbound_i64 of tables that are not there",
         "db_lowerbound_i64",
         call("db_lowerbound_i64", {kSelf, kKey, i64(1), kRow}));
    with("db_next_i64 by chance", "db_next_i64", each(call("db_next_i64", {kIterator, kOut})));
    with("db_previous_i64 by chance",
         "db_previous_i64",
         each(call("db_previous_i64", {kIterator, kOut})));
    with("db_get_i64 by chance",
         "db_get_i64",
         each(call("db_get_i64", {kIterator, i32(300), i32(100)})));
    with("db_update_i64 by chance",
         "db_update_i64",
         each(call("db_update_i64", {kIterator, i64(0), i32(300), i32(100)})));
    with("db_update_i64 to another length",
         "db_update_i64",
         each(call("db_update_i64",
                   {kIterator, i64(0), i32(300), "(i32.and (local.get $n) (i32.const 1023))"})));
    with("db_remove_i64 of new rows",
         "db_remove_i64",
         set_iterator(store("(i64.add (local.get $key) (i64.const 1000000))", 100)) +
             call("db_remove_i64", {kIterator}));
    // From one row to the next; from the start again at the end.
    auto walk = base;
    walk.insert(walk.end(), {"db_next_i64", "db_lowerbound_i64"});
    add(out,
        {"db_next_i64 in order",
         walk,
         "(if (i32.lt_s (local.get $a) (i32.const 0)) (then " +
             set_iterator(expression("db_lowerbound_i64", {kSelf, i64(1), i64(1), i64(0)})) + "))" +
             set_iterator(expression("db_next_i64", {kIterator, kOut})),
         row,
         kTransactions,
         set_iterator(i32(-1))});
}

void add_stores(std::vector<Pattern>& out) {
    const std::vector<std::string> base{"db_store_i64"};
    add(out, {"db_store_i64 of 100 bytes", base, "(drop " + store(kKey, 100) + ")"});
    add(out, {"db_store_i64 of nothing", base, "(drop " + store(kKey, 0) + ")"});
    add(out, {"db_store_i64 in new tables", base, "(drop " + store(i64(1), 0, kKey) + ")"});
    add(out, {"db_store_i64 of 1 MiB", base, "(drop " + store(kKey, 1 << 20) + ")", {}, 0, {}, 32});
}

struct Kind {
    std::string prefix;
    bool is_sized;  // Its keys are given with a length.
};

void add_index(std::vector<Pattern>& out, const Kind& kind) {
    const auto args = [&kind](std::vector<std::string> before,
                              const std::vector<std::string>& after = {}) {
        before.emplace_back(kKeyAt);
        if (kind.is_sized) before.push_back(i32(2));
        before.insert(before.end(), after.begin(), after.end());
        return before;
    };
    const auto key_of = [](const std::string& value) {
        return "(i64.store (i32.const 100) " + value + ")\n";
    };
    // Keys in another order than their rows.
    const std::string mixed =
        "(i64.and (i64.mul (local.get $row) (i64.const 7919)) (i64.const 0xfffff))";
    const std::string store = kind.prefix + "store";
    const std::string find = kind.prefix + "find_primary";
    const std::string row =
        key_of(mixed) + "(drop " + expression(store, args({i64(1), i64(1), kSelf, kRow})) + ")";
    const std::string seek = set_iterator(expression(find, args({kSelf, i64(1), i64(1)}, {kRow})));
    const auto with = [&](const std::string& function,
                          const std::string& body,
                          std::uint32_t prepared = kIndexTransactions) {
        add(out,
            {kind.prefix + function, {store, find, kind.prefix + function}, body, row, prepared});
    };
    const auto found = [&](const std::string& function) {
        with(function,
             key_of(mixed) + call(kind.prefix + function, args({kSelf, i64(1), i64(1)}, {kOut})));
    };
    found("find_secondary");
    found("lowerbound");
    found("upperbound");
    with("end", call(kind.prefix + "end", {kSelf, kKey, i64(1)}));
    with("next", seek + call(kind.prefix + "next", {kIterator, kOut}));
    with("previous", seek + call(kind.prefix + "previous", {kIterator, kOut}));
    with("update",
         seek + key_of("(i64.and (local.get $key) (i64.const 0xfffffff))") +
             call(kind.prefix + "update", args({kIterator, i64(0)})));
    with("remove",
         key_of(kKey) + set_iterator(expression(store, args({i64(1), i64(2), kSelf, kKey}))) +
             call(kind.prefix + "remove", {kIterator}));
    add(out,
        {find,
         {store, find},
         "(drop " + expression(find, args({kSelf, i64(1), i64(1)}, {kRow})) + ")",
         row,
         kIndexTransactions});
    add(out,
        {store,
         {store},
         key_of(mixed) + "(drop " + expression(store, args({i64(1), i64(2), kSelf, kKey})) + ")"});
}

}  // namespace

void add_rows(std::vector<Pattern>& out) {
    add_primary(out);
    add_stores(out);
    add_index(out, {"db_idx64_", false});
    add_index(out, {"db_idx256_", true});
    add_index(out, {"db_idx_long_double_", false});
}

}  // namespace patterns
