// Runs a scenario against a service over REST and MQTT, as real devices would. It uses no internals of the service.
import { setTimeout as sleep } from 'node:timers/promises'
import { enrol } from './enrol.ts'
import { Fleet } from './fleet/fleet.ts'
import { openFilesMax, tooFewFiles, tooFewPorts } from './fleet/sockets.ts'
import { SLOT_MS, World } from './fleet/world.ts'
import type { Scenario } from './scenario/scenario.ts'
import { judge, type Summary, summaryOf } from './scenario/summary.ts'

export interface SimulateOptions {
  /** The origin of the service, for example `http://127.0.0.1:8000`. */
  readonly httpUrl: string
  readonly mqttUrl: string
  /** An access token of an admin. It is used only at the start. */
  readonly token: string
  readonly scenario: Scenario
  readonly signal?: AbortSignal
  readonly log?: (fields: Readonly<Record<string, unknown>>, text: string) => void
}

export interface Simulation {
  /** The number of devices in the simulation. */
  readonly devices: number
  connected(): number
  /** Resolves once the duration of the scenario is over or the signal is aborted. */
  readonly over: Promise<void>
  /** Stops the regular messages, waits for those under way, and resolves with the results so far. */
  conclude(): Promise<Summary>
  /** Makes every device publish that it is offline, and disconnects it. */
  stop(): Promise<void>
}

/** The scenario needs more connections than the machine or the network allows for one process. */
export class TooManyDevices extends Error {
  override readonly name = 'TooManyDevices'
}

const SETTLE_MS_MAX = 10_000
const SETTLE_LOOK_MS = 20
const LOGGED_MAX = 5
/** The time that the last messages get to leave the process. */
const LAST_MESSAGES_MS = 200

/** Resolves once the devices are registered and have begun to connect. Aborting the signal ends the simulation. */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { scenario, log = () => {} } = options
  const fleet = new Fleet(scenario)
  const { hostname, port, protocol } = new URL(options.mqttUrl)
  const isTls = protocol === 'mqtts:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const shortage = tooFewFiles(fleet.sockets, openFilesMax()) ?? tooFewPorts(fleet.sockets, host)
  if (shortage !== undefined) throw new TooManyDevices(shortage)
  const ending = new AbortController()
  const signal =
    options.signal === undefined ? ending.signal : AbortSignal.any([options.signal, ending.signal])
  const refused: string[] = []
  const skipped = (deviceId: string, reason: string): void => {
    if (refused.push(deviceId) <= LOGGED_MAX)
      log({ deviceId, reason }, 'a simulated device could not be registered')
  }
  const tokens = await enrol(
    { httpUrl: options.httpUrl, token: options.token, signal },
    fleet.registrations(),
    skipped,
  )
  const world = new World({ seed: scenario.seed, signal, log })
  world.counts.error('not_registered', refused.length)
  fleet.begin(world, { host, port: Number(port) || (isTls ? 8883 : 1883), isTls }, tokens)
  const timer = setInterval(() => {
    fleet.advance()
    world.advance()
  }, SLOT_MS)
  return {
    devices: fleet.devices.length,
    connected: () => fleet.connected(),
    over:
      scenario.durationSec === undefined
        ? aborted(signal)
        : sleepUnlessAborted(scenario.durationSec * 1_000, signal),
    conclude: () => conclude(fleet, world, scenario),
    stop: async () => {
      if (ending.signal.aborted) return
      ending.abort()
      clearInterval(timer)
      fleet.stop()
      await sleep(LAST_MESSAGES_MS)
    },
  }
}

async function conclude(fleet: Fleet, world: World, scenario: Scenario): Promise<Summary> {
  const elapsedMs = world.elapsedSec() * 1_000
  world.isQuiet = true
  const deadline = world.now() + SETTLE_MS_MAX
  while (fleet.unacked() > 0 && world.now() < deadline) await sleep(SETTLE_LOOK_MS)
  world.counts.connected = fleet.connected()
  const { name, seed, expect } = scenario
  const summary = summaryOf({ name, seed, elapsedMs }, world.counts, world.latency)
  return { ...summary, expect: expect.map((expectation) => judge(expectation, summary)) }
}

async function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
