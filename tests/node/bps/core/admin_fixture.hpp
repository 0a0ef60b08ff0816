#pragma once

#include "tests/node/bps/core/broker_fixture.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace support {

// alice asks broker 1, to which she and the owner of topic `t` delegated everything; her own topic
// is `a.x` with id 5 and two partitions. carol has delegated nothing.
struct AdminFixture : BrokerFixture {
    AdminFixture() {
        view.topic({.id = 5, .name = "a.x", .owner = "alice"_n, .partitions = 2, .settings = {}});
        view.partition({5, 0}, 3);
        view.partition({5, 1}, 4);
        for (const chain::Name owner : {"alice"_n, ChainView::kOwner}) {
            view.delegate(owner,
                          {"createtopic"_n,
                           "altertopic"_n,
                           "deletetopic"_n,
                           "addparts"_n,
                           "deleterecs"_n,
                           "reassign"_n,
                           "grant"_n,
                           "revoke"_n});
        }
        view.on_final(now);
    }
    // The arguments of the last call.
    template <class Action>
    Action called() {
        REQUIRE_FALSE(effects.calls.empty());
        REQUIRE(effects.calls.back().action == Action::kName);
        const auto action = chain::unpack<Action>(effects.calls.back().data, "action");
        REQUIRE(action.has_value());
        return *action;
    }
    // The last call is in a final block.
    void finish() { finish(effects.calls.back().ticket); }
    void finish(std::uint64_t ticket) {
        broker->on_called(ticket, {}, effects);
        broker->check_invariants();
    }
    // The contract has refused the last call.
    void refuse(const std::string& text) {
        broker->on_called(effects.calls.back().ticket,
                          bps::refuse(bps::ErrorCode::policy_violation, text),
                          effects);
        broker->check_invariants();
    }
    // What is answered at once.
    template <class Response>
    Response answer(std::int16_t version, const bps::Request& request) {
        return decoded<Response>(ask(version, request), version);
    }
};

// Code and text of an item.
template <class Item>
std::pair<bps::ErrorCode, std::string> outcome(const Item& item) {
    return {item.error_code, std::string(item.error_message.value_or(""))};
}

}  // namespace support
