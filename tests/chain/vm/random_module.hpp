#pragma once

#include "base/rng.hpp"

#include <string>

// Valid modules made by chance, as text, that use every kind of instruction of the MVP.
class RandomModule {
  public:
    explicit RandomModule(std::uint64_t seed) : rng_(seed) {}

    std::string text();

  private:
    enum Type : unsigned { i32, i64, f32, f64 };
    static constexpr unsigned kFunctions = 4;
    static constexpr unsigned kLocalsEach = 2;

    std::string function(unsigned index);
    std::string apply();
    std::string statements(unsigned depth, unsigned many);
    std::string statement(unsigned depth);
    std::string value(Type type, unsigned depth);
    std::string leaf(Type type);
    std::string constant(Type type);
    std::string address(unsigned depth);
    std::string load(Type type, unsigned depth);
    std::string store(unsigned depth);
    std::string operation(Type type, unsigned depth);
    std::string comparison(unsigned depth);
    std::string conversion_to_i64(unsigned depth);
    std::string integer_operation(Type type, unsigned depth);
    std::string float_operation(Type type, unsigned depth);
    std::string call(Type result, unsigned depth);
    std::string local(Type type);
    std::string pick(std::initializer_list<const char*> names) {
        return *(names.begin() + rng_.below(names.size()));
    }
    bool chance(unsigned percent) { return rng_.below(100) < percent; }
    Type any_type() { return static_cast<Type>(rng_.below(4)); }

    base::Rng rng_;
    unsigned labels_ = 0;  // Open blocks without result, innermost first.
    Type returns_ = i32;   // Of the function being written.
    bool has_result_ = false;
};
