#include "chain/types/time.hpp"

#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace chain {

namespace {

constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;
constexpr std::int64_t kSecondsPerDay = 86'400;

std::string seconds_to_string(std::int64_t seconds) {
    const std::chrono::sys_days day{std::chrono::days{seconds / kSecondsPerDay}};
    const std::chrono::year_month_day date{day};
    const std::int64_t rest = seconds % kSecondsPerDay;
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                       static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()),
                       rest / 3600,
                       rest / 60 % 60,
                       rest % 60);
}

// Times before 1970 in boost's form of a duration, which nodeos prints: "-000001.500000".
std::string negative_to_string(std::int64_t microseconds) {
    const std::uint64_t span = 0 - static_cast<std::uint64_t>(microseconds);
    const std::uint64_t seconds = span / kMicrosecondsPerSecond;
    const std::uint64_t fraction = span % kMicrosecondsPerSecond;
    std::string text =
        fmt::format("-{:02}{:02}{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    return fraction == 0 ? text : text + fmt::format(".{:06}", fraction);
}

// The value of `count` digits (at most 9) from `at`; -1 when there is anything else.
int digits(std::string_view text, std::size_t at, std::size_t count) {
    if (at + count > text.size()) return -1;
    int value = 0;
    for (const char letter : text.substr(at, count)) {
        if (letter < '0' || letter > '9') return -1;
        value = value * 10 + (letter - '0');
    }
    return value;
}

tl::unexpected<base::Error> no_time() {
    return fail(Exception::exception,
                "bad lexical cast: source type value could not be interpreted as target: unable "
                "to convert ISO-formatted string to fc::time_point_sec");
}

// "2026-11-21T01:02:03", and nothing after it.
base::Result<std::int64_t> seconds_from(std::string_view text) {
    const bool shape = text.size() == 19 && text[4] == '-' && text[7] == '-' && text[10] == 'T' &&
                       text[13] == ':' && text[16] == ':';
    if (!shape) return no_time();
    const int year = digits(text, 0, 4);
    const int month = digits(text, 5, 2);
    const int day = digits(text, 8, 2);
    const int hour = digits(text, 11, 2);
    const int minute = digits(text, 14, 2);
    const int second = digits(text, 17, 2);
    if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return no_time();
    const std::chrono::year_month_day date{std::chrono::year{year},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok() || hour > 23 || minute > 59 || second > 59) return no_time();
    const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
    return days * kSecondsPerDay + hour * 3600 + minute * 60 + second;
}

// Milliseconds of ".5", ".05" or ".123". nodeos reads "1" and the digits as one number and
// takes 1000 away, so more than three digits mean what that gives; it is kept, up to 9 digits.
base::Result<std::int64_t> milliseconds_from(std::string_view digits_text) {
    if (digits_text.size() > 9) return no_time();
    std::string text = "1" + std::string(digits_text);
    while (text.size() < 4) {
        text.push_back('0');
    }
    std::int64_t value = 0;
    for (const char letter : text) {
        if (letter < '0' || letter > '9') {
            return fail(Exception::parse_error_exception, "Couldn't parse int64_t");
        }
        value = value * 10 + (letter - '0');
    }
    return value - 1000;
}

}  // namespace

std::string TimePoint::to_string() const {
    if (microseconds < 0) return negative_to_string(microseconds);
    return seconds_to_string(microseconds / kMicrosecondsPerSecond) +
           fmt::format(".{:03}", microseconds % kMicrosecondsPerSecond / 1000);
}

base::Result<TimePoint> TimePoint::from_string(std::string_view text) {
    const std::size_t dot = text.find('.');
    auto seconds = seconds_from(text.substr(0, dot));
    if (!seconds) return base::fail(std::move(seconds).error());
    if (dot == std::string_view::npos) return TimePoint{*seconds * kMicrosecondsPerSecond};
    auto milliseconds = milliseconds_from(text.substr(dot + 1));
    if (!milliseconds) return base::fail(std::move(milliseconds).error());
    return TimePoint{*seconds * kMicrosecondsPerSecond + *milliseconds * 1000};
}

std::string TimePointSec::to_string() const {
    return seconds_to_string(seconds);
}

base::Result<TimePointSec> TimePointSec::from_string(std::string_view text) {
    const std::size_t dot = text.find('.');
    // The fraction is dropped, but it must be one.
    if (dot != std::string_view::npos &&
        text.find_first_not_of("0123456789", dot + 1) != std::string_view::npos) {
        return no_time();
    }
    auto seconds = seconds_from(text.substr(0, dot));
    if (!seconds) return base::fail(std::move(seconds).error());
    if (*seconds < 0 || *seconds > 0xFFFF'FFFF) return no_time();
    return TimePointSec{static_cast<std::uint32_t>(*seconds)};
}

BlockTimestamp BlockTimestamp::from_time_point(TimePoint time) {
    // Unsigned, because nodeos has its constant unsigned: that decides how it wraps.
    const auto since = static_cast<std::uint64_t>(time.microseconds / 1000) -
                       static_cast<std::uint64_t>(kEpochMilliseconds);
    return {static_cast<std::uint32_t>(since / static_cast<std::uint64_t>(kIntervalMilliseconds))};
}

base::Result<BlockTimestamp> BlockTimestamp::from_string(std::string_view text) {
    auto time = TimePoint::from_string(text);
    if (!time) return base::fail(std::move(time).error());
    return from_time_point(*time);
}

const Retime* SlotTimes::retime_of(Slot slot) const {
    const auto above = std::ranges::upper_bound(retimes, slot, {}, &Retime::first);
    return above == retimes.begin() ? nullptr : &*std::prev(above);
}

TimePoint SlotTimes::time_of(Slot slot) const {
    const Retime* retime = retime_of(slot);
    const TimePoint from = retime == nullptr ? initial : retime->time;
    const Slot slots = retime == nullptr ? slot : slot - retime->first;
    return {from.microseconds + static_cast<std::int64_t>(slots) * 1000 *
                                    static_cast<std::int64_t>(interval_milliseconds)};
}

TimePoint SlotTimes::begin_of(Slot slot) const {
    const TimePoint time = time_of(slot);
    if (retimes.empty() || slot >= retimes.back().first) return time;
    return std::min(time, retimes.back().time);
}

Slot SlotTimes::slot_at(TimePoint time) const {
    const TimePoint from = retimes.empty() ? initial : retimes.back().time;
    const Slot first = retimes.empty() ? 0 : retimes.back().first;
    if (time < from) return first == 0 ? 0 : first - 1;
    return first + static_cast<Slot>(time.microseconds - from.microseconds) /
                       (std::uint64_t{1000} * interval_milliseconds);
}

}  // namespace chain
