// Loaded before a node's program: sets the node's clock ahead of, or behind, that of the machine.
const skewMs = Number(process.env['CHAOS_SKEW_MS'] ?? 0)
const RealDate = Date

globalThis.Date = class extends RealDate {
  constructor(...args: readonly [] | ConstructorParameters<typeof RealDate>) {
    if (args.length === 0) super(RealDate.now() + skewMs)
    else super(...(args as ConstructorParameters<typeof RealDate>))
  }

  static override now(): number {
    return RealDate.now() + skewMs
  }
} as DateConstructor
