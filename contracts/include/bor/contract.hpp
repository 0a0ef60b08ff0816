#pragma once

#include <bor/action.hpp>

#include <tuple>
#include <type_traits>

namespace bor {

// What an action runs in. A contract derives from it, has a member function per action, and exports
//
//     extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
//         bor::Dispatcher<Token>(receiver, code, action)
//             .on<&Token::transfer>("transfer"_n)
//             .on_notify<&Token::heard>("other"_n, "transfer"_n);
//     }
//
// Arguments are decoded from the action's data, in order; bytes after the last are ignored. A
// result that is not void becomes the action's return value. An action of another name does
// nothing.
class Contract {
  public:
    // `data` outlives the contract.
    Contract(Name self, Name first_receiver, const Bytes& data)
        : self_(self), first_receiver_(first_receiver), arguments_(data) {}

    // The account whose code runs.
    [[nodiscard]] Name self() const { return self_; }
    // The account that the action was sent to; another one than self() in a notification.
    [[nodiscard]] Name first_receiver() const { return first_receiver_; }

  protected:
    // The action's data behind the arguments that were decoded.
    Reader& arguments() { return arguments_; }

  private:
    template <class>
    friend class Dispatcher;
    Name self_;
    Name first_receiver_;
    Reader arguments_;
};

template <class Class, class Result, class... Arguments>
std::tuple<std::remove_cvref_t<Arguments>...> arguments_of(Result (Class::*)(Arguments...));
template <class Class, class Result, class... Arguments>
std::tuple<std::remove_cvref_t<Arguments>...> arguments_of(Result (Class::*)(Arguments...) const);

template <class ContractType>
class Dispatcher {
  public:
    Dispatcher(uint64_t receiver, uint64_t code, uint64_t action)
        : receiver_(receiver), code_(code), action_(action) {}

    // Runs `Member` for an action of this name that was sent to this account.
    template <auto Member>
    Dispatcher& on(Name action) {
        if (receiver_ == code_ && action == action_) run<Member>();
        return *this;
    }
    // Runs `Member` when this account is notified of an action of `code`.
    template <auto Member>
    Dispatcher& on_notify(Name code, Name action) {
        if (receiver_ != code_ && code == code_ && action == action_) run<Member>();
        return *this;
    }

  private:
    template <auto Member>
    __attribute__((noinline)) void run() {
        const Bytes data = action_data();
        ContractType contract(receiver_, code_, data);
        decltype(arguments_of(Member)) arguments;
        std::apply([&](auto&... each) { (decode(contract.arguments_, each), ...); }, arguments);
        const auto call = [&](auto&... each) { return (contract.*Member)(each...); };
        if constexpr (std::is_void_v<decltype(std::apply(call, arguments))>) {
            std::apply(call, arguments);
        } else {
            set_return_value(pack(std::apply(call, arguments)));
        }
    }

    Name receiver_;
    Name code_;
    Name action_;
};

}  // namespace bor
