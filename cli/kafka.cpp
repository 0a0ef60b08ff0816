#include "cli/kafka.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSlice{200};    // Of waiting, between two looks at what else came.
constexpr milliseconds kGrace{2'000};  // A name can have addresses of which one answers.
constexpr std::size_t kTextBytes = 512;

using ErrorText = std::array<char, kTextBytes>;

tl::unexpected<KafkaError> fail(rd_kafka_resp_err_t code, std::string reason) {
    return tl::unexpected(KafkaError{code, std::move(reason)});
}

int count(milliseconds time) {
    return static_cast<int>(time.count());
}

std::int64_t now_ms() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(since).count();
}

void pass_over_log(const rd_kafka_t* /*handle*/,
                   int /*level*/,
                   const char* /*facility*/,
                   const char* /*text*/) {}

// Says nothing that the network has not said better.
bool is_vague(rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT ||
           code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__DESTROY ||
           code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || code == RD_KAFKA_RESP_ERR__WAIT_COORD;
}

using Metadata = Owner<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>;

}  // namespace

KafkaResult<std::unique_ptr<KafkaClient>> KafkaClient::make(Role role,
                                                            KafkaSettings settings,
                                                            const std::vector<Property>& properties,
                                                            Delivered delivered) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
    std::unique_ptr<KafkaClient> client(new KafkaClient(std::move(settings), std::move(delivered)));
    if (auto opened = client->open(role, properties); !opened) {
        return tl::unexpected(std::move(opened.error()));
    }
    return client;
}

KafkaClient::~KafkaClient() = default;

std::vector<KafkaClient::Property> KafkaClient::security() const {
    std::vector<Property> properties;
    const bool has_login = settings_.make_token != nullptr;
    properties.emplace_back(
        "security.protocol",
        fmt::format("{}{}", has_login ? "sasl_" : "", settings_.is_tls ? "ssl" : "plaintext"));
    if (has_login) properties.emplace_back("sasl.mechanisms", "OAUTHBEARER");
    for (const auto& [name, value] :
         {Property("ssl.ca.location", settings_.ca_file),
          Property("ssl.certificate.location", settings_.certificate_file),
          Property("ssl.key.location", settings_.key_file)}) {
        if (!value.empty()) properties.emplace_back(name, value);
    }
    return properties;
}

KafkaResult<void> KafkaClient::open(Role role, const std::vector<Property>& properties) {
    Owner<rd_kafka_conf_t, rd_kafka_conf_destroy> conf(rd_kafka_conf_new());
    std::vector<Property> all = security();
    all.emplace_back("bootstrap.servers", settings_.brokers);
    all.emplace_back("client.id", "bor-cli");
    all.insert(all.end(), properties.begin(), properties.end());
    ErrorText text{};
    for (const auto& [name, value] : all) {
        if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), text.data(), text.size()) !=
            RD_KAFKA_CONF_OK) {
            return fail(RD_KAFKA_RESP_ERR__INVALID_ARG, text.data());
        }
    }
    rd_kafka_conf_set_opaque(conf.get(), this);
    rd_kafka_conf_set_log_cb(conf.get(), pass_over_log);
    rd_kafka_conf_set_error_cb(conf.get(), on_error);
    if (settings_.make_token) {
        rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf.get(), on_token_due);
    }
    if (role == Role::producer) rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivered);
    if (role == Role::group_member) rd_kafka_conf_set_rebalance_cb(conf.get(), on_rebalance);
    handle_.reset(rd_kafka_new(role == Role::producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER,
                               conf.get(),
                               text.data(),
                               text.size()));
    if (handle_ == nullptr) return fail(RD_KAFKA_RESP_ERR__INVALID_ARG, text.data());
    (void)conf.release();  // The handle has it.
    return settings_.make_token ? renew_token() : KafkaResult<void>();
}

KafkaResult<void> KafkaClient::renew_token() {
    const auto token = settings_.make_token();
    if (!token) {
        (void)rd_kafka_oauthbearer_set_token_failure(handle_.get(), "no token");
        return fail(RD_KAFKA_RESP_ERR__AUTHENTICATION, token.error().detail);
    }
    ErrorText text{};
    const auto code = rd_kafka_oauthbearer_set_token(handle_.get(),
                                                     token->text.c_str(),
                                                     token->expires_ms,
                                                     token->principal.c_str(),
                                                     nullptr,
                                                     0,
                                                     text.data(),
                                                     text.size());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        (void)rd_kafka_oauthbearer_set_token_failure(handle_.get(), text.data());
        return fail(RD_KAFKA_RESP_ERR__AUTHENTICATION, text.data());
    }
    token_fresh_until_ms_ = now_ms() + (token->expires_ms - now_ms()) / 2;
    return {};
}

void KafkaClient::on_token_due(rd_kafka_t* /*handle*/, const char* /*config*/, void* self) {
    auto& client = *static_cast<KafkaClient*>(self);
    // The library asks at its start, too, and open() has set one.
    if (now_ms() < client.token_fresh_until_ms_) return;
    if (auto renewed = client.renew_token(); !renewed) client.fatal_ = renewed.error();
}

