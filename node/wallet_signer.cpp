#include "node/signer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/time.h>

namespace node {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using base::crypto::PublicKey;
using base::crypto::Signature;

namespace {

using base::Errc;

// Signing is part of making a block: a wallet that takes longer is as good as none.
constexpr timeval kTimeout{0, 200'000};

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
        if (!text.is_string()) return base::fail(Errc::unavailable, refused(*answer));
        auto signature = Signature::from_string(text.get<std::string>());
        if (signature && base::crypto::verify(key_, *signature, digest)) return signature;
        return base::fail(Errc::unavailable, refused("a signature of another key or digest"));
    }

    [[nodiscard]] std::string refused(const std::string& reason) const {
        return "wallet " + socket_ + ": " + reason;
    }

    [[nodiscard]] base::Result<std::string> post(const std::string& path,
                                                 const std::string& body) const {
        asio::io_context context;
        asio::local::stream_protocol::socket socket(context);
        boost::system::error_code error;
        socket.connect(asio::local::stream_protocol::endpoint(socket_), error);
        if (error) return base::fail(Errc::unavailable, refused(error.message()));
        ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
        ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
        bhttp::request<bhttp::string_body> request(bhttp::verb::post, path, 11);
        request.set(bhttp::field::host, "localhost");
        request.body() = body;
        request.prepare_payload();
        bhttp::write(socket, request, error);
        if (error) return base::fail(Errc::unavailable, refused(error.message()));
        boost::beast::flat_buffer buffer;
        bhttp::response<bhttp::string_body> response;
        bhttp::read(socket, buffer, response, error);
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
