#include "chain/abi/definition.hpp"

#include "chain/abi/definition_fields.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

namespace chain::abi {

namespace {

struct BinaryWriter {
    void operator()(std::string_view /*name*/, const std::string& text) { out.string(text); }
    void operator()(std::string_view /*name*/, Name name) { encode(out, name); }
    void operator()(std::string_view /*name*/, std::uint64_t number) { out.u64(number); }
    void operator()(std::string_view /*name*/, const Extension& item) { encode(out, item); }
    template <class T>
    void operator()(std::string_view name, const std::vector<T>& items) {
        out.varuint32(static_cast<std::uint32_t>(items.size()));
        for (const T& item : items) {
            if constexpr (requires { each_field(*this, item); }) {
                each_field(*this, item);
            } else {
                (*this)(name, item);
            }
        }
    }

    base::Writer& out;
};

// Every text and list fits into the whole; a list's items are read one by one. An error names the
// member with what it is in: "structs.fields.name".
class BinaryReader {
  public:
    explicit BinaryReader(base::Reader& in) : in_(in) {}

    void operator()(std::string_view name, std::string& text) {
        within(name, [&] { text = in_.string(path_, kAbiBytesMax); });
    }
    void operator()(std::string_view name, Name& value) {
        within(name, [&] { decode(in_, value, path_); });
    }
    void operator()(std::string_view name, std::uint64_t& number) {
        within(name, [&] { number = in_.u64(path_); });
    }
    template <class T>
    void operator()(std::string_view name, std::vector<T>& items) {
        // These came later; each may be missing at the end.
        if constexpr (PartOf<T, VariantDefinition> || PartOf<T, ActionResultDefinition>) {
            if (in_.left() == 0) return;
        }
        within(name, [&] {
            const std::size_t count = in_.count(path_, kAbiBytesMax);
            for (std::size_t i = 0; i < count && in_.ok(); ++i) {
                read_item(items.emplace_back());
            }
        });
    }

  private:
    template <class T>
    void read_item(T& item) {
        if constexpr (requires { each_field(*this, item); }) {
            each_field(*this, item);
        } else if constexpr (std::same_as<T, Extension>) {
            decode(in_, item, path_);
        } else {
            item = in_.string(path_, kAbiBytesMax);
        }
    }
    template <class Read>
    void within(std::string_view name, Read read) {
        const std::size_t outer = path_.size();
        if (outer > 0) path_ += '.';
        path_ += name;
        read();
        path_.resize(outer);
    }

    base::Reader& in_;
    std::string path_;
};

}  // namespace

base::Result<Definition> decode_definition(base::ByteView bytes) {
    if (bytes.size() > kAbiBytesMax) {
        return fail(
            Exception::unpack_exception,
            fmt::format("ABI has {} bytes, at most {} are read", bytes.size(), kAbiBytesMax));
    }
    base::Reader in(bytes);
    Definition abi;
    BinaryReader reader(in);
    each_field(reader, abi);
    if (auto status = in.status(); !status) {
        return fail(Exception::unpack_exception,
                    "Unable to unpack the ABI: " + status.error().detail);
    }
    return abi;
}

base::Bytes encode_definition(const Definition& definition) {
    base::Writer out;
    BinaryWriter writer{out};
    each_field(writer, definition);
    return out.take();
}

}  // namespace chain::abi
