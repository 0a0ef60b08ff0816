#include "node/operator_api.hpp"

namespace node {

// What this node knows, where more than a third of the validators are lost for ever (`bor-cli
// recover answer`). Its keys sign nothing more after that, for ever: only who may open the node's
// Unix socket can ask, no page in a browser, no other user and no proxy (spec 10).
void add_recovery_calls(Calls& calls) {
    calls.plain({.path = "/v1/bor/answer_recovery",
                 .need = Need::required,
                 .category = "producer_rw",
                 .reach = Calls::Reach::unix_socket},
                [&context = calls.context()](Params& params) -> Answer {
                    const std::string chain = params.text("chain_id");
                    if (!params.ok()) return refuse(params.error());
                    if (chain != base::to_hex(context.chain_id.view())) {
                        return refuse(
                            base::Error{base::Errc::invalid, "chain_id is not that of this node"});
                    }
                    const auto answer = context.runtime.answer_recovery();
                    if (answer == nullptr) {
                        return refuse(base::Error{
                            base::Errc::unavailable,
                            "the disk has not stored yet that this validator stops: ask again"});
                    }
                    if (!*answer) return refuse(answer->error());
                    return Json{{"answer", genesis::to_text(**answer)}};
                });
}

}  // namespace node
