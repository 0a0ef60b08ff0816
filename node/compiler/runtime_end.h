// What stands after a contract's code: the functions that chain::vm::NativeCode calls.

static Z_m_instance_t bor_instance;
static Z_m_instance_t bor_initial;

BOR_EXPORT u32 bor_version(void) { return BOR_VERSION; }

// Once after loading. Fills the table and notes the initial globals; cannot trap, because the
// scan has checked the element segments.
BOR_EXPORT void bor_load(void) {
    Z_m_init_module();
#ifdef BOR_HAS_IMPORTS
    Z_m_instantiate(&bor_instance, NULL);
#else
    Z_m_instantiate(&bor_instance);
#endif
    bor_initial = bor_instance;
}

BOR_EXPORT void bor_reset(const bor_host* host, u64 memory_bytes) {
    bor_h = host;
    bor_memory = host->memory;
    bor_dirty = host->dirty;
    bor_bytes = memory_bytes;
    bor_instance = bor_initial;
}

BOR_EXPORT int bor_apply(u64 receiver, u64 code, u64 action) {
    const int reason = _setjmp(bor_jump);
    if (reason != 0) return reason;
    Z_mZ_apply(&bor_instance, receiver, code, action);
    return 0;
}

BOR_EXPORT u64* bor_fuel(void) { return Z_mZ_fuel(&bor_instance); }
BOR_EXPORT u64* bor_stack(void) { return Z_mZ_stack(&bor_instance); }
BOR_EXPORT u32* bor_trapped(void) { return Z_mZ_trap(&bor_instance); }
