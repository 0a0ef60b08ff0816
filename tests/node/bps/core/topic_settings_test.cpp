#include "node/bps/core/topic_settings.hpp"

#include <catch2/catch.hpp>

using bps::partition_settings;

TEST_CASE("a topic without settings keeps records for a week", "[bps][settings]") {
    const auto made = partition_settings({}, 1);
    CHECK(made.log.retention_ms == 604'800'000);
    CHECK(made.log.retention_bytes == -1);
    CHECK(made.log.segment_bytes == 128U << 20U);
    CHECK(made.log.segment_ms == 604'800'000);
    CHECK_FALSE(made.stored_as.has_value());
    CHECK_FALSE(made.log.append_time);
    CHECK_FALSE(made.log.compacts);
    CHECK(made.batches.bytes_max == 1'048'588);
    CHECK_FALSE(made.batches.needs_keys);
    CHECK(made.insync_min == 1);
    CHECK(made.deletes_records);
}

TEST_CASE("a topic is served as its settings say", "[bps][settings]") {
    const auto made = partition_settings({{"retention.ms", "-1"},
                                          {"retention.bytes", "5000000000"},
                                          {"segment.bytes", "65536"},
                                          {"segment.ms", "60000"},
                                          {"max.message.bytes", "100"},
                                          {"message.timestamp.type", "LogAppendTime"},
                                          {"min.insync.replicas", "2"},
                                          {"flush.ms", "1"}},
                                         3);
    CHECK(made.log.retention_ms == -1);
    CHECK(made.log.retention_bytes == 5'000'000'000);
    CHECK(made.log.segment_bytes == 65'536);
    CHECK(made.log.segment_ms == 60'000);
    CHECK(made.batches.bytes_max == 100);
    CHECK(made.log.append_time);
    CHECK(made.insync_min == 2);
}

TEST_CASE("a topic says how records are stored", "[bps][settings]") {
    const auto stored_as = [](const std::string& type) {
        return partition_settings({{"compression.type", type}}, 1).stored_as;
    };
    CHECK(stored_as("uncompressed") == bps::Compression::none);
    CHECK(stored_as("gzip") == bps::Compression::gzip);
    CHECK(stored_as("snappy") == bps::Compression::snappy);
    CHECK(stored_as("lz4") == bps::Compression::lz4);
    CHECK(stored_as("zstd") == bps::Compression::zstd);
    CHECK_FALSE(stored_as("producer").has_value());
}

TEST_CASE("more replicas in sync than there are, are not asked for", "[bps][settings]") {
    CHECK(partition_settings({{"min.insync.replicas", "3"}}, 1).insync_min == 1);
    CHECK(partition_settings({{"min.insync.replicas", "3"}}, 2).insync_min == 2);
}

TEST_CASE("a compacted topic needs keys, and has an age only where it says so", "[bps][settings]") {
    const auto only = partition_settings({{"cleanup.policy", "compact"}, {"retention.ms", "5"}}, 1);
    CHECK(only.batches.needs_keys);
    CHECK_FALSE(only.deletes_records);
    CHECK(only.log.retention_ms == -1);
    CHECK(only.log.compacts);
    CHECK(only.log.delete_retention_ms == 86'400'000);
    const auto both = partition_settings(
        {{"cleanup.policy", "compact,delete"}, {"retention.ms", "5"}, {"delete.retention.ms", "6"}},
        1);
    CHECK(both.log.compacts);
    CHECK(both.log.delete_retention_ms == 6);
    CHECK(both.batches.needs_keys);
    CHECK(both.deletes_records);
    CHECK(both.log.retention_ms == 5);
}
