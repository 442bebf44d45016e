// The fleet of `--simulate N`, without a file: devices of several types that move about, so that a newcomer sees something.
import { COMMANDS } from '../roaming/obey.ts'
import { SIMULATED_TYPES } from '../roaming/report.ts'
import { UPDATE_KINDS, type UpdateShares } from '../updates/update-kinds.ts'
import { PING } from './read-type.ts'
import type { Scenario, TypePlan } from './scenario.ts'

export interface BuiltIn {
  readonly count: number
  readonly seed: number
  readonly durationSec?: number
  /** How devices go about updates, in percent. All do well if left out. */
  readonly updates?: UpdateShares
  /** Devices without connections of their own. */
  readonly isViaGateways?: boolean
}

const FIRMWARE = '1.4.2'
const GROUPS = ['warehouse/a', 'warehouse/b', 'yard', 'plant/line-1']
const PER_GATEWAY = 1_000
/** The whole fleet says no more than this: with more devices, each says less. */
const MESSAGES_PER_SEC = 1_000
/** A device with longer pauses would need heartbeats besides. */
const INTERVAL_SEC_MAX = 20

export function builtIn({
  count,
  seed,
  durationSec,
  updates = {},
  isViaGateways = false,
}: BuiltIn): Scenario {
  // A gateway is no sub-device of another one.
  const types = SIMULATED_TYPES.filter((type) => !isViaGateways || type !== 'gateway')
  const each = types.length
  const intervalSec = Math.min(INTERVAL_SEC_MAX, Math.max(1, Math.ceil(count / MESSAGES_PER_SEC)))
  const behaviours = UPDATE_KINDS.flatMap((kind) => {
    const percent = updates[kind]
    return percent === undefined ? [] : [{ kind, percent, failures: 1 }]
  })
  const plans = types.map((type, at): TypePlan => {
    // Device 1 is of the second type, and so on.
    const first = at === 0 ? each : at
    return {
      type,
      count: Math.max(0, Math.floor((count - first) / each) + 1),
      ...{ idPrefix: 'sim', gatewayPrefix: `sim-${type.replaceAll('_', '-')}-gw`, idDigits: 3 },
      numberAt: (index) => index * each + first,
      group: (number) => GROUPS[Math.floor(number / each) % GROUPS.length],
      tags: ['simulator'],
      perGateway: isViaGateways ? PER_GATEWAY : undefined,
      keepAliveSec: 60,
      telemetry: { intervalSec, jitter: 0, qos: 1, source: { kind: 'motion' } },
      commands: new Map(COMMANDS.map((name) => [name, PING])),
      shadow: { follow: true, delayMs: 0 },
      firmware: {
        ...{
          version: FIRMWARE,
          download: 'real',
          rateKibPerSec: 0,
          installSec: 1.5,
          rebootSec: 1,
          behaviours,
        },
      },
      faults: [],
    }
  })
  return {
    ...{ name: 'built-in', seed, durationSec, connectPerSec: 500, timeline: [], expect: [] },
    types: plans.filter((plan) => plan.count > 0),
  }
}
