#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/vm/host.hpp"
#include "reference_numeric.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reference {

// A module of the WebAssembly MVP, decoded for the reference interpreter. Written from the
// specification, with its own reader; shares nothing with chain/vm but the names of types.
//
// It is no validator: what it is given was accepted by one. It refuses what it cannot read.

struct FunctionType {
    std::vector<chain::vm::ValueType> params;
    std::vector<chain::vm::ValueType> results;  // None or one.

    friend bool operator==(const FunctionType&, const FunctionType&) = default;
};

struct Instruction {
    std::uint8_t opcode = 0;
    Class price = Class::plain;
    bool closes_if = false;       // Of an end.
    bool is_target = false;       // Of an end: a branch that can be reached leads there.
    std::uint32_t index = 0;      // Label, local, global, function or type; offset of an access.
    std::uint64_t bits = 0;       // Of a constant.
    std::uint32_t results = 0;    // Of block, loop and if: 0 or 1.
    std::uint32_t end = 0;        // Of block, loop, if and else: where their `end` stands.
    std::uint32_t otherwise = 0;  // Of an if: where its `else` stands; its `end` without one.
    std::vector<std::uint32_t> labels;  // Of br_table, the default last.
};

// Behind which instructions a compiler that charges by blocks begins a new block (spec 03,
// "Metering"): all of them; tests take one away to see that the difference shows. The beginning
// of a function is always a leader.
struct Leaders {
    bool after_loop = true;
    bool after_if = true;
    bool after_else = true;
    bool after_br_if = true;
    bool after_call = true;
    bool after_call_indirect = true;
    bool after_memory_grow = true;
    bool after_end_of_if = true;
    bool after_target = true;
};
[[nodiscard]] bool is_followed_by_leader(const Instruction& instruction, const Leaders& leaders);

struct Function {
    std::uint32_t type = 0;
    std::vector<chain::vm::ValueType> locals;  // Without parameters.
    std::vector<Instruction> code;             // The last is the function's `end`.
    // Values on the operand stack at most, by the validator's count. Code behind br, br_table,
    // return and unreachable up to the end (or else) of its block does not count.
    std::uint32_t height_max = 0;
};

struct Import {
    std::string from;
    std::string name;
    std::uint8_t kind = 0;  // 0 function, 1 table, 2 memory, 3 global.
    std::uint32_t type = 0;
};

struct Global {
    chain::vm::ValueType type{};
    bool is_mutable = false;
    std::uint64_t bits = 0;
};

struct Export {
    std::string name;
    std::uint8_t kind = 0;  // As of Import.
    std::uint32_t index = 0;
};

struct Pages {
    std::uint32_t initial = 0;
    std::optional<std::uint32_t> maximum;
};

struct Elements {
    std::uint32_t offset = 0;
    std::vector<std::uint32_t> functions;
};

struct Data {
    std::uint32_t offset = 0;
    base::Bytes bytes;
};

struct Module {
    std::vector<FunctionType> types;
    std::vector<Import> imports;
    std::vector<Function> functions;
    std::optional<std::uint32_t> table;  // Elements.
    std::optional<Pages> memory;
    std::vector<Global> globals;
    std::vector<Export> exports;
    std::optional<std::uint32_t> start;
    std::vector<Elements> elements;
    std::vector<Data> data;

    [[nodiscard]] const FunctionType& type_of(std::uint32_t function) const;
    // Of kind 0; nothing: no such export.
    [[nodiscard]] const Export* find_export(std::string_view name, std::uint8_t kind) const;
    // Where the last data segment ends.
    [[nodiscard]] std::uint64_t data_end() const;
};

// malformed: it cannot be read. invalid: it imports something that is no function, or its
// segments use a global: no contract does, so that this interpreter does not know it.
[[nodiscard]] base::Result<Module> decode(base::ByteView wasm);

// A reader of the binary format. After the first error everything read is zero.
class ByteReader {
  public:
    explicit ByteReader(base::ByteView bytes) : bytes_(bytes) {}

    std::uint8_t byte();
    std::uint32_t u32();  // LEB128.
    std::int32_t s32();
    std::int64_t s64();
    std::uint64_t fixed(unsigned bytes);
    base::ByteView take(std::size_t bytes);
    std::string name();

    [[nodiscard]] bool is_done() const { return failed_ || at_ == bytes_.size(); }
    [[nodiscard]] bool has_failed() const { return failed_; }
    void fail() { failed_ = true; }

  private:
    std::uint64_t leb(bool is_signed);

    base::ByteView bytes_;
    std::size_t at_ = 0;
    bool failed_ = false;
};

// Reads the instructions of `out`, whose type and locals are set, and plans them: where blocks
// end, how high the operand stack gets, which ends are branched to. False: unreadable.
[[nodiscard]] bool decode_body(ByteReader& in, const Module& module, Function& out);

}  // namespace reference
