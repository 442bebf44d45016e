// Makes small recordings for the tests of the checkers: one device, and lists that are left out are empty.
import type {
  DesireCall,
  DeviceOutcome,
  Message,
  Recording,
  Series,
  ShadowCall,
  ShadowState,
} from '../../recording.ts'
import type { Violation } from '../violation.ts'

export const DEVICE = 'dev-0'

export function recordingOf(
  parts: Partial<Omit<Recording, 'stored'>> & { readonly stored?: Partial<DeviceOutcome> },
): Recording {
  return {
    promises: { isPubackDurable: true, brokerLossMs: 0, isFeedLossless: true, clockSkewMs: 0 },
    messages: [],
    receipts: [],
    desired: [],
    calls: [],
    faults: [],
    orders: [],
    boots: [],
    rollouts: [],
    live: [],
    revocations: [],
    groups: {},
    kinds: {},
    running: {},
    ...parts,
    stored: [
      {
        device: DEVICE,
        plain: [],
        timed: [],
        changes: [],
        shadow: { version: 0 },
        steps: [],
        commands: {},
        parked: 0,
        counted: { plain: parts.stored?.plain?.length ?? 0, timed: parts.stored?.timed?.length ?? 0 },
        silences: [],
        audited: [],
        ...parts.stored,
      },
    ],
  }
}

export function textsOf(violations: readonly Violation[]): readonly string[] {
  return violations.map(({ text }) => text)
}

export function message(series: Series, n: number, sentAt: readonly number[], ackedAt?: number): Message {
  const sent = { device: DEVICE, series, n, sentAt: [...sentAt] }
  return ackedAt === undefined ? sent : { ...sent, ackedAt }
}

type Span = readonly [from: number, to: number | undefined]

/** A call answered with 200 and `version`, unless `more` overrides that. */
export function wrote(
  value: string,
  [from, to]: Span,
  version?: number,
  more: Partial<DesireCall> = {},
): DesireCall {
  const call: DesireCall = {
    kind: 'desire',
    caller: 'user',
    node: 'api',
    device: DEVICE,
    value,
    from,
    ...more,
  }
  if (to !== undefined) call.to = to
  if (version !== undefined) {
    call.version = version
    call.status = more.status ?? 200
  }
  return call
}

export function read([from, to]: Span, seen: ShadowState): ShadowCall {
  const call: ShadowCall = { kind: 'shadow', caller: 'reader', node: 'api', device: DEVICE, from, seen }
  if (to !== undefined) call.to = to
  return call
}
