#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/vm/vm.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chain::vm {

struct FunctionType {
    std::vector<ValueType> params;
    std::optional<ValueType> result;

    friend auto operator<=>(const FunctionType&, const FunctionType&) = default;
};

// A module taken apart by scan(). Views borrow from the scanned bytes.
struct Module {
    struct Import {
        std::string name;
        std::uint32_t type = 0;
        std::uint32_t host = 0;  // Index in the host table.
    };
    struct Pages {
        std::uint32_t initial = 0;
        std::uint32_t maximum = 0;  // At most Limits::max_pages.
    };
    struct Global {
        ValueType type = ValueType::i32;
        bool is_mutable = false;
        std::uint64_t bits = 0;  // The constant itself; i32 zero-extended, floats as they stand.
    };
    struct Elements {
        std::uint32_t offset = 0;
        std::vector<std::uint32_t> functions;
    };
    struct Data {
        std::uint32_t offset = 0;
        base::ByteView bytes;
    };
    struct Body {
        std::vector<std::pair<std::uint32_t, ValueType>> locals;  // Runs, without parameters.
        base::ByteView code;                                      // With the final end.
        std::size_t offset = 0;                                   // In the module.
    };

    std::vector<FunctionType> types;
    std::vector<Import> imports;
    std::vector<std::uint32_t> functions;  // Types of the defined functions.
    std::optional<std::uint32_t> table;    // Its size.
    std::optional<Pages> memory;
    std::vector<Global> globals;
    std::uint32_t apply = 0;  // Index among all functions.
    std::optional<std::uint32_t> start;
    std::vector<Elements> elements;
    std::vector<Data> data;
    std::vector<Body> bodies;

    // The type of a function by its index among imported and defined ones; it exists.
    [[nodiscard]] const FunctionType& type_of(std::uint32_t function) const {
        const std::size_t imported = imports.size();
        return types[function < imported ? imports[function].type : functions[function - imported]];
    }
    [[nodiscard]] std::size_t function_count() const { return imports.size() + functions.size(); }
    [[nodiscard]] std::uint32_t initial_pages() const { return memory ? memory->initial : 0; }
    // One past the last byte that data segments write.
    [[nodiscard]] std::uint32_t data_end() const;
};

// The types of a function's parameters and locals by index. They stay runs: a body of a few
// bytes may declare thousands. Can be filled again without an allocation.
class Locals {
  public:
    Locals() = default;
    Locals(const FunctionType& type, const Module::Body& body) { assign(type, body); }

    // Fewer than 2^32 in all: scan() has checked the limit.
    void assign(const FunctionType& type, const Module::Body& body);
    [[nodiscard]] std::uint32_t count() const { return runs_.empty() ? 0 : runs_.back().end; }
    // `index` is below count().
    [[nodiscard]] ValueType type(std::uint32_t index) const {
        return index < first_.size() ? first_[index] : type_by_run(index);
    }

  private:
    struct Run {
        std::uint32_t end;  // One past its last index.
        ValueType type;
    };
    void add(std::uint32_t many, ValueType type);
    [[nodiscard]] ValueType type_by_run(std::uint32_t index) const;

    std::array<ValueType, 64> first_{};  // Of the first ones: no search.
    std::vector<Run> runs_;              // None is empty; neighbours differ in type.
};

// What scan() demands beyond WebAssembly's own rules.
struct ScanOptions {
    // An exported apply, and imports from "env" only. Off: WebAssembly's own tests.
    bool contract = true;
};

// Takes a module apart and checks all but the bodies of functions. invalid: with Antelope's
// exception number.
[[nodiscard]] base::Result<Module> scan(base::ByteView wasm,
                                        const Limits& limits,
                                        const HostTable& hosts,
                                        const ScanOptions& options = {});

// scan() and BodyValidator for each body.
[[nodiscard]] base::Result<Module> scan_and_validate(base::ByteView wasm,
                                                     const Limits& limits,
                                                     const HostTable& hosts,
                                                     const ScanOptions& options = {});

}  // namespace chain::vm
