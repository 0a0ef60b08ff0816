#include "node/core/unchecked.hpp"

#include "chain/meta_keys.hpp"
#include "chain/state/block_store.hpp"
#include "consensus/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace node {

namespace {

using base::Errc;
using base::fail;
using base::Family;

base::Bytes row_key(chain::Height to) {
    base::Bytes key = chain::meta_key(chain::kMetaUnchecked);
    const base::Bytes height = chain::height_key(to);
    key.insert(key.end(), height.begin(), height.end());
    return key;
}

bool is_row(base::ByteView key) {
    const base::Bytes prefix = chain::meta_key(chain::kMetaUnchecked);
    return key.size() == prefix.size() + 4 && base::equal(key.first(prefix.size()), prefix);
}

base::Bytes encode_row(const Stretch& stretch) {
    base::Writer out;
    out.u32(stretch.from);
    out.u32(stretch.to);
    out.u32(stretch.base_height);
    encode(out, stretch.base);
    return out.take();
}

base::Result<Stretch> decode_row(base::ByteView row) {
    base::Reader in(row);
    Stretch stretch;
    stretch.from = in.u32("unchecked");
    stretch.to = in.u32("unchecked");
    stretch.base_height = in.u32("unchecked");
    decode(in, stretch.base, "unchecked");
    if (in.ok() && (stretch.base_height >= stretch.from || stretch.from > stretch.to)) {
        in.set_error("unchecked", "its heights do not ascend");
    }
    if (auto done = in.finish(); !done) return fail(Errc::corrupt, done.error().detail);
    return stretch;
}

}  // namespace

base::Result<std::vector<WrongCopy>> check_stretch(const base::StorageView& storage,
                                                   const Stretch& stretch,
                                                   const BranchWalk::Rules& rules,
                                                   const chain::BlockPtr& copy) {
    const chain::BlockReader reader(storage);
    std::vector<WrongCopy> wrong;
    auto base = reader.at(stretch.base_height);
    if (!base) return fail(std::move(base).error());
    if (*base == nullptr) return wrong;
    const CertificateCheck verify = [&](const auto& certificate, const auto& schedules) {
        return consensus::verify(certificate, schedules, rules.chain_id);
    };
    BranchWalk walk(rules, *base, stretch.base);
    for (chain::Height height = stretch.base_height + 1; height <= stretch.to; ++height) {
        auto block = reader.at(height);
        if (!block) return fail(std::move(block).error());
        if (*block == nullptr) return wrong;
        if ((*block)->header.previous != walk.block().id) {
            return fail(
                Errc::corrupt,
                fmt::format("stored block {} is not the child of block {}", height, height - 1));
        }
        walk.follow(*block);
        if (height < stretch.from) continue;
        const chain::Block& looked_at = copy != nullptr ? *copy : **block;
        if (auto good = walk.check(looked_at, verify); !good) {
            wrong.push_back({height, (*block)->id, good.error().detail});
        }
    }
    return wrong;
}

base::Result<std::optional<Stretch>> stretch_of(const base::StorageView& storage,
                                                chain::Height height) {
    auto row = storage.at_or_after(Family::meta, row_key(height));
    if (!row) return fail(std::move(row).error());
    if (!row->has_value() || !is_row((*row)->key)) return std::optional<Stretch>();
    auto stretch = decode_row((*row)->value);
    if (!stretch) return fail(std::move(stretch).error());
    if (stretch->from > height) return std::optional<Stretch>();
    return std::optional(*std::move(stretch));
}

base::Result<void> Unchecked::load(const base::StorageView& storage) {
    base::Result<void> good;
    auto read = storage.scan(Family::meta,
                             chain::meta_key(chain::kMetaUnchecked),
                             [&](base::ByteView key, base::ByteView value) {
                                 if (!is_row(key)) return false;
                                 auto stretch = decode_row(value);
                                 if (!stretch) {
                                     good = fail(std::move(stretch).error());
                                     return false;
                                 }
                                 const chain::Height to = stretch->to;
                                 entries_.emplace(to, Entry{*std::move(stretch), {}});
                                 return true;
                             });
    return read ? good : read;
}

void Unchecked::add(const Stretch& stretch, transport::ChannelId channel, base::Batch& batch) {
    batch.put(Family::meta, row_key(stretch.to), encode_row(stretch));
    entries_.insert_or_assign(stretch.to, Entry{stretch, channel});
}

void Unchecked::settle(const Stretch& stretch,
                       const std::vector<WrongCopy>& wrong,
                       base::Batch& batch) {
    entries_.erase(stretch.to);
    batch.erase(Family::meta, row_key(stretch.to));
    for (const WrongCopy& copy : wrong) {
        const Stretch one{copy.height, copy.height, stretch.base_height, stretch.base};
        batch.put(Family::meta, row_key(one.to), encode_row(one));
        entries_.insert_or_assign(one.to, Entry{one, {}, copy.id});
    }
}

const Unchecked::Entry* Unchecked::next(chain::Height up_to) const {
    for (const auto& [to, entry] : entries_) {
        if (to > up_to) return nullptr;
        if (!entry.wrong) return &entry;
    }
    return nullptr;
}

const Unchecked::Entry* Unchecked::find(chain::Height height) const {
    const auto at = entries_.lower_bound(height);
    return at != entries_.end() && at->second.stretch.from <= height ? &at->second : nullptr;
}

const Unchecked::Entry* Unchecked::find_wrong(const chain::BlockId& id) const {
    const Entry* entry = find(chain::height_of(id));
    return entry != nullptr && entry->wrong == id ? entry : nullptr;
}

chain::Height Unchecked::blocks() const {
    chain::Height count = 0;
    for (const auto& [to, entry] : entries_)
        count += to - entry.stretch.from + 1;
    return count;
}

std::vector<chain::BlockId> Unchecked::wrong() const {
    std::vector<chain::BlockId> ids;
    for (const auto& [to, entry] : entries_) {
        if (entry.wrong) ids.push_back(*entry.wrong);
    }
    return ids;
}

}  // namespace node
