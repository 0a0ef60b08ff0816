#include "chain/abi/definition_fields.hpp"
#include "chain/abi/members.hpp"

#include <utility>

namespace chain::abi {

namespace {

struct JsonReader {
    void operator()(const char* name, std::string& text) { in.text(name, text); }
    void operator()(const char* name, Name& value) { in.name(name, value); }
    void operator()(const char* name, std::uint64_t& number) { in.number(name, number); }
    void operator()(const char* name, std::vector<std::string>& texts) { in.texts(name, texts); }
    void operator()(const char* name, Extensions& extensions) { in.extensions(name, extensions); }
    template <class T>
    void operator()(const char* name, std::vector<T>& items) {
        in.list(name, items, [](Members& members, T& item) {
            JsonReader reader{members};
            each_field(reader, item);
        });
    }

    Members& in;
};

struct JsonWriter {
    void operator()(const char* name, const std::string& text) { out[name] = text; }
    void operator()(const char* name, Name value) { out[name] = value.to_string(); }
    void operator()(const char* name, std::uint64_t number) { out[name] = json_integer(number); }
    void operator()(const char* name, const std::vector<std::string>& texts) { out[name] = texts; }
    void operator()(const char* name, const Extensions& extensions) {
        Json& list = out[name] = Json::array();
        for (const Extension& item : extensions) {
            list.push_back(Json::array({item.id, base::to_hex(item.data)}));
        }
    }
    template <class T>
    void operator()(const char* name, const std::vector<T>& items) {
        Json& list = out[name] = Json::array();
        for (const T& item : items) {
            JsonWriter writer{list.emplace_back()};
            each_field(writer, item);
        }
    }

    Json& out;
};

}  // namespace

base::Result<Definition> definition_from_json(const Json& json) {
    Definition out;
    Members abi(json);
    JsonReader reader{abi};
    each_field(reader, out);
    if (auto status = abi.status(); !status) return base::fail(std::move(status).error());
    return out;
}

Json definition_to_json(const Definition& abi) {
    Json out;
    JsonWriter writer{out};
    each_field(writer, abi);
    return out;
}

}  // namespace chain::abi
