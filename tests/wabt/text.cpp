// Compiled apart: with options of its own (tests/CMakeLists.txt).
#include "tests/wabt/text.hpp"

#include <wabt/binary-writer.h>
#include <wabt/ir.h>
#include <wabt/stream.h>
#include <wabt/wast-lexer.h>
#include <wabt/wast-parser.h>

#include <memory>

namespace wabt_text {

Assembled assemble(std::string_view text) {
    wabt::Errors errors;
    const auto lexer =
        wabt::WastLexer::CreateBufferLexer("text", text.data(), text.size(), &errors);
    std::unique_ptr<wabt::Module> module;
    wabt::WastParseOptions options{wabt::Features()};
    if (wabt::Failed(wabt::ParseWatModule(lexer.get(), &module, &errors, &options))) {
        return {{}, errors.empty() ? "not a module" : errors.front().message};
    }
    wabt::MemoryStream stream;
    wabt::WriteBinaryOptions write;
    write.features = wabt::Features();
    if (wabt::Failed(wabt::WriteBinaryModule(&stream, module.get(), write))) {
        return {{}, "module cannot be written"};
    }
    return {stream.output_buffer().data, {}};
}

}  // namespace wabt_text
