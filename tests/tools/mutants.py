#!/usr/bin/env python3
"""Mutants of the contracts' engine and of the checks of a snapshot: each changes one line, and the unit
tests must notice.

Works in a checkout of its own (build/mutants), built with the preset release. Exits 1 when a mutant
survives. usage: mutants.py [--of engine|snapshots] [--only WORD]
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "mutants"
VALIDATOR = "chain/vm/validator.cpp"
COMPILER = "chain/vm/function_compiler.cpp"
CONTROL = "chain/vm/compile_control.cpp"
INTEGER = "chain/vm/compile_integer.cpp"
FLOAT = "chain/vm/compile_float.cpp"
MEMORY = "chain/vm/compile_memory.cpp"
STUBS = "chain/vm/stubs.cpp"
FRAME = "chain/vm/frame.cpp"
OPERANDS = "chain/vm/operands.cpp"

# Name, file, what stands there once, what stands there instead.
ENGINE = [
    # Spec 03, "Metering": each kind of leader, and what a charge covers.
    ("no leader behind loop", VALIDATOR, "if (opcode != op::block) lead();", "if (opcode == op::if_) lead();"),
    ("no leader behind if", VALIDATOR, "if (opcode != op::block) lead();", "if (opcode == op::loop) lead();"),
    ("no leader behind else", VALIDATOR, "    reachable_ = block.entered;\n    lead();\n", "    reachable_ = block.entered;\n"),
    ("no leader behind the end of an if", VALIDATOR, "if ((closes_if || block.targeted)", "if ((block.targeted)"),
    ("no leader behind an end that is branched to", VALIDATOR, "if ((closes_if || block.targeted)", "if ((closes_if)"),
    ("no leader behind br_if", VALIDATOR, "    if (carried != Type::none) push(carried);\n    lead();\n", "    if (carried != Type::none) push(carried);\n"),
    ("no leader behind a call", VALIDATOR, "push(type_of(*type.result));\n    lead();\n", "push(type_of(*type.result));\n"),
    ("no leader behind memory.grow", VALIDATOR, "    if (opcode == op::memory_grow) lead();\n", ""),
    ("unreachable code is charged", VALIDATOR, "    if (reachable_) {\n        if (at - charged_at_", "    {\n        if (at - charged_at_"),
    ("locals are free", VALIDATOR, "price_ = std::uint64_t{local_price_} * declared;", "price_ = 0;"),
    ("loads of far memory cost as near ones", VALIDATOR, "    if (reachable_) ++accesses_;\n", ""),
    ("the code behind else follows from its first arm", VALIDATOR, "    if (reachable_) block.targeted = true;  // The first arm goes on to the end.\n", ""),
    ("a charge is one unit short", COMPILER, "    charge(next.price);\n", "    charge(next.price > 1 ? next.price - 1 : next.price);\n"),
    ("fuel is not looked at", COMPILER, "    check_limit();\n}", "}"),
    ("long code does not read the stop flag", VALIDATOR, "if (at - charged_at_ > kBytesBetweenCharges) poll(at, opcode);", ""),
    # The stack.
    ("a frame counts half of its bytes", COMPILER, "budget_ = kOneCall + frame_.counted_bytes() / 8;", "budget_ = kOneCall + frame_.counted_bytes() / 16;"),
    ("a frame counts no locals", "chain/vm/frame.hpp", "return kFrameBytes + 8 * (locals_->count() + height_max_);", "return kFrameBytes + 8 * height_max_;"),
    ("a frame counts no operands", "chain/vm/frame.hpp", "return kFrameBytes + 8 * (locals_->count() + height_max_);", "return kFrameBytes + 8 * locals_->count();"),
    ("a call does not count", COMPILER, "budget_ = kOneCall + frame_.counted_bytes() / 8;", "budget_ = frame_.counted_bytes() / 8;"),
    ("a return gives nothing back", COMPILER, "    out_.add(x86::r14d, static_cast<std::int32_t>(budget_));\n", ""),
    ("the budget is not looked at", COMPILER, "    out_.jump_if(CondCode::ne, context_.stubs.budget_low());\n", ""),
    ("locals are not zeroed", COMPILER, "        out_.fill_words();\n", ""),
    ("a saved register is not restored", COMPILER, "        move_in(out_, word_of(each.bank), each.reg, on_stack(at));\n", ""),
    # Types.
    ("any type will do", VALIDATOR, "return found == wanted ? found : agree(wanted, found);", "return found;"),
    ("values may be left in a block", VALIDATOR, "if (operands_.size() > block.height) {", "if (false) {"),
    ("if with a result needs no else", VALIDATOR, "if (block.opcode == op::if_ && block.result != Type::none) {", "if (false) {"),
    ("labels of br_table may differ", VALIDATOR, "if (carried != Type::any && carried != here) {", "if (false) {"),
    ("immutable globals may be set", VALIDATOR, "if (!found.is_mutable) in_", "if (false) in_"),
    ("any alignment will do", VALIDATOR, "if (alignment > rule.alignment) in_", "if (false) in_"),
    ("frames have no limit", VALIDATOR, "if (in_.ok() && frame > limits_.max_frame_bytes) {", "if (false) {"),
    ("blocks nest without limit", VALIDATOR, "if (blocks_.size() > limits_.max_nested_structures) {", "if (false) {"),
    # Control.
    ("tables have no fallback", CONTROL, "        jump_to_if(CondCode::ae, fallback);\n", ""),
    ("a table's labels are off by one", CONTROL, "labels_[static_cast<std::uint32_t>(out_.word(at)) - 1]", "labels_[static_cast<std::uint32_t>(out_.word(at)) % labels_.size()]"),
    ("elements are not bounded", CONTROL, "        out_.jump_if(CondCode::ae, context_.stubs.trap(Trap::indirect_call));\n", ""),
    ("types of indirect calls are not compared", CONTROL, "        out_.jump_if(CondCode::ne, context_.stubs.trap(Trap::indirect_call));\n", ""),
    ("select takes the other one", CONTROL, "out_.move_if(x86::negated(condition), integer(result, type), other);", "out_.move_if(condition, integer(result, type), other);"),
    ("a block's value stays where it is", CONTROL, "    operands_.force(Operands::kRax, operands_.take());\n    operands_.push_register(*type, Operands::kRax);\n", "    operands_.push_register(*type, operands_.own(operands_.take()));\n"),
    ("a loop begins with values in registers", CONTROL, "    operands_.settle();\n    blocks_.push_back(\n", "    blocks_.push_back(\n"),
    # Numbers.
    ("division by zero reaches the processor", INTEGER, "        out_.jump_if(CondCode::e, context_.stubs.trap(Trap::divide_by_zero));\n", ""),
    ("the least number by -1", INTEGER, "    if (divisor.value_or(-1) == -1) {", "    if (false) {"),
    ("a constant comparison is not mirrored", INTEGER, "        condition = mirrored(condition);\n", ""),
    ("eqz is not folded into its comparison", INTEGER, "        condition = x86::negated(condition);\n", ""),
    ("clz of zero", INTEGER, "    out_.move_if(CondCode::e, integer(reg, type), integer(of_zero, type));\n", ""),
    ("wrap keeps the upper half", INTEGER, "        out_.mov(dword(reg), dword(from));\n", "        out_.mov(quad(reg), quad(from));\n"),
    ("NaNs stay as the processor makes them", FLOAT, "    out_.call(context_.stubs.nan(reg + (single ? Stubs::kVectors : 0U)));\n", ""),
    ("min of NaN", FLOAT, "    load_nan(out_, vector(to), single);\n    const Assembler::Offset nan_done", "    const Assembler::Offset nan_done"),
    ("min of zeros", FLOAT, "out_.op(is_least ? x86::kOrps : x86::kAndps, vector(to), vector(other));", "out_.op(is_least ? x86::kAndps : x86::kOrps, vector(to), vector(other));"),
    ("ceil and floor", FLOAT, "kRoundings{10, 9, 11, 8}", "kRoundings{9, 10, 11, 8}"),
    ("a comparison with NaN", FLOAT, "out_.set_if(equal ? CondCode::np : CondCode::p, low_byte(ordered));", "out_.set_if(equal ? CondCode::p : CondCode::np, low_byte(ordered));"),
    ("truncation of 2^31", STUBS, "compare(Constant::two_to_31_32, Constant::two_to_31_64);", "compare(Constant::two_to_32_32, Constant::two_to_32_64);"),
    ("truncation of NaN", STUBS, "    out_.jump_if(CondCode::p, trap(Trap::invalid_conversion));\n", ""),
    ("rounding of halved integers", STUBS, "    out_.op(x86::kOr, x86::rax, x86::rcx);\n    convert();\n", "    out_.mov(x86::rax, x86::rcx);\n    convert();\n"),
    # Memory, and where values are.
    ("the last byte of an access is not compared", MEMORY, "static_cast<std::int32_t>(end - 1)", "static_cast<std::int32_t>(offset)"),
    ("a constant address is not compared", MEMORY, "    if (at + bytes > pages.initial * kPageBytes) {", "    if (false) {"),
    ("a store does not mark its memory", MEMORY, "    if (is_store) mark_block(last);\n", ""),
    ("a store of a constant address does not mark its memory", MEMORY, "        out_.mov(at_field(field::dirty + last, 1), 1);\n", ""),
    ("bytes are loaded without their sign", MEMORY, "out_.extend(form.is_signed, form", "out_.extend(false, form"),
    ("an operand sees its local change", OPERANDS, "    settle_local(local);\n    const Frame::Home& home", "    const Frame::Home& home"),
    ("a register in use is given away", OPERANDS, "    spill(static_cast<std::uint32_t>(lowest));\n", ""),
    ("evicting loses the value", OPERANDS, "    if (held >= 0) spill(static_cast<std::uint32_t>(held));\n", ""),
    ("the least used local has the register", FRAME, "return left.weight > right.weight;", "return left.weight < right.weight;"),
]
# The last one is as right as the original, only slower: a control, which has to survive.
HARMLESS = {"the least used local has the register"}

CHUNK = "genesis/snapshot_chunk.cpp"
PROOF = "genesis/snapshot_proof.cpp"
CHECK = "genesis/snapshot_check.cpp"
AGREEMENT = "genesis/snapshot_agreement.cpp"
RECEIVER = "node/joining/snapshot_receiver.cpp"
BOOTSTRAP = "p2p/bootstrap.cpp"
BELIEVE = "[](const auto&, const auto&) { return Result<void>(); }"
# Spec 05, "Snapshots": what stands between a forged snapshot and a state, and who pays for it.
SNAPSHOTS = [
    ("the digest is the header's", "genesis/snapshot.cpp", "const base::Hash256 digest = lanes_of(manifest).digest();", "const base::Hash256 digest = header.state_digest;"),
    ("the digest is the header's where one is made", "node/snapshots/snapshot_writer.cpp", "const base::Hash256 digest = genesis::lanes_of(*manifest).digest();", "const base::Hash256 digest = header.state_digest;"),
    ("a manifest of another block", "genesis/snapshot.cpp", "if (head.height != header.height || head.block != header.id()) {", "if (false) {"),
    ("rows of a chunk in any order", CHUNK, "base::compare(row.key, rows.back().key) <= 0", "row.key.data() == rows.back().key.data()"),
    ("chunks in any order", CHUNK, "if (base::compare(first_key, last_key) > 0) return {};", "if (first_key.data() != last_key.data()) return {};"),
    ("a chunk's rows need not give its lanes", CHUNK, "if (!is_checked || lanes == info.lanes) return rows;", "if (is_checked) return rows;"),
    ("links are followed without certificates", PROOF, "chain::check_link(step, last(), checker(trust_.chain_id))", f"chain::check_link(step, last(), {BELIEVE})"),
    ("the proof without its certificate", PROOF, "    const auto check = checker(walk.trust().chain_id);\n", f"    const auto check = {BELIEVE};\n"),
    ("a certificate of one schedule where two are", CHECK, "if (is_alone(proof) && check.last().pending() != nullptr) {", "if (false) {"),
    ("links and proof by the form of certificates", PROOF, "return consensus::verify(certificate, state, chain_id);", "return consensus::check_form(certificate, state);"),
    ("a recovery that nobody confirmed", PROOF, "if (std::ranges::find(trust_.recoveries, id) == trust_.recoveries.end()) {", "if (false) {"),
    ("a confirmed recovery may be missing", PROOF, "        if (is_here) continue;\n", "        if (is_here || !is_here) continue;\n"),
    ("any checkpoint at the snapshot's block", PROOF, "if (checkpoint.block == header.id()) return {};", "return {};"),
    ("any checkpoint below it", "node/snapshots/state_build.cpp", "if (id != nullptr && base::equal(*id, block.block.view())) return {};", "if (id != nullptr) return {};"),
    ("a checkpoint below it is not asked for", "node/snapshots/state_build.cpp", "    if (checked.checkpoint) {", "    if (false) {"),
    ("witnesses of the agreement part", CHECK, "        return good ? good : bad(good.error().detail);", "        return Result<void>();"),
    ("producers of the agreement part", CHECK, "if (!base::crypto::verify(owner.signing_key, block.signature, digest)) {", "if (false && digest == digest) {"),
    ("transactions of the agreement part", CHECK, "if (chain::merkle_root(digests) != header.transaction_root) {", "if (false) {"),
    ("blocks of the agreement part do not follow", CHECK, "if (block.previous != blocks[i - 1]->id || block.height != first.height + i) {", "if (false) {"),
    ("rows of other schedules than the agreement part", AGREEMENT, "if (schedules && *schedules == agreement.schedules) return {};", "if (schedules) return {};"),
    ("rows of other final blocks than the header", AGREEMENT, "range->root() != header.finality_root) {", "false) {"),
    ("the genesis schedule where the stored one is missing", "chain/chain_manager_open.cpp", "    if (final_->header.height > 1) {\n        return fail(Errc::corrupt,\n                    fmt::format(\"the schedules", "    if (false) {\n        return fail(Errc::corrupt,\n                    fmt::format(\"the schedules"),
    ("the own final block need not be below", RECEIVER, "    if (own.height > 1) {\n", "    if (false) {\n"),
    ("below the own final block", RECEIVER, "    if (own.height >= snapshot.height) {", "    if (false) {"),
    ("who names a wrong manifest pays nothing", BOOTSTRAP, "                    faults.push_back(proof(source.slot, text));\n", "                    (void)source;\n"),
    ("the sender of a wrong piece pays nothing", BOOTSTRAP, "if (sender) faults.push_back(proof(*sender, text));", "(void)sender;"),
    ("who is late pays nothing", BOOTSTRAP, "constexpr int kLate = 34;", "constexpr int kLate = 1;"),
    ("a wrong manifest is its sender's fault alone", RECEIVER, "        if (!good) return SnapshotVerdict::bad_manifest;", "        if (!good) return SnapshotVerdict::bad_piece;"),
    ("a wrong chunk is kept", RECEIVER, "    if (!rows) {\n", "    if (!rows && rows) {\n"),
    ("a full disk is the sender's fault", RECEIVER, "    if (written) return {piece.piece, SnapshotVerdict::good, {}};\n    return {piece.piece, SnapshotVerdict::unavailable, written.error().detail};", "    if (written) return {piece.piece, SnapshotVerdict::good, {}};\n    return {piece.piece, SnapshotVerdict::bad_piece, written.error().detail};"),
]

# Of each: the tests that must notice, with the tag of those that matter, and the mutants.
GROUPS = {
    "engine": (["test_chain_vm"], ENGINE),
    "snapshots": (["test_genesis", "test_node_snapshots", "test_node_received", "test_chain", "test_node_core [snapshot]"], SNAPSHOTS),
}


def run(command, **more):
    return subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def build(targets):
    names = [target.split()[0] for target in targets]
    done = run(["cmake", "--build", "--preset", "release", "--target", *names])
    if done.returncode != 0:
        sys.exit(f"does not build:\n{done.stdout[-3000:]}")


def is_noticed(targets):
    """The first failed test, or None."""
    for target in targets:
        try:
            done = run([f"build/release/bin/{target.split()[0]}", *target.split()[1:], "--abort"], timeout=600)
        except subprocess.TimeoutExpired:
            return "it does not end"
        if done.returncode == 0:
            continue
        lines = [line for line in done.stdout.splitlines() if "FAILED" in line or "CHECK" in line or "signal" in line]
        return lines[0].strip() if lines else f"exit status {done.returncode}"
    return None


def try_all(targets, mutants):
    """The names of those that went wrong."""
    build(targets)
    if reason := is_noticed(targets):
        sys.exit(f"fails without a mutant: {reason}")
    wrong = []
    for name, path, old, new in mutants:
        file = TREE / path
        text = file.read_text()
        if text.count(old) != 1:
            wrong.append(name)
            print(f"OUTDATED  {name}: {path} has its line {text.count(old)} times", flush=True)
            continue
        file.write_text(text.replace(old, new))
        build(targets)
        noticed = is_noticed(targets)
        file.write_text(text)
        good = (noticed is None) == (name in HARMLESS)
        if not good:
            wrong.append(name)
        verdict = "harmless" if noticed is None and good else "noticed" if good else "WRONG"
        print(f"{verdict:9} {name}: {noticed or 'all tests pass'}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--of", choices=sorted(GROUPS), help="only mutants of this")
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    options = parser.parse_args()
    if not TREE.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", str(TREE), "HEAD"], cwd=ROOT, check=True)
    run(["git", "checkout", "--quiet", "--force", "--detach",
         subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()], check=True)
    run(["cmake", "--preset", "release"], check=True)
    tried, wrong = 0, []
    for name, (targets, mutants) in GROUPS.items():
        chosen = [each for each in mutants if options.only in each[0] and options.of in (None, name)]
        if chosen:
            wrong += try_all(targets, chosen)
            tried += len(chosen)
    print(f"{tried} mutants, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
