// The fleet of `--simulate N`, which needs no scenario file. Its devices are of several types and move, so that a new
// user sees activity at once.
import { COMMANDS } from '../roaming/obey.ts'
import { SIMULATED_TYPES } from '../roaming/report.ts'
import { UPDATE_KINDS, type UpdateShares } from '../updates/update-kinds.ts'
import { PING } from './read-type.ts'
import type { Scenario, TypePlan } from './scenario.ts'

export interface BuiltIn {
  readonly count: number
  readonly seed: number
  readonly durationSec?: number
  /** The behaviour of devices during updates, in percent. Without it all updates succeed. */
  readonly updates?: UpdateShares
  /** True if the devices are connected through gateways. */
  readonly isViaGateways?: boolean
}

const FIRMWARE = '1.4.2'
const GROUPS = ['warehouse/a', 'warehouse/b', 'yard', 'plant/line-1']
const PER_GATEWAY = 1_000
/** The message rate of the whole fleet. With more devices, each one sends less often. */
const MESSAGES_PER_SEC = 1_000
/** A device that reports less often would also have to send heartbeats. */
const INTERVAL_SEC_MAX = 20

export function builtIn({
  count,
  seed,
  durationSec,
  updates = {},
  isViaGateways = false,
}: BuiltIn): Scenario {
  // A gateway cannot be connected through another gateway.
  const types = SIMULATED_TYPES.filter((type) => !isViaGateways || type !== 'gateway')
  const each = types.length
  const intervalSec = Math.min(INTERVAL_SEC_MAX, Math.max(1, Math.ceil(count / MESSAGES_PER_SEC)))
  const behaviours = UPDATE_KINDS.flatMap((kind) => {
    const percent = updates[kind]
    return percent === undefined ? [] : [{ kind, percent, failures: 1 }]
  })
  const plans = types.map((type, at): TypePlan => {
    // The types alternate. Device 1 has the second type, and the first type begins at device `each`.
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
