#include "reference_module.hpp"

#include <algorithm>

namespace reference {

namespace {

using chain::vm::ValueType;

// Reads sections into a Module.
class Decoder {
  public:
    base::Result<Module> run(base::ByteView wasm);

  private:
    void section(std::uint8_t id, ByteReader& in);
    void types(ByteReader& in);
    void imports(ByteReader& in);
    void functions(ByteReader& in);
    void table(ByteReader& in);
    void memory(ByteReader& in);
    void globals(ByteReader& in);
    void exports(ByteReader& in);
    void elements(ByteReader& in);
    void code(ByteReader& in);
    void data(ByteReader& in);

    ValueType value_type(ByteReader& in);
    std::vector<ValueType> value_types(ByteReader& in);
    std::uint64_t constant(ByteReader& in);

    Module out_;
    std::string foreign_;  // Something that contracts do not have.
};

// Calls `read` as often as the number says that stands first.
template <class Read>
void repeat(ByteReader& in, Read read) {
    const std::uint32_t many = in.u32();
    for (std::uint32_t i = 0; i < many && !in.has_failed(); ++i)
        read();
}

base::Result<Module> Decoder::run(base::ByteView wasm) {
    ByteReader in(wasm);
    if (in.fixed(8) != 0x000000016D736100U) in.fail();
    while (!in.is_done() && foreign_.empty()) {
        const std::uint8_t id = in.byte();
        ByteReader content(in.take(in.u32()));
        if (in.has_failed() || id == 0) continue;
        section(id, content);
        if (content.has_failed() || (!content.is_done() && foreign_.empty())) in.fail();
    }
    if (!foreign_.empty()) return base::fail(base::Errc::invalid, foreign_);
    if (in.has_failed()) return base::fail(base::Errc::malformed, "unreadable module");
    return std::move(out_);
}

void Decoder::section(std::uint8_t id, ByteReader& in) {
    using Read = void (Decoder::*)(ByteReader&);
    static constexpr Read kReaders[] = {&Decoder::types,
                                        &Decoder::imports,
                                        &Decoder::functions,
                                        &Decoder::table,
                                        &Decoder::memory,
                                        &Decoder::globals,
                                        &Decoder::exports,
                                        nullptr,
                                        &Decoder::elements,
                                        &Decoder::code,
                                        &Decoder::data};
    if (id == 8) {
        out_.start = in.u32();
    } else if (id <= std::size(kReaders)) {
        (this->*kReaders[id - 1])(in);
    } else {
        in.fail();
    }
}

ValueType Decoder::value_type(ByteReader& in) {
    switch (in.byte()) {
        case 0x7F:
            return ValueType::i32;
        case 0x7E:
            return ValueType::i64;
        case 0x7D:
            return ValueType::f32;
        case 0x7C:
            return ValueType::f64;
        default:
            in.fail();
            return ValueType::i32;
    }
}

std::vector<ValueType> Decoder::value_types(ByteReader& in) {
    std::vector<ValueType> out;
    repeat(in, [&] { out.push_back(value_type(in)); });
    return out;
}

// The value of a global, or where a segment begins.
std::uint64_t Decoder::constant(ByteReader& in) {
    std::uint64_t bits = 0;
    switch (in.byte()) {
        case 0x41:
            bits = static_cast<std::uint32_t>(in.s32());
            break;
        case 0x42:
            bits = static_cast<std::uint64_t>(in.s64());
            break;
        case 0x43:
            bits = in.fixed(4);
            break;
        case 0x44:
            bits = in.fixed(8);
            break;
        case 0x23:
            foreign_ = "a global's value is used as a constant";
            break;
        default:
            in.fail();
    }
    if (foreign_.empty() && in.byte() != 0x0B) in.fail();
    return bits;
}

void Decoder::types(ByteReader& in) {
    repeat(in, [&] {
        if (in.byte() != 0x60) in.fail();
        FunctionType type;
        type.params = value_types(in);
        type.results = value_types(in);
        if (type.results.size() > 1) in.fail();
        out_.types.push_back(std::move(type));
    });
}

void Decoder::imports(ByteReader& in) {
    repeat(in, [&] {
        Import import;
        import.from = in.name();
        import.name = in.name();
        import.kind = in.byte();
        constexpr const char* kKinds[] = {"function", "table", "memory", "global"};
        if (import.kind == 0) {
            import.type = in.u32();
            if (import.type >= out_.types.size()) in.fail();
            out_.imports.push_back(std::move(import));
        } else if (import.kind < std::size(kKinds)) {
            foreign_ = std::string("imports a ") + kKinds[import.kind];
            in.fail();
        } else {
            in.fail();
        }
    });
}

void Decoder::functions(ByteReader& in) {
    repeat(in, [&] {
        Function function;
        function.type = in.u32();
        if (function.type >= out_.types.size()) in.fail();
        out_.functions.push_back(std::move(function));
    });
}

void Decoder::table(ByteReader& in) {
    repeat(in, [&] {
        if (in.byte() != 0x70) in.fail();
        const bool has_maximum = in.byte() == 1;
        out_.table = in.u32();
        if (has_maximum) in.u32();
    });
}

void Decoder::memory(ByteReader& in) {
    repeat(in, [&] {
        const bool has_maximum = in.byte() == 1;
        Pages pages;
        pages.initial = in.u32();
        if (has_maximum) pages.maximum = in.u32();
        out_.memory = pages;
    });
}

void Decoder::globals(ByteReader& in) {
    repeat(in, [&] {
        Global global;
        global.type = value_type(in);
        global.is_mutable = in.byte() == 1;
        global.bits = constant(in);
        if (!foreign_.empty()) in.fail();
        out_.globals.push_back(global);
    });
}

void Decoder::exports(ByteReader& in) {
    repeat(in, [&] {
        Export found;
        found.name = in.name();
        found.kind = in.byte();
        found.index = in.u32();
        out_.exports.push_back(std::move(found));
    });
}

void Decoder::elements(ByteReader& in) {
    repeat(in, [&] {
        if (in.u32() != 0) in.fail();
        Elements segment;
        segment.offset = static_cast<std::uint32_t>(constant(in));
        if (!foreign_.empty()) in.fail();
        repeat(in, [&] { segment.functions.push_back(in.u32()); });
        out_.elements.push_back(std::move(segment));
    });
}

void Decoder::code(ByteReader& in) {
    std::size_t next = 0;
    repeat(in, [&] {
        ByteReader body(in.take(in.u32()));
        if (in.has_failed() || next == out_.functions.size()) return in.fail();
        Function& function = out_.functions[next++];
        repeat(body, [&] {
            const std::uint32_t many = body.u32();
            const ValueType type = value_type(body);
            constexpr std::uint32_t kManyLocals = 100'000;  // Far above any limit.
            if (many > kManyLocals) return body.fail();
            function.locals.insert(function.locals.end(), many, type);
        });
        if (!decode_body(body, out_, function)) in.fail();
    });
}

void Decoder::data(ByteReader& in) {
    repeat(in, [&] {
        if (in.u32() != 0) in.fail();
        Data segment;
        segment.offset = static_cast<std::uint32_t>(constant(in));
        if (!foreign_.empty()) in.fail();
        segment.bytes = base::to_bytes(in.take(in.u32()));
        out_.data.push_back(std::move(segment));
    });
}

}  // namespace

const FunctionType& Module::type_of(std::uint32_t function) const {
    if (function < imports.size()) return types[imports[function].type];
    return types[functions[function - imports.size()].type];
}

const Export* Module::find_export(std::string_view name, std::uint8_t kind) const {
    const auto at = std::ranges::find_if(
        exports, [&](const Export& found) { return found.name == name && found.kind == kind; });
    return at == exports.end() ? nullptr : &*at;
}

std::uint64_t Module::data_end() const {
    std::uint64_t end = 0;
    for (const Data& segment : data)
        end = std::max(end, std::uint64_t{segment.offset} + segment.bytes.size());
    return end;
}

base::Result<Module> decode(base::ByteView wasm) {
    return Decoder().run(wasm);
}

std::uint8_t ByteReader::byte() {
    const base::ByteView one = take(1);
    return one.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(one[0]);
}

std::uint64_t ByteReader::leb(bool is_signed) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t next = 0;
    do {
        next = byte();
        if (shift < 64) value |= std::uint64_t{next & 0x7FU} << shift;
        shift += 7;
    } while ((next & 0x80U) != 0 && !failed_);
    if (is_signed && shift < 64 && (next & 0x40U) != 0) value |= ~std::uint64_t{0} << shift;
    return failed_ ? 0 : value;
}

std::uint32_t ByteReader::u32() {
    return static_cast<std::uint32_t>(leb(false));
}

std::int32_t ByteReader::s32() {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(leb(true)));
}

std::int64_t ByteReader::s64() {
    return static_cast<std::int64_t>(leb(true));
}

std::uint64_t ByteReader::fixed(unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
        value |= std::uint64_t{byte()} << (8 * i);
    return value;
}

base::ByteView ByteReader::take(std::size_t bytes) {
    if (failed_ || bytes > bytes_.size() - at_) {
        failed_ = true;
        return {};
    }
    at_ += bytes;
    return bytes_.subspan(at_ - bytes, bytes);
}

std::string ByteReader::name() {
    const base::ByteView bytes = take(u32());
    return std::string(base::as_text(bytes));
}

}  // namespace reference
