#include "node/operator_api.hpp"

namespace node {

// What this node knows, where more than a third of the validators are lost for ever (`bor-cli
// recover answer`). Its keys sign nothing more after that, so whoever asks names the chain: a page
// in the operator's browser cannot.
void add_recovery_calls(Calls& calls) {
    calls.plain({.path = "/v1/bor/answer_recovery",
                 .need = Need::required,
                 .category = "producer_rw",
                 .local_only = true},
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
