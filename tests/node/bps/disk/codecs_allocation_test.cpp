#include "node/bps/disk/codecs.hpp"

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fstream>
#include <functional>
#include <lz4frame.h>
#include <new>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

// What a hostile batch costs in memory. Measured in a child that may have so much and no more; the
// sanitizers have a memory of their own.

namespace {

using bps::Codecs;
using bps::Compression;

constexpr std::size_t kOpenedMax = 1U << 20U;

base::Bytes from_hex(std::string_view digits) {
    return base::from_hex(digits).value();
}

// Bytes of data and heap of this process.
std::size_t data_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word != "VmData:") continue;
        std::size_t kilobytes = 0;
        status >> kilobytes;
        return kilobytes << 10U;
    }
    return 0;
}

// 0: `act` held, with so much more memory.
int run_with(std::size_t more, const std::function<bool()>& act) {
    const ::pid_t child = ::fork();
    if (child == 0) {
        const std::size_t all = data_bytes() + more;
        const rlimit limit{all, all};
        if (::setrlimit(RLIMIT_DATA, &limit) != 0) ::_exit(2);
        ::_exit(act() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_refused(Compression compression, base::ByteView packed) {
    return !Codecs().decompress(compression, packed, kOpenedMax).has_value();
}

// The head of a frame with blocks of 4 MiB and a content of 2^63 bytes.
base::Bytes lz4_head() {
    LZ4F_cctx* context = nullptr;
    CHECK(LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)) == 0);
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.blockSizeID = LZ4F_max4MB;
    preferences.frameInfo.contentSize = 1ULL << 63U;
    base::Bytes head(LZ4F_HEADER_SIZE_MAX);
    head.resize(LZ4F_compressBegin(context, head.data(), head.size(), &preferences));
    LZ4F_freeCompressionContext(context);
    return head;
}

}  // namespace

TEST_CASE("what opens to far too much costs no more than what is allowed", "[bps][codecs]") {
    const Compression compression =
        GENERATE(Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd);
    const base::Bytes bomb = Codecs::compress(compression, base::Bytes(64U << 20U));
    CHECK(run_with(16U << 20U, [&] { return is_refused(compression, bomb); }) == 0);
    // The limit bites.
    CHECK(run_with(16U << 20U, [&] {
              try {
                  (void)Codecs().decompress(compression, bomb, 512U << 20U);
                  return false;
              } catch (const std::bad_alloc&) {
                  return true;
              }
          }) == 0);
}

TEST_CASE("what says that it opens to much is not believed", "[bps][codecs]") {
    struct Lie {
        Compression compression;
        base::Bytes packed;
    };
    const std::vector<Lie> lies{
        // A bare block of 64 MiB, of which one byte is there; and one within the Java library's.
        {Compression::snappy, from_hex("808080200061")},
        {Compression::snappy, from_hex("82534e4150505900000000010000000100000006808080200061")},
        {Compression::lz4, lz4_head()},
        // A window of 2 GiB, and a content of 2^63 bytes.
        {Compression::zstd, from_hex("28b52ffd00a8010000")},
        {Compression::zstd, from_hex("28b52ffde00000000000000080010000")},
    };
    for (const Lie& lie : lies) {
        INFO(base::to_hex(lie.packed));
        CHECK(run_with(10U << 20U, [&] {
                  (void)Codecs().decompress(lie.compression, lie.packed, bps::kOpenedBytesMax);
                  return true;
              }) == 0);
    }
}
