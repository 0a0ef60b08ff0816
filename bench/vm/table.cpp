#include "table.hpp"

#include "../../tests/chain/vm/machine.hpp"
#include "bench/price/clock.hpp"
#include "cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace vm_bench {

namespace {

// Where the worst use of a price should lie, in nanoseconds a unit. Between them it stays.
constexpr double kLowest = 0.1;
constexpr double kHighest = 2;
constexpr double kWanted = 1.5;  // Of a new price.

struct Row {
    const Case* what = nullptr;
    Spent warm;
    Spent cold;
    double each = 0;  // Nanoseconds of one item, beyond what all else in the run pays.

    // Starting is paid for the worst way to do it.
    [[nodiscard]] double ratio() const {
        return what->whole ? std::max(warm.ratio(), cold.ratio()) : warm.ratio();
    }
};

// No run comes without an action and the use of a contract that was loaded before.
double units_of_action() {
    const chain::PriceTable prices;
    return prices[chain::Cost::action].base + prices[chain::Cost::load].base;
}

const chain::PriceInfo& info_of(chain::Cost row) {
    return chain::price_infos()[static_cast<std::size_t>(row)];
}

double each(const Row& row, const Spent& spent) {
    const Case& one = *row.what;
    const double others = spent.units - one.items * info_of(one.row).normal.base;
    return std::max(0.0, spent.nanoseconds - others) / one.items;
}

Row measure(Bench& bench, const Case& one, double scale) {
    constexpr int kRounds = 9;
    const base::Bytes wasm = machine::assemble(one.text);
    Row row{&one, {}, {}, 0};
    if (one.whole) {
        row.warm = bench.in_turns(wasm, one.other.empty() ? wasm : machine::assemble(one.other));
    } else {
        row.warm = bench.warm(wasm, kRounds);
    }
    row.cold = bench.cold(wasm);
    row.cold.units += units_of_action();
    row.warm.nanoseconds *= scale;
    row.cold.nanoseconds *= scale;
    row.each = each(row, row.warm);
    if (one.whole) row.each = std::max(row.each, each(row, row.cold));
    bench.forget();
    return row;
}

void print(const Row& row) {
    std::printf("%-12s %8.2f %8.2f %11.1f %11.0f %9.2f  %s\n",
                std::string(info_of(row.what->row).name).c_str(),
                row.warm.ratio(),
                row.cold.ratio(),
                row.warm.nanoseconds,
                row.warm.units,
                row.each,
                row.what->label.c_str());
}

struct Shape {
    const char* name;
    const char* statement;
    const char* locals;
};

// Modules of so many bytes.
std::string of_size(const Shape& shape, std::size_t bytes) {
    std::string text = "(module (memory 1) (func (export \"apply\") (param i64 i64 i64)) (func " +
                       std::string(shape.locals);
    const std::size_t each =
        machine::assemble("(module (memory 1) (func " + std::string(shape.locals) +
                          repeated(shape.statement, 100) + "))")
            .size();
    text += repeated(shape.statement, static_cast<unsigned>(bytes * 100 / each));
    return text + "))";
}

void print_loading(Bench& bench, double scale) {
    constexpr std::array kShapes{
        Shape{"additions", "(local.set 0 (i32.add (local.get 0) (i32.const 7)))", "(local i32)"},
        Shape{
            "stores", "(i64.store offset=8 (local.get 0) (i64.load (local.get 0)))", "(local i32)"},
        Shape{"ifs", "(if (local.get 0) (then (local.set 0 (i32.const 1))))", "(local i32)"},
        Shape{"calls", "(call 0 (i64.const 1) (i64.const 2) (i64.const 3))", ""},
        Shape{"f64.sqrt", "(local.set 0 (f64.sqrt (f64.sqrt (local.get 0))))", "(local f64)"},
        Shape{"i64.clz", "(local.set 0 (i64.clz (i64.clz (local.get 0))))", "(local i64)"},
        Shape{"i64.div_s",
              "(local.set 0 (i64.div_s (local.get 0) (local.get 1)))",
              "(local i64 i64)"}};
    std::printf("\nloading: from a module to code that can run\n%8s %11s %11s %9s  %s\n",
                "ns/unit",
                "ns",
                "units",
                "ns/byte",
                "what");
    const chain::PriceTable prices;
    for (const Shape& shape : kShapes) {
        for (const std::size_t kib : {8U, 64U, 500U}) {
            const base::Bytes wasm = machine::assemble(of_size(shape, kib * 1'024));
            double least = 0;
            for (int i = 0; i < 5; ++i) {
                const double took = scale * bench.load(wasm);
                if (i == 0 || took < least) least = took;
            }
            const auto units = static_cast<double>(prices[chain::Cost::load].of(wasm.size()));
            std::printf("%8.2f %11.0f %11.0f %9.1f  %s, %zu KiB\n",
                        least / units,
                        least,
                        units,
                        least / static_cast<double>(wasm.size()),
                        shape.name,
                        wasm.size() / 1'024);
        }
    }
}

// Up, to two digits.
std::uint32_t rounded(double price) {
    const double step = std::pow(10, std::max(0.0, std::floor(std::log10(price)) - 1));
    return static_cast<std::uint32_t>(std::max(1.0, std::ceil(price / step) * step));
}

std::string number(std::uint32_t value) {
    std::string text = std::to_string(value);
    if (value < 1'000) return text;
    for (std::size_t at = text.size(); at > 3;)
        text.insert(at -= 3, "'");
    return text;
}

std::string suggested(const chain::PriceInfo& info, const std::vector<Row>& rows) {
    const Row* worst = nullptr;
    for (const Row& row : rows) {
        if (row.what->row != info.cost) continue;
        if (worst == nullptr || row.ratio() > worst->ratio()) worst = &row;
    }
    if (worst == nullptr) return "not measured here";
    char text[160];
    const double ratio = worst->ratio();
    const std::uint32_t price =
        ratio >= kLowest && ratio <= kHighest ? info.normal.base : rounded(worst->each / kWanted);
    std::snprintf(
        text, sizeof(text), "now %s, worst %.2f", number(info.normal.base).c_str(), ratio);
    return number(price) + "|" + text;
}

void print_table(const std::vector<Row>& rows) {
    std::printf("\nthe table that these figures ask for, in the form of chain/types/prices.cpp\n");
    for (const chain::PriceInfo& info : chain::price_infos()) {
        const std::string name(info.name);
        std::string base = number(info.normal.base);
        std::string note = suggested(info, rows);
        if (const std::size_t bar = note.find('|'); bar != std::string::npos) {
            base = note.substr(0, bar);
            note.erase(0, bar + 1);
        }
        if (info.is_sized) base += ", " + number(info.normal.kibibyte);
        std::printf("    %s(Cost::%s, \"%s\", %s),  // %s\n",
                    info.is_sized ? "sized" : "fixed",
                    name.c_str(),
                    name.c_str(),
                    base.c_str(),
                    note.c_str());
    }
}

}  // namespace

void print_prices(Bench& bench, const std::string& wanted) {
    std::vector<Case> all;
    add_integer_cases(all);
    add_float_cases(all);
    add_memory_cases(all);
    add_control_cases(all);
    add_start_cases(all);
    const double scale = price::reference_scale();
    std::vector<Row> rows;
    for (const Case& one : all) {
        if (one.label.find(wanted) != std::string::npos ||
            info_of(one.row).name.find(wanted) != std::string::npos) {
            rows.push_back(measure(bench, one, scale));
        }
    }
    std::ranges::stable_sort(rows, [](const Row& left, const Row& right) {
        if (left.what->row != right.what->row) return left.what->row < right.what->row;
        return left.ratio() > right.ratio();
    });
    std::printf("a nanosecond here is %.2f on the reference machine\n", scale);
    std::printf("%-12s %8s %8s %11s %11s %9s  %s\n",
                "price",
                "ns/unit",
                "cold",
                "ns",
                "units",
                "ns each",
                "what, by the loop's body; cold: one action in all");
    for (const Row& row : rows)
        print(row);
    print_loading(bench, scale);
    print_table(rows);
}

}  // namespace vm_bench
