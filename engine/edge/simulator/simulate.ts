// The simulated fleet of `--simulate N`, which gives a newcomer something to see at once. It uses the service over REST
// and MQTT, as real devices do, and knows nothing of its internals.
import { enrol } from './enrol.ts'
import { seeded } from './random.ts'
import { SimulatedDevice } from './simulated-device.ts'
import { drawKind, type UpdateShares } from './update-kinds.ts'

export interface SimulateOptions {
  /** An origin, for example `http://127.0.0.1:8000`. */
  readonly httpUrl: string
  readonly mqttUrl: string
  /** An admin's access token, used only at the start. */
  readonly token: string
  readonly count: number
  /** How devices go about updates, in percent. All do well if left out. */
  readonly updates?: UpdateShares
  readonly signal?: AbortSignal
  readonly log?: (fields: Readonly<Record<string, unknown>>, text: string) => void
}

export interface Simulation {
  /** Ids of the devices that were started, from `sim-001` on. */
  readonly deviceIds: readonly string[]
  connected(): number
  /** Every device says goodbye and disconnects. */
  stop(): Promise<void>
}

const DEVICES_MAX = 1_000
/** Devices take turns, so that they do not all publish at once. */
const TURNS_PER_SEC = 10

/** Resolves once the devices are registered and connecting. An aborted signal stops them as `stop` does. */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { count, mqttUrl, signal, updates = {}, log = () => {} } = options
  if (!Number.isInteger(count) || count < 1 || count > DEVICES_MAX) {
    throw new RangeError(`the number of simulated devices is from 1 to ${DEVICES_MAX}, not ${count}`)
  }
  const refused = (deviceId: string, reason: string) => log({ deviceId, reason }, 'simulated device refused')
  const enrolled = await enrol({ ...options, signal: signal ?? new AbortController().signal }, refused)
  const devices = enrolled.map((device, index) => {
    const random = seeded(index + 1)
    const kind = drawKind(updates, seeded(-index - 1))
    return new SimulatedDevice({ device, mqttUrl, random, now: Date.now, refused, updates: kind })
  })
  const stopTurns = takeTurns(devices)
  let stopped: Promise<unknown> | undefined
  const stop = async () => {
    stopTurns()
    stopped ??= Promise.all(devices.map((device) => device.stop()))
    await stopped
  }
  signal?.addEventListener('abort', () => void stop(), { once: true })
  if (signal?.aborted) await stop()
  return {
    deviceIds: devices.map(({ id }) => id),
    connected: () => devices.filter((device) => device.isConnected()).length,
    stop,
  }
}

function takeTurns(devices: readonly SimulatedDevice[]): () => void {
  let turn = 0
  const timer = setInterval(() => {
    const now = Date.now()
    for (let index = turn; index < devices.length; index += TURNS_PER_SEC) devices[index]?.tick(now)
    turn = (turn + 1) % TURNS_PER_SEC
  }, 1_000 / TURNS_PER_SEC)
  return () => clearInterval(timer)
}
