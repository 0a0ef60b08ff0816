// The entry of the broker's contract. It notifies nobody and listens to nobody, so that no other
// contract runs in the middle of an action.
#include "bps.hpp"

namespace bps {

namespace {

void dispatch_brokers(Dispatcher<Bps>& to) {
    to.on<&Bps::setslots>("setslots"_n)
        .on<&Bps::addbroker>("addbroker"_n)
        .on<&Bps::rmbroker>("rmbroker"_n)
        .on<&Bps::drain>("drain"_n)
        .on<&Bps::regbroker>("regbroker"_n)
        .on<&Bps::suspect>("suspect"_n)
        .on<&Bps::alive>("alive"_n)
        .on<&Bps::fence>("fence"_n)
        .on<&Bps::leaseids>("leaseids"_n)
        .on<&Bps::addidspaces>("addidspaces"_n)
        .on<&Bps::elect>("elect"_n)
        .on<&Bps::alterisr>("alterisr"_n)
        .on<&Bps::prefer>("prefer"_n)
        .on<&Bps::resign>("resign"_n)
        .on<&Bps::reassign>("reassign"_n)
        .on<&Bps::unclean>("unclean"_n)
        .on<&Bps::anchor>("anchor"_n);
}

void dispatch_tenants(Dispatcher<Bps>& to) {
    to.on<&Bps::createtopic>("createtopic"_n)
        .on<&Bps::altertopic>("altertopic"_n)
        .on<&Bps::deletetopic>("deletetopic"_n)
        .on<&Bps::addparts>("addparts"_n)
        .on<&Bps::deleterecs>("deleterecs"_n)
        .on<&Bps::grant>("grant"_n)
        .on<&Bps::revoke>("revoke"_n)
        .on<&Bps::reserve>("reserve"_n)
        .on<&Bps::unreserve>("unreserve"_n)
        .on<&Bps::delegate>("delegate"_n)
        .on<&Bps::undelegate>("undelegate"_n)
        .on<&Bps::setcert>("setcert"_n)
        .on<&Bps::delcert>("delcert"_n)
        .on<&Bps::revoketoken>("revoketoken"_n)
        .on<&Bps::cleartokens>("cleartokens"_n)
        .on<&Bps::setsealkey>("setsealkey"_n)
        .on<&Bps::delsealkey>("delsealkey"_n)
        .on<&Bps::setquota>("setquota"_n)
        .on<&Bps::delquota>("delquota"_n);
}

}  // namespace

}  // namespace bps

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    bor::Dispatcher<bps::Bps> to(receiver, code, action);
    bps::dispatch_brokers(to);
    bps::dispatch_tenants(to);
}
