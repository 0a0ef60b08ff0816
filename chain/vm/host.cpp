#include "chain/vm/host.hpp"

#include "base/check.hpp"
#include "chain/vm/layout.hpp"

#include <algorithm>
#include <cstring>

namespace chain::vm {

std::optional<base::ByteView> Memory::read(std::uint32_t offset, std::uint32_t length) const {
    if (std::uint64_t{offset} + length > size_) return std::nullopt;
    return base::ByteView(data_ + offset, length);
}

std::optional<std::span<std::byte>> Memory::write(std::uint32_t offset, std::uint32_t length) {
    if (std::uint64_t{offset} + length > size_) return std::nullopt;
    if (dirty_ != nullptr && length > 0) {
        const std::uint32_t first = offset >> kDirtyShift;
        const std::uint32_t last = (offset + (length - 1)) >> kDirtyShift;
        std::memset(dirty_ + first, 1, last - first + 1);
    }
    return std::span<std::byte>(data_ + offset, length);
}

std::optional<std::string_view> Memory::c_string(std::uint32_t offset, std::uint32_t limit) const {
    if (offset >= size_) return std::nullopt;
    const std::uint64_t available =
        std::min<std::uint64_t>(size_ - offset, std::uint64_t{limit} + 1);
    const void* end = std::memchr(data_ + offset, 0, available);
    if (end == nullptr) return std::nullopt;
    const char* start = reinterpret_cast<const char*>(data_ + offset);
    return std::string_view(start, static_cast<std::size_t>(static_cast<const char*>(end) - start));
}

HostTable::HostTable(std::vector<HostFunction> functions) : functions_(std::move(functions)) {
    std::ranges::sort(functions_, {}, &HostFunction::name);
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        CHECK(functions_[i].call != nullptr);
        CHECK(i == 0 || functions_[i - 1].name != functions_[i].name);
    }
}

std::optional<std::uint32_t> HostTable::find(std::string_view name) const {
    const auto at = std::ranges::lower_bound(
        functions_, name, {}, [](const HostFunction& f) { return std::string_view(f.name); });
    if (at == functions_.end() || at->name != name) return std::nullopt;
    return static_cast<std::uint32_t>(at - functions_.begin());
}

}  // namespace chain::vm