void KafkaClient::on_error(rd_kafka_t* handle, int code, const char* reason, void* self) {
    auto& client = *static_cast<KafkaClient*>(self);
    const KafkaError error{static_cast<rd_kafka_resp_err_t>(code), reason};
    if (error.code == RD_KAFKA_RESP_ERR__FATAL) {
        ErrorText text{};
        const auto cause = rd_kafka_fatal_error(handle, text.data(), text.size());
        client.fatal_ = KafkaError{cause, text.data()};
    } else if (error.code == RD_KAFKA_RESP_ERR__AUTHENTICATION) {
        if (!client.fatal_) client.fatal_ = error;
    } else if (error.code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
        client.is_cut_off_ = true;
    } else {
        client.trouble_ = error;
    }
}

void KafkaClient::on_delivered(rd_kafka_t* /*handle*/,
                               const rd_kafka_message_t* message,
                               void* self) {
    const auto& client = *static_cast<const KafkaClient*>(self);
    if (client.delivered_) client.delivered_(*message);
}

void KafkaClient::on_rebalance(rd_kafka_t* handle,
                               rd_kafka_resp_err_t code,
                               rd_kafka_topic_partition_list_t* partitions,
                               void* self) {
    auto& client = *static_cast<KafkaClient*>(self);
    client.assigned_.reset();
    if (code != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        (void)rd_kafka_assign(handle, nullptr);
        return;
    }
    (void)rd_kafka_assign(handle, partitions);
    auto& assigned = client.assigned_.emplace();
    for (int i = 0; i < partitions->cnt; ++i)
        assigned.insert(partitions->elems[i].partition);
}

KafkaResult<void> KafkaClient::check() const {
    if (fatal_) return tl::unexpected(*fatal_);
    return {};
}

KafkaResult<void> KafkaClient::serve(milliseconds wait) {
    (void)rd_kafka_poll(handle_.get(), count(wait));
    return check();
}

KafkaError KafkaClient::error_of(rd_kafka_resp_err_t code, const char* text) const {
    if (fatal_) return *fatal_;
    if (trouble_ && is_vague(code)) return {code, trouble_->reason};
    return {code, text == nullptr ? rd_kafka_err2str(code) : text};
}

// In slices, so that a refused login ends it at once.
KafkaResult<const rd_kafka_metadata_t*> KafkaClient::metadata(rd_kafka_topic_t* topic) {
    const auto start = std::chrono::steady_clock::now();
    while (true) {
        const rd_kafka_metadata_t* found = nullptr;
        const auto code = rd_kafka_metadata(handle_.get(), 0, topic, &found, count(5 * kSlice));
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return found;
        if (auto served = serve(milliseconds(0)); !served) {
            return tl::unexpected(served.error());
        }
        const auto waited = std::chrono::steady_clock::now() - start;
        if (waited > settings_.patience || (is_cut_off_ && waited > kGrace) || !is_vague(code)) {
            return tl::unexpected(error_of(code));
        }
    }
}

KafkaResult<std::vector<std::int32_t>> KafkaClient::partitions(const std::string& topic) {
    const KafkaTopic named(rd_kafka_topic_new(handle_.get(), topic.c_str(), nullptr));
    if (named == nullptr) {
        return fail(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
                    fmt::format("'{}' is no name of a topic", topic));
    }
    const auto answer = metadata(named.get());
    if (!answer) return tl::unexpected(answer.error());
    const Metadata owned(*answer);
    is_cut_off_ = false;
    if (owned->topic_cnt != 1) {
        return fail(RD_KAFKA_RESP_ERR__BAD_MSG, "the broker's answer names no topic");
    }
    const rd_kafka_metadata_topic_t& found = owned->topics[0];
    if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) return tl::unexpected(error_of(found.err));
    std::vector<std::int32_t> numbers;
    numbers.reserve(static_cast<std::size_t>(found.partition_cnt));
    for (int i = 0; i < found.partition_cnt; ++i)
        numbers.push_back(found.partitions[i].id);
    std::ranges::sort(numbers);
    return numbers;
}

KafkaResult<std::pair<std::int64_t, std::int64_t>> KafkaClient::range(const std::string& topic,
                                                                      std::int32_t partition) {
    std::int64_t first = 0;
    std::int64_t end = 0;
    const auto code = rd_kafka_query_watermark_offsets(
        handle_.get(), topic.c_str(), partition, &first, &end, count(settings_.patience));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return tl::unexpected(error_of(code));
    return std::pair(first, end);
}

KafkaResult<KafkaEvent> KafkaClient::ask(
    rd_kafka_admin_op_t operation,
    const std::function<void(const rd_kafka_AdminOptions_t*, rd_kafka_queue_t*)>& send) {
    const KafkaQueue queue(rd_kafka_queue_new(handle_.get()));
    const Owner<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
        rd_kafka_AdminOptions_new(handle_.get(), operation));
    (void)rd_kafka_AdminOptions_set_request_timeout(
        options.get(), count(settings_.patience), nullptr, 0);
    send(options.get(), queue.get());
    const auto start = std::chrono::steady_clock::now();
    while (true) {
        KafkaEvent event(rd_kafka_queue_poll(queue.get(), count(kSlice)));
        if (auto served = serve(milliseconds(0)); !served) {
            return tl::unexpected(served.error());
        }
        if (event != nullptr) {
            const auto code = rd_kafka_event_error(event.get());
            if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return event;
            return tl::unexpected(error_of(code, rd_kafka_event_error_string(event.get())));
        }
        // The library answers by itself in time; no broker at all is known earlier.
        if (is_cut_off_ && std::chrono::steady_clock::now() - start > kGrace) {
            return tl::unexpected(error_of(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN));
        }
    }
}

}  // namespace cli
