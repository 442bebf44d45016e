// Measures the CPU time of decoding telemetry, in microseconds per message on one thread without I/O. The best of several
// rounds counts.
//
//   floor    JSON.parse and flattening into an array, without storing anything
//   general  report() for a payload whose shape is not known
//   shaped   report() for a payload whose shape is known
//   encode   encoding a block of those messages, per point
import { Buffer } from 'node:buffer'
import { Columns } from '../../engine/domain/telemetry/columns.ts'
import { Latest } from '../../engine/domain/telemetry/latest.ts'
import { report } from '../../engine/domain/telemetry/report.ts'
import { type DeviceId, Micros } from '../../schemas/ids.ts'

const DEVICES = 1_000
const PAYLOADS = 5_000
const MESSAGES = 50_000
const ROUNDS = 8
const RECEIVED_AT = 1_700_000_000_000_000

class Sender {
  readonly #latest = Array.from({ length: DEVICES }, () => new Latest())
  // The pattern of ids does not matter here.
  readonly #ids = Array.from({ length: DEVICES }, (_, i) => `dev_${i}` as DeviceId)
  #version = 0

  send(payload: Uint8Array, columns: Columns): void {
    const version = ++this.#version
    const device = version % DEVICES
    const deviceId = this.#ids[device]
    const latest = this.#latest[device]
    if (deviceId === undefined || latest === undefined) return
    const about = { deviceId, name: undefined, receivedAt: Micros(RECEIVED_AT + version), version }
    report(payload, about, latest, columns)
  }
}

/** Returns columns that never learn a shape. */
function forgetful(): Columns {
  const columns = new Columns()
  columns.shapes.find = () => undefined
  columns.shapes.learn = () => false
  return columns
}

function payloads(number: () => string, extra = ''): Buffer[] {
  const one = (): string =>
    `{${extra}"temperature":${number()},"humidity":${number()},"pressure":${number()},"battery":${number()},` +
    `"odom":{"x":${number()},"y":${number()}},"rpm":${number()},"current":${number()}}`
  return Array.from({ length: PAYLOADS }, () => Buffer.from(one()))
}

function best(
  messages: readonly Uint8Array[],
  use: (payload: Uint8Array) => void,
  after = (): void => {},
): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage()
    for (let i = 0; i < MESSAGES; i++) {
      const payload = messages[i % messages.length]
      if (payload !== undefined) use(payload)
    }
    const { user, system } = process.cpuUsage(start)
    least = Math.min(least, (user + system) / MESSAGES)
    after()
  }
  return least
}

function floor(payload: Uint8Array): number {
  const open: [string, unknown][] = [['', JSON.parse(payload.toString())]]
  const leaves: (string | number)[] = []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next
    if (typeof value === 'number') leaves.push(path, value)
    else if (typeof value === 'object' && value !== null)
      for (const [key, child] of Object.entries(value))
        open.push([path === '' ? key : `${path}.${key}`, child])
  }
  return leaves.length
}

function measure(title: string, messages: readonly Buffer[]): void {
  const columns = new Columns()
  const sender = new Sender()
  let encode = Number.POSITIVE_INFINITY
  const take = (): void => {
    const { points } = columns
    const start = process.cpuUsage()
    columns.take()
    const { user, system } = process.cpuUsage(start)
    encode = Math.min(encode, (user + system) / points)
  }
  const shaped = best(messages, (payload) => sender.send(payload, columns), take)
  const unshaped = forgetful()
  const stranger = new Sender()
  const general = best(
    messages,
    (payload) => stranger.send(payload, unshaped),
    () => unshaped.take(),
  )
  const figures = [best(messages, floor), general, shaped].map((us) => us.toFixed(2).padStart(8)).join(' ')
  const bytes = String(messages[0]?.length ?? 0).padStart(5)
  console.log(`${title.padEnd(28)} ${bytes} ${figures}   ${encode.toFixed(4)}`)
}

console.log(`${'us per message'.padEnd(28)} bytes    floor  general   shaped   encode us per point`)
measure(
  '8 numbers, 2 decimals',
  payloads(() => (Math.random() * 100).toFixed(2)),
)
measure(
  '8 numbers, 17 digits',
  payloads(() => String(Math.random() * 100)),
)
measure(
  'and an ISO timestamp',
  payloads(() => (Math.random() * 100).toFixed(2), '"timestamp":"2023-11-14T22:13:19.5Z",'),
)
measure(
  'and a bool and a text',
  payloads(() => (Math.random() * 100).toFixed(2), '"on":true,"mode":"auto",'),
)
