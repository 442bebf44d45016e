// TEL and LOG: the telemetry and the log lines of a device.
import { isObject, parseJson } from '../../../../../schemas/json.ts'
import { MQTT_LIMITS } from '../../../../../schemas/mqtt-limits.ts'
import { LOG_LEVELS } from '../../../../../schemas/vocabulary.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import type { Bench } from '../bench.ts'
import type { Check } from '../check.ts'
import { type PublishedMessage, type Recording, toEvidence } from '../recording.ts'

const CLAUSE = 'DEVICES.md, What a device publishes'
const MEASURED_MS = 120_000
const WITHHELD_MS = 3_000
const CUT_MS = 30_000
const AGAIN_MS = 60_000
const FLOOD_MS = 10_000
const IN_FLIGHT_MAX = 100
const BYTES_MAX = MQTT_LIMITS.payloadBytesMax
const LINES_MAX = 100
const EARLIEST = Date.UTC(2015, 0)
const AHEAD_MS = 3_600_000
/** These values are not valid JSON, but some libraries write them. */
const NOT_FINITE = /(?<=[:,[\s]|^)-?(NaN|Infinity)(?=[,\]}\s]|$)/g
const TIME_WITH_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]00:?00)$/i

export const TELEMETRY_CHECKS: readonly Check[] = [
  {
    ...check('TEL-01', 'measurements are objects or arrays of objects'),
    isBasic: true,
    run: async (bench, recordings) => {
      for (const message of await untilMeasured(bench, recordings)) expectReadable(bench, message)
    },
  },
  {
    ...check('TEL-02', 'numbers are finite, and timestamps are in UTC'),
    isBasic: true,
    run: async (bench, recordings) => {
      for (const message of await untilMeasured(bench, recordings)) expectPlausible(message)
    },
  },
  {
    ...check('TEL-03', 'the device sends unacknowledged messages again after its connection broke'),
    track: 'telemetry',
    run: resends,
  },
  {
    ...check('TEL-04', 'messages that are sent again have the time of their measurement'),
    track: 'telemetry',
    run: hasTimestamps,
  },
  {
    ...check('TEL-05', 'no message is larger than 256 KiB'),
    isBasic: true,
    run: async (bench, recordings) => {
      await untilMeasured(bench, recordings)
      const large = allMessages(bench, recordings).find(({ payload }) => payload.length > BYTES_MAX)
      if (large !== undefined)
        throw new UnmetCheck(`a message on ${large.topic} has ${large.payload.length} bytes`)
    },
  },
  {
    ...check('TEL-06', 'the device has a bounded number of unacknowledged messages'),
    track: 'telemetry',
    run: isBounded,
  },
  { ...check('LOG-01', 'a log line has a level and a message'), run: hasValidLogLines },
]

function check(id: string, title: string): Omit<Check, 'run'> {
  return { id, level: 'MUST', track: 'last', clause: CLAUSE, title }
}

function allMessages(bench: Bench, recordings: readonly Recording[]): readonly PublishedMessage[] {
  return [...new Set([...recordings, ...bench.broker.recordings])].flatMap(({ published }) => published)
}

/** Returns the messages with measurements. Waits for the first one. */
async function untilMeasured(
  bench: Bench,
  recordings: readonly Recording[],
): Promise<readonly PublishedMessage[]> {
  const find = () => allMessages(bench, recordings).filter((message) => isTelemetry(bench, message))
  if (find().length > 0) return find()
  if (bench.broker.current === undefined) await bench.ready()
  await bench.until('a message on telemetry', () => find().length > 0, MEASURED_MS)
  return find()
}

function isTelemetry(bench: Bench, { topic }: PublishedMessage): boolean {
  const own = bench.broker.topic('telemetry')
  return topic === own || topic.startsWith(`${own}/`)
}

function expectReadable(bench: Bench, message: PublishedMessage): void {
  const value = parse(message)
  const isNamed = message.topic !== bench.broker.topic('telemetry')
  if (isObject(value)) return
  if (isNamed && ['number', 'string', 'boolean'].includes(typeof value)) return
  if (Array.isArray(value) && value.length > 0 && value.every(isObject)) return
  throw new UnmetCheck('its measurements are not objects or arrays of objects', toEvidence(message))
}

function expectPlausible(message: PublishedMessage): void {
  const text = message.payload.toString('utf8')
  if (text.search(NOT_FINITE) >= 0 && parseJson(text) === undefined)
    throw new UnmetCheck(
      'it sends NaN or infinity; it should leave out values that were not measured',
      toEvidence(message),
    )
  const value = parse(message)
  for (const report of Array.isArray(value) ? value : [value]) {
    const { timestamp } = isObject(report) ? report : {}
    if (timestamp === undefined) continue
    const at = typeof timestamp === 'number' ? timestamp : Date.parse(String(timestamp))
    if (typeof timestamp === 'string' && !TIME_WITH_ZONE.test(timestamp))
      throw new UnmetCheck(
        'a timestamp is not in ISO 8601 and UTC, such as 2026-03-01T08:30:00.000Z',
        toEvidence(message),
      )
    if (!(at > EARLIEST && at < message.at + AHEAD_MS))
      throw new UnmetCheck(
        'a timestamp is not in milliseconds since 1970, or the clock of the device is wrong',
        toEvidence(message),
      )
  }
}

