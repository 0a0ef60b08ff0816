#include "node/logging.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <optional>

namespace node {

namespace {

std::optional<base::Level> level_of(std::string_view name) {
    if (name == "debug") return base::Level::debug;
    if (name == "info") return base::Level::info;
    if (name == "warn") return base::Level::warn;
    if (name == "error") return base::Level::error;
    return std::nullopt;
}

spdlog::level::level_enum spdlog_level(base::Level level) {
    switch (level) {
        case base::Level::debug:
            return spdlog::level::debug;
        case base::Level::info:
            return spdlog::level::info;
        case base::Level::warn:
            return spdlog::level::warn;
        case base::Level::error:
            break;
    }
    return spdlog::level::err;
}

// A line may quote what a stranger sent, and must not be taken for several, nor move a terminal.
std::string as_one_line(std::string_view line) {
    std::string text;
    text.reserve(line.size());
    for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= ' ' && byte != 0x7F) {
            text += c;
        } else {
            text += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", byte);
        }
    }
    return text;
}

struct Levels {
    base::Level standard = base::Level::info;
    std::map<std::string, base::Level, std::less<>> components;

    [[nodiscard]] base::Level lowest() const {
        base::Level lowest = standard;
        for (const auto& [name, level] : components)
            lowest = std::min(lowest, level);
        return lowest;
    }
};

base::Result<Levels> parse_levels(std::string_view text) {
    Levels levels;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t equals = part.find('=');
        const bool is_standard = equals == std::string_view::npos;
        const auto level = level_of(is_standard ? part : part.substr(equals + 1));
        if (!level) {
            return base::fail(base::Errc::invalid,
                              "log level '" + std::string(part) +
                                  "': expected debug, info, warn or error, or module=level");
        }
        if (is_standard) {
            levels.standard = *level;
        } else {
            levels.components[std::string(part.substr(0, equals))] = *level;
        }
    }
    return levels;
}

}  // namespace

struct Logging::Backend {
    Backend(spdlog::sink_ptr sink, bool json_in) : logger("bor", std::move(sink)), json(json_in) {
        logger.set_level(spdlog::level::debug);
        logger.flush_on(spdlog::level::warn);
        logger.set_pattern(json ? "%v" : "%Y-%m-%dT%H:%M:%S.%e %l %v");
    }

    spdlog::logger logger;
    bool json;
    mutable std::mutex mutex;
    Levels levels;
    std::atomic<base::Level> lowest = base::Level::info;
};

Logging::Logging(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
Logging::~Logging() {
    flush();
}

base::Result<std::unique_ptr<Logging>> Logging::open(const Options& options) {
    spdlog::sink_ptr sink;
    try {
        if (options.file.empty()) {
            sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
        } else {
            sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file.string());
        }
    } catch (const spdlog::spdlog_ex& error) {
        return base::fail(base::Errc::unavailable,
                          "cannot open the log " + options.file.string() + ": " + error.what());
    }
    std::unique_ptr<Logging> log(new Logging(std::make_unique<Backend>(sink, options.json)));
    if (auto set = log->set_levels(options.levels); !set) return base::fail(set.error());
    return log;
}

bool Logging::enabled(base::Level level) const {
    return level >= backend_->lowest;
}

void Logging::write(base::Level level, std::string_view component, std::string_view line) {
    {
        const std::scoped_lock lock(backend_->mutex);
        const auto found = backend_->levels.components.find(component);
        const bool is_own = found != backend_->levels.components.end();
        if (level < (is_own ? found->second : backend_->levels.standard)) return;
    }
    const spdlog::level::level_enum as = spdlog_level(level);
    if (!backend_->json) {
        backend_->logger.log(as, "{} {}", component, as_one_line(line));
        return;
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const nlohmann::ordered_json object = {
        {"time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(now).count()},
        {"level", std::string(spdlog::level::to_string_view(as).data())},
        {"module", component},
        {"event", line}};
    backend_->logger.log(
        as, "{}", object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

base::Result<void> Logging::set_levels(std::string_view text) {
    auto levels = parse_levels(text);
    if (!levels) return base::fail(levels.error());
    const std::scoped_lock lock(backend_->mutex);
    backend_->levels = std::move(*levels);
    backend_->lowest = backend_->levels.lowest();
    return {};
}

void Logging::flush() {
    backend_->logger.flush();
}

bool RepeatGuard::allow(Clock::time_point now, std::uint64_t& skipped) {
    if (last_ != Clock::time_point{} && now - last_ < std::chrono::seconds(1)) {
        ++skipped_;
        return false;
    }
    last_ = now;
    skipped = skipped_;
    skipped_ = 0;
    return true;
}

}  // namespace node
