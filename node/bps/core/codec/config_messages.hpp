#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Settings of topics and brokers.
namespace bps {

struct DescribeConfigsRequest {
    static constexpr Api kApi{32, "DescribeConfigs", 0, 4, 4};

    struct Resource {
        std::int8_t resource_type = 0;
        std::string_view resource_name;
        std::optional<std::vector<std::string_view>> configuration_keys;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
            walk("ConfigurationKeys", self.configuration_keys);
        }
    };

    std::vector<Resource> resources;
    bool include_synonyms = false;
    bool include_documentation = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Resources", self.resources);
        walk("IncludeSynonyms", self.include_synonyms, {.since = 1});
        walk("IncludeDocumentation", self.include_documentation, {.since = 3});
    }
};

struct DescribeConfigsResponse {
    static constexpr Api kApi = DescribeConfigsRequest::kApi;

    struct Synonym {
        std::string_view name;
        std::optional<std::string_view> value;
        std::int8_t source = 0;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Value", self.value);
            walk("Source", self.source);
        }
    };

    struct Config {
        std::string_view name;
        std::optional<std::string_view> value;
        bool read_only = false;
        bool is_default = false;
        std::int8_t config_source = -1;
        bool is_sensitive = false;
        std::vector<Synonym> synonyms;
        std::int8_t config_type = 0;
        std::optional<std::string_view> documentation;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Value", self.value);
            walk("ReadOnly", self.read_only);
            walk("IsDefault", self.is_default, {.until = 0});
            walk("ConfigSource", self.config_source, {.since = 1});
            walk("IsSensitive", self.is_sensitive);
            walk("Synonyms", self.synonyms, {.since = 1});
            walk("ConfigType", self.config_type, {.since = 3});
            walk("Documentation", self.documentation, {.since = 3});
        }
    };

    struct Resource {
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;
        std::int8_t resource_type = 0;
        std::string_view resource_name;
        std::vector<Config> configs;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
            walk("Configs", self.configs);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Resource> results;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Results", self.results);
    }
};

struct AlterConfigsRequest {
    static constexpr Api kApi{33, "AlterConfigs", 0, 2, 2};

    struct Config {
        std::string_view name;
        std::optional<std::string_view> value;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("Value", self.value);
        }
    };

    struct Resource {
        std::int8_t resource_type = 0;
        std::string_view resource_name;
        std::vector<Config> configs;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
            walk("Configs", self.configs);
        }
    };

    std::vector<Resource> resources;
    bool validate_only = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Resources", self.resources);
        walk("ValidateOnly", self.validate_only);
    }
};

struct AlterConfigsResponse {
    static constexpr Api kApi = AlterConfigsRequest::kApi;

    struct Resource {
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;
        std::int8_t resource_type = 0;
        std::string_view resource_name;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Resource> responses;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Responses", self.responses);
    }
};

struct IncrementalAlterConfigsRequest {
    static constexpr Api kApi{44, "IncrementalAlterConfigs", 0, 1, 1};

    struct Config {
        std::string_view name;
        std::int8_t config_operation = 0;
        std::optional<std::string_view> value;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("Name", self.name);
            walk("ConfigOperation", self.config_operation);
            walk("Value", self.value);
        }
    };

    struct Resource {
        std::int8_t resource_type = 0;
        std::string_view resource_name;
        std::vector<Config> configs;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
            walk("Configs", self.configs);
        }
    };

    std::vector<Resource> resources;
    bool validate_only = false;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("Resources", self.resources);
        walk("ValidateOnly", self.validate_only);
    }
};

struct IncrementalAlterConfigsResponse {
    static constexpr Api kApi = IncrementalAlterConfigsRequest::kApi;

    struct Resource {
        ErrorCode error_code = ErrorCode::none;
        std::optional<std::string_view> error_message;
        std::int8_t resource_type = 0;
        std::string_view resource_name;

        template <class Self, class Walk>
        static void fields(Self& self, Walk& walk) {
            walk("ErrorCode", self.error_code);
            walk("ErrorMessage", self.error_message);
            walk("ResourceType", self.resource_type);
            walk("ResourceName", self.resource_name);
        }
    };

    std::int32_t throttle_time_ms = 0;
    std::vector<Resource> responses;

    template <class Self, class Walk>
    static void fields(Self& self, Walk& walk) {
        walk("ThrottleTimeMs", self.throttle_time_ms);
        walk("Responses", self.responses);
    }
};

}  // namespace bps