/** Withholds acknowledgements, then breaks the connection for a while. Returns the unacknowledged messages and those
 *  that came after the interruption. */
async function interrupt(bench: Bench): Promise<{
  readonly withheld: readonly PublishedMessage[]
  readonly again: readonly PublishedMessage[]
}> {
  await bench.ready()
  const { behaviour } = bench.broker
  const isMeant = (message: PublishedMessage) => isTelemetry(bench, message)
  behaviour.acknowledges = (message) => !isMeant(message)
  // Messages are compared by number, because the first of two messages in one millisecond may have been acknowledged.
  // All connections count, because a connection may also break without any fault of the device.
  const before = bench.broker.messages
  const find = () =>
    bench.broker.recordings.flatMap(({ published }) =>
      published.filter((message) => isMeant(message) && message.number > before),
    )
  await bench.until('a message on telemetry', () => find().length > 0, MEASURED_MS)
  await bench.wait(WITHHELD_MS * bench.device.pace)
  const withheld = find()
  const weak = withheld.find(({ qos }) => qos === 0)
  if (weak !== undefined)
    throw new UnmetCheck('it sends measurements with QoS 0, so messages can be lost', toEvidence(weak))
  behaviour.onConnect = 'cut'
  bench.broker.cut()
  await bench.wait(CUT_MS * bench.device.pace)
  behaviour.onConnect = 'accept'
  behaviour.acknowledges = () => true
  const beforeReturn = bench.broker.messages
  const topics = new Set(withheld.map(({ topic }) => topic))
  const came = () =>
    bench.broker.recordings.flatMap(({ published }) =>
      published.filter(({ topic, number }) => topics.has(topic) && number > beforeReturn),
    )
  const isThere = (wanted: PublishedMessage) => came().some((message) => isAlike(wanted, message))
  await bench
    .until('all unacknowledged messages again', () => withheld.every(isThere), AGAIN_MS)
    .catch((error: unknown) => {
      if (!(error instanceof UnmetCheck)) throw error
    })
  return { withheld, again: came() }
}

function isAlike(one: PublishedMessage, other: PublishedMessage): boolean {
  return one.topic === other.topic && one.payload.equals(other.payload)
}

async function resends(bench: Bench): Promise<void> {
  const { withheld, again } = await interrupt(bench)
  const lost = withheld.filter((wanted) => !again.some((message) => isAlike(wanted, message)))
  if (lost[0] !== undefined)
    throw new UnmetCheck(
      `${lost.length} of ${withheld.length} unacknowledged messages were not sent again`,
      toEvidence(lost[0]),
    )
}

async function hasTimestamps(bench: Bench): Promise<void> {
  await bench.ready()
  const { current } = bench.broker
  const find = () => current?.published.find((message) => isTelemetry(bench, message))
  const message = await bench.until('a message on telemetry', find, MEASURED_MS)
  const value = parse(message)
  const reports = Array.isArray(value) ? value : [value]
  if (!reports.every((report) => isObject(report) && report['timestamp'] !== undefined))
    throw new UnmetCheck(
      'its measurements have no timestamp, so messages that are sent late get a wrong time',
      toEvidence(message),
    )
}

async function isBounded(bench: Bench): Promise<void> {
  const connection = await bench.ready()
  bench.broker.behaviour.acknowledges = () => false
  await bench.wait(FLOOD_MS * bench.device.pace)
  const ids = new Set<number>()
  for (const { qos, isAcknowledged, messageId } of connection.published)
    if (qos > 0 && !isAcknowledged && messageId !== undefined) ids.add(messageId)
  if (ids.size > IN_FLIGHT_MAX)
    throw new UnmetCheck(`it had ${ids.size} unacknowledged messages; at most ${IN_FLIGHT_MAX} are allowed`)
  await bench.ready()
}

async function hasValidLogLines(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  await bench.ready()
  const topic = bench.broker.topic('log')
  const lines = allMessages(bench, recordings).filter((message) => message.topic === topic)
  if (lines.length === 0) throw new SkippedCheck('the device sent no log line')
  for (const message of lines) {
    const value = parse(message)
    const entries = Array.isArray(value) ? value : [value]
    const isWell = entries.length <= LINES_MAX && entries.every(isLine)
    if (!isWell) throw new UnmetCheck('a log line has no valid level or no message', toEvidence(message))
  }
}

function isLine(value: unknown): boolean {
  if (!isObject(value) || typeof value['message'] !== 'string') return false
  const { level } = value
  if (typeof level === 'number') return Number.isInteger(level) && level >= 0
  const known: readonly string[] = [...LOG_LEVELS, 'warning', 'critical', 'trace', 'notice']
  return typeof level === 'string' && known.includes(level.toLowerCase())
}

/** Parses a payload. Returns undefined if it is not JSON. NaN and infinities become null here, because TEL-02 reports
 *  them. */
function parse({ payload }: PublishedMessage): unknown {
  return parseJson(payload.toString('utf8').replace(NOT_FINITE, 'null'))
}
