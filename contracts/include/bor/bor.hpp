#pragma once

#include <bor/action.hpp>
#include <bor/asset.hpp>
#include <bor/check.hpp>
#include <bor/contract.hpp>
#include <bor/crypto.hpp>
#include <bor/datastream.hpp>
#include <bor/multi_index.hpp>
#include <bor/name.hpp>
#include <bor/print.hpp>
#include <bor/privileged.hpp>
#include <bor/singleton.hpp>
#include <bor/time.hpp>
#include <bor/transaction.hpp>
