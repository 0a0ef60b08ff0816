#include "node/signer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>

namespace node {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using base::crypto::PublicKey;
using base::crypto::Signature;

namespace {

using base::Errc;

// Signing is part of making a block: a wallet that takes longer, in all, is as good as none.
constexpr std::chrono::milliseconds kTimeout{200};

class WalletSigner final : public Signer {
  public:
    WalletSigner(PublicKey key, std::string socket)
        : key_(std::move(key)), socket_(std::move(socket)) {}

    [[nodiscard]] std::vector<PublicKey> keys() const override { return {key_}; }
    [[nodiscard]] base::Result<Signature> sign(const PublicKey& /*its own*/,
                                               const base::Hash256& digest) override {
        return ask("sign_digest", {base::to_hex(digest.view()), key_.to_string()}, digest);
    }
    [[nodiscard]] base::Result<Signature> sign_header(const PublicKey& /*its own*/,
                                                      const chain::BlockHeader& header,
                                                      const chain::ChainId& chain_id) override {
        return ask(
            "sign_header",
            {base::to_hex(chain::pack(header)), key_.to_string(), base::to_hex(chain_id.view())},
            header.signing_digest(chain_id));
    }
    [[nodiscard]] base::Result<Signature> sign_vote(const PublicKey& /*its own*/,
                                                    const chain::VoteData& vote,
                                                    const chain::ChainId& chain_id) override {
        return ask(
            "sign_vote",
            {base::to_hex(chain::pack(vote)), key_.to_string(), base::to_hex(chain_id.view())},
            vote.digest(chain_id));
    }
    [[nodiscard]] base::Result<Signature> sign_transaction(
        const PublicKey& /*its own*/,
        const chain::Transaction& transaction,
        const chain::ChainId& chain_id) override {
        const std::string packed = base::to_hex(chain::pack(transaction));
        return ask("sign_duty",
                   {packed, key_.to_string(), base::to_hex(chain_id.view())},
                   transaction.signing_digest(chain_id, {}));
    }
    [[nodiscard]] base::Result<Signature> sign_statement(
        const PublicKey& /*its own*/,
        const p2p::VoteKeyStatement& statement,
        const p2p::StatementContext& context) override {
        return ask("sign_statement",
                   {base::to_hex(p2p::statement_bytes(statement, context)), key_.to_string()},
                   p2p::statement_digest(statement, context));
    }
    [[nodiscard]] base::Result<Signature> sign_clock(const PublicKey& /*its own*/,
                                                     const p2p::ClockStatement& statement,
                                                     const chain::ChainId& chain_id) override {
        return ask("sign_clock",
                   {base::to_hex(p2p::clock_bytes(statement, chain_id)), key_.to_string()},
                   p2p::clock_digest(statement, chain_id));
    }
    [[nodiscard]] base::Result<Signature> sign_answer(const PublicKey& /*its own*/,
                                                      const genesis::RecoveryAnswer& answer,
                                                      const chain::ChainId& chain_id) override {
        return ask("sign_answer",
                   {base::to_hex(genesis::answer_bytes(answer, chain_id)), key_.to_string()},
                   genesis::answer_digest(answer, chain_id));
    }

  private:
    using Json = nlohmann::json;

    // What the wallet answers, when it is a signature of this digest.
    [[nodiscard]] base::Result<Signature> ask(const std::string& call,
                                              const std::vector<std::string>& words,
                                              const base::Hash256& digest) const {
        auto answer = post("/v1/wallet/" + call, Json(words).dump());
        if (!answer) return base::fail(answer.error());
        const Json text = Json::parse(*answer, nullptr, false);
        if (!text.is_string()) return base::fail(Errc::unavailable, refused(message_of(text)));
        auto signature = Signature::from_string(text.get<std::string>());
        if (signature && base::crypto::verify(key_, *signature, digest)) return signature;
        return base::fail(Errc::unavailable, refused("a signature of another key or digest"));
    }

    // Of an error as nodeos has it, what it says.
    [[nodiscard]] static std::string message_of(const Json& answer) {
        const Json::json_pointer place("/error/details/0/message");
        const bool is_there = answer.is_object() && answer.contains(place);
        return is_there && answer.at(place).is_string() ? answer.at(place).get<std::string>()
                                                        : answer.dump();
    }

    [[nodiscard]] std::string refused(const std::string& reason) const {
        return "wallet " + socket_ + ": " + reason;
    }

    [[nodiscard]] base::Result<std::string> post(const std::string& path,
                                                 const std::string& body) const {
        bhttp::request<bhttp::string_body> request(bhttp::verb::post, path, 11);
        request.set(bhttp::field::host, "localhost");
        request.body() = body;
        request.prepare_payload();
        boost::beast::flat_buffer buffer;
        bhttp::response<bhttp::string_body> response;
        boost::system::error_code error;

        // Only calls that do not block have a timeout.
        asio::io_context context;
        boost::beast::basic_stream<asio::local::stream_protocol> stream(context);
        stream.expires_after(kTimeout);
        const auto read = [&](boost::system::error_code written, std::size_t /*bytes*/) {
            error = written;
            if (error) return;
            bhttp::async_read(
                stream, buffer, response, [&](boost::system::error_code done, std::size_t) {
                    error = done;
                });
        };
        const auto write = [&](boost::system::error_code connected) {
            error = connected;
            if (!error) bhttp::async_write(stream, request, read);
        };
        stream.async_connect(asio::local::stream_protocol::endpoint(socket_), write);
        context.run();
        if (error == boost::beast::error::timeout) {
            return base::fail(Errc::unavailable,
                              refused(fmt::format("no answer within {} ms", kTimeout.count())));
        }
        if (error) return base::fail(Errc::unavailable, refused(error.message()));
        return std::move(response.body());
    }

    const PublicKey key_;
    const std::string socket_;
};

}  // namespace

std::unique_ptr<Signer> open_wallet(const PublicKey& key, const std::string& socket) {
    return std::make_unique<WalletSigner>(key, socket);
}

}  // namespace node
