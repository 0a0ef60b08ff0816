#pragma once

#include "genesis/recovery.hpp"

#include <string>
#include <vector>

namespace genesis {

// What `bor-cli recover` can see of a recovery before any node does. A node that has the state of
// the block compares the members and the schedules itself; what it would refuse then, or what would
// never be signed, is refused here by the name of what is wrong.

// A file of 'bor-cli recover answer'.
struct AnswerFile {
    std::string name;
    Recovery recovery;
};

// As merge_answers(). invalid: names the file in which an answer was changed, or is of a key that
// votes in no schedule that is replaced, or the two files that name other members or schedules.
[[nodiscard]] base::Result<Recovery> merge_answer_files(const std::vector<AnswerFile>& files);

// Whether its answers are of what it replaces, and no key of its schedule was in that, as such a
// key may be locked, or has answered and signs nothing more. invalid: names the validator.
[[nodiscard]] base::Result<void> check_keys(const Recovery& recovery);

// Where its members are not those of the genesis file, one sentence each. That may be right, since
// members change; who signs it has to know.
[[nodiscard]] std::vector<std::string> changed_members(const Recovery& recovery,
                                                       const Genesis& genesis);

}  // namespace genesis
