#include "chain/execution/host_thunk.hpp"

#include "chain/execution/apply_context.hpp"

namespace chain::host {

base::Result<void> Call::charge(std::uint64_t units) const {
    if (meter.charge(units)) return {};
    return fail(Exception::tx_cpu_usage_exceeded, "no units left");
}

const Price& Call::price(Cost cost) const {
    return detail::price_of(context, cost);
}

base::crypto::GoesOn Call::goes_on() const {
    return {[](void* whom) { return static_cast<vm::Meter*>(whom)->goes_on(); }, &meter};
}

base::Result<void> done(bool succeeded) {
    if (succeeded) return {};
    return base::fail(base::Errc::invalid, "the context has the reason");
}

base::Result<void> must_write(const Call& call, std::string_view function) {
    if (!call.context.read_only()) return {};
    return fail(Exception::wasm_execution_error,
                std::string(function) + " not allowed in a readonly transaction");
}

std::int32_t copy_out(base::ByteView bytes, const Output& out) {
    if (out.bytes.empty()) return static_cast<std::int32_t>(bytes.size());
    const std::size_t count = std::min(bytes.size(), out.bytes.size());
    std::copy_n(bytes.begin(), count, out.bytes.begin());
    return static_cast<std::int32_t>(count);
}

Fault Argument<CString>::parse(Parsing& parsing, const std::uint64_t* slots, CString& out) {
    constexpr std::uint32_t kPiece = 1024 * 1024;  // Searched without a look at the clock.
    const auto offset = static_cast<std::uint32_t>(slots[0]);
    const std::uint64_t left =
        parsing.memory.size() - std::min<std::uint64_t>(offset, parsing.memory.size());
    const auto limit = static_cast<std::uint32_t>(std::min(left, parsing.payable));
    std::optional<std::string_view> text;
    for (std::uint32_t begin = 0; !text && begin <= limit; begin += kPiece) {
        if (!parsing.meter.goes_on()) return Fault::stopped;
        text = parsing.memory.c_string(offset + begin, std::min(limit - begin, kPiece - 1));
        if (text) out.text = {text->data() - begin, text->size() + begin};
    }
    parsing.bytes += text ? out.text.size() : limit;
    if (text) return Fault::none;
    return limit < left ? Fault::unpaid : Fault::access_violation;
}

Fault Argument<CopyRange>::parse(Parsing& parsing, const std::uint64_t* slots, CopyRange& out) {
    out.to_offset = static_cast<std::uint32_t>(slots[0]);
    out.from_offset = static_cast<std::uint32_t>(slots[1]);
    const auto length = static_cast<std::uint32_t>(slots[2]);
    const auto to = parsing.memory.write(out.to_offset, length);
    const auto from = parsing.memory.read(out.from_offset, length);
    // Even a copy of nothing must name a byte that exists.
    if (!to || !from || !parsing.memory.read(out.to_offset, 1)) return Fault::access_violation;
    out.to = *to;
    out.from = *from;
    parsing.bytes += length;
    return Fault::none;
}

Fault Argument<CompareRange>::parse(Parsing& parsing,
                                    const std::uint64_t* slots,
                                    CompareRange& out) {
    const auto length = static_cast<std::uint32_t>(slots[2]);
    const auto left = parsing.memory.read(static_cast<std::uint32_t>(slots[0]), length);
    const auto right = parsing.memory.read(static_cast<std::uint32_t>(slots[1]), length);
    if (!left || !right) return Fault::access_violation;
    out.left = *left;
    out.right = *right;
    parsing.bytes += length;
    return Fault::none;
}

Fault Argument<FillRange>::parse(Parsing& parsing, const std::uint64_t* slots, FillRange& out) {
    out.to_offset = static_cast<std::uint32_t>(slots[0]);
    out.value = static_cast<std::int32_t>(static_cast<std::uint32_t>(slots[1]));
    const auto length = static_cast<std::uint32_t>(slots[2]);
    const auto to = parsing.memory.write(out.to_offset, length);
    if (!to || !parsing.memory.read(out.to_offset, 1)) return Fault::access_violation;
    out.to = *to;
    parsing.bytes += length;
    return Fault::none;
}

namespace detail {

bool refuse(ApplyContext& context, Fault fault) {
    switch (fault) {
        case Fault::null_pointer:
            return context.fail(Exception::wasm_execution_error,
                                "references cannot be created for null pointers");
        case Fault::overflow:
            return context.fail(Exception::wasm_execution_error, "eos-vm system failure");
        case Fault::none:
        case Fault::unpaid:
        case Fault::stopped:
        case Fault::access_violation:
            break;
    }
    return context.fail(Exception::wasm_execution_error, "access violation");
}

bool refuse_overlap(ApplyContext& context) {
    return context.fail(Exception::wasm_exception, "pointers not allowed to alias");
}

bool may_call(ApplyContext& context, Access access) {
    if (access == Access::context_free) {
        return context.context_free() ||
               context.fail(Exception::unaccessible_api,
                            "this API may only be called from context_free apply");
    }
    if (access != Access::anyone && context.context_free()) {
        return context.fail(Exception::unaccessible_api,
                            "only context free api's can be used in this context");
    }
    if (access == Access::privileged && !context.privileged()) {
        return context.fail(
            Exception::unaccessible_api,
            context.receiver().to_string() + " does not have permission to call this API");
    }
    return true;
}

bool stop_with(ApplyContext& context, const vm::Meter& meter, const base::Error& error) {
    // Running out of units is reported by the executor, with the limit that was reached.
    if (meter.exhausted() || context.has_failed()) return false;
    return context.fail(error);
}

const Price& price_of(ApplyContext& context, Cost cost) {
    return context.transaction().prices()[cost];
}

std::uint64_t payable_bytes(const vm::Meter& meter, const Price& price) {
    constexpr std::uint64_t kMemoryMax = std::uint64_t{1} << 32U;
    if (price.kibibyte == 0 || meter.remaining() > kMemoryMax * price.kibibyte / 1'024) {
        return kMemoryMax;
    }
    return meter.remaining() * 1'024 / price.kibibyte;
}

ApplyContext& apply_context(vm::Context& context) {
    return static_cast<ApplyContext&>(context);
}

bool overlap(std::span<const base::ByteView> ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        for (std::size_t j = i + 1; j < ranges.size(); ++j) {
            const base::ByteView first =
                ranges[i].data() <= ranges[j].data() ? ranges[i] : ranges[j];
            const base::ByteView second =
                ranges[i].data() <= ranges[j].data() ? ranges[j] : ranges[i];
            const bool apart = first.data() + first.size() <= second.data();
            if (!apart && !second.empty()) return true;
        }
    }
    return false;
}

}  // namespace detail

}  // namespace chain::host
