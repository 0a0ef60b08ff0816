#pragma once

#include "host_machine.hpp"

#include <catch2/catch.hpp>

namespace host_test {

// A machine whose misuse fails the test.
class Host : public Machine {
  public:
    using Machine::Machine;

    // Calls a host function; nothing when it stopped the contract.
    std::optional<std::uint64_t> call(std::string_view name,
                                      std::initializer_list<std::uint64_t> args = {}) {
        REQUIRE(chain::host_table().find(name).has_value());
        REQUIRE(function(name).params.size() == args.size());
        return run(function(name), std::data(args));
    }
    // Calls what must succeed, and gives an i32 result.
    std::int32_t i32(std::string_view name, std::initializer_list<std::uint64_t> args = {}) {
        const auto result = call(name, args);
        CAPTURE(name, failure());
        REQUIRE(result.has_value());
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(*result));
    }
};

// "number text" of a failure, for comparisons.
[[nodiscard]] inline std::string failed(chain::Exception exception, std::string_view text) {
    return std::to_string(static_cast<std::uint32_t>(exception)) + " " + std::string(text);
}

}  // namespace host_test
