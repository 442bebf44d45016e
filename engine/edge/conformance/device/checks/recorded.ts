// Checks that examine the recordings of all other checks.
import { parsePayload } from '../../../payload.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import type { Bench } from '../bench.ts'
import type { Check } from '../check.ts'
import { type PublishedMessage, type Recording, toEvidence, unalteredUntil } from '../recording.ts'

const CONNECT = 'DEVICES.md, Connect'
const STATUS = 'DEVICES.md, What a device publishes'
const TOPICS = 'DEVICES.md, What a device publishes'
const BIRTH_MS = 5_000
const HEARTBEAT_MS = 30_000
const GRACE_MS = 1_000
/** The limit allows one report per second, one at the beginning and repeated messages. */
const PROGRESS_MS = 3_000
const PROGRESS_MAX = 6
const RETAINED: readonly string[] = ['status', 'shadow/reported']
const FROM_SERVICE = /^(sub\/[^/]+\/)?(command|ota|shadow\/desired)$/

export const RECORDED_CHECKS: readonly Check[] = [
  {
    id: 'CONN-01',
    level: 'MUST',
    isBasic: true,
    track: 'last',
    clause: CONNECT,
    title: 'the client id of the device is its device id',
    run: async (bench, recordings) => {
      await bench.ready()
      for (const { connect } of allRecordings(bench, recordings))
        if (connect !== undefined && connect.clientId !== bench.device.deviceId)
          throw new UnmetCheck(
            `it connects as ${JSON.stringify(connect.clientId)}, not as ${bench.device.deviceId}`,
            `CONNECT with client id ${connect.clientId}`,
          )
    },
  },
  {
    id: 'CONN-02',
    level: 'MUST',
    track: 'last',
    clause: STATUS,
    title:
      'the last will of the device is on its own status with QoS 1, is retained and contains the session_id',
    run: hasWill,
  },
  {
    id: 'CONN-03',
    level: 'MUST',
    track: 'last',
    clause: STATUS,
    title: 'the device publishes online within 5 s of its connect, with the session_id of its last will',
    run: publishesOnline,
  },
  {
    id: 'CONN-04',
    level: 'MUST',
    track: 'last',
    clause: STATUS,
    title: 'each connection of the device has a session_id of its own',
    run: hasNewSessions,
  },
  {
    id: 'CONN-05',
    level: 'MUST',
    track: 'last',
    clause: STATUS,
    title: 'the device publishes a message at least every 30 s, if only on status',
    run: sendsHeartbeats,
  },
  {
    id: 'CONN-10',
    level: 'MUST',
    isBasic: true,
    track: 'last',
    clause: TOPICS,
    title: 'the device publishes and subscribes only below its own topic',
    run: async (bench, recordings) => {
      await bench.ready()
      const own = bench.broker.topic('')
      for (const { published, subscribed } of allRecordings(bench, recordings)) {
        const stray = published.find(({ topic }) => !topic.startsWith(own))
        if (stray !== undefined)
          throw new UnmetCheck('it publishes outside its own topics', toEvidence(stray))
        const filter = subscribed.find(({ topic }) => !topic.startsWith(own))
        if (filter !== undefined)
          throw new UnmetCheck('it subscribes outside its own topics', `SUBSCRIBE ${filter.topic}`)
      }
    },
  },
  {
    id: 'CONN-11',
    level: 'MUST',
    isBasic: true,
    track: 'last',
    clause: TOPICS,
    title: 'the device never publishes on the topics of the service: command, ota, shadow/desired',
    run: (bench, recordings) =>
      noneOf(bench, recordings, {
        wrong: ({ topic }) => FROM_SERVICE.test(suffixOf(bench, topic)),
        reason: 'it publishes on a topic on which only the service may publish',
      }),
  },
  {
    id: 'CONN-12',
    level: 'MUST',
    isBasic: true,
    track: 'last',
    clause: TOPICS,
    title: 'the device retains messages only on status and shadow/reported',
    run: (bench, recordings) =>
      noneOf(bench, recordings, {
        wrong: ({ topic, retain }) => retain && !RETAINED.includes(lastPart(suffixOf(bench, topic))),
        reason: 'it retains a message on another topic, where retained messages are soon outdated',
      }),
  },
  {
    id: 'CONN-13',
    level: 'MUST',
    track: 'last',
    clause: CONNECT,
    title: 'the device subscribes again after each connect',
    run: subscribesAgain,
  },
  {
    id: 'CMD-01',
    level: 'MUST',
    track: 'last',
    clause: 'DEVICES.md, What a device is sent',
    title: 'the device subscribes to its commands within 5 s, with QoS 1 or 2',
    run: (bench, recordings) => subscribes(bench, { recordings, suffix: 'command' }),
  },
  {
    id: 'OTA-01',
    level: 'MUST',
    track: 'last',
    clause: 'DEVICES.md, What a device is sent',
    title: 'the device subscribes to its updates within 5 s, with QoS 1 or 2',
    run: (bench, recordings) => subscribes(bench, { recordings, suffix: 'ota' }),
  },
  {
    id: 'OTA-17',
    level: 'MUST',
    track: 'last',
    clause: 'DEVICES.md, What a device is sent',
    title: 'the device reports its progress at most once a second',
    run: limitsProgressReports,
  },
]

/** Returns the earlier recordings and those that this bench has made since. */
function allRecordings(bench: Bench, recordings: readonly Recording[]): readonly Recording[] {
  return [...new Set([...recordings, ...bench.broker.recordings])]
}

function acceptedRecordings(bench: Bench, recordings: readonly Recording[]): readonly Recording[] {
  return allRecordings(bench, recordings).filter(({ acceptedAt }) => acceptedAt !== undefined)
}

async function noneOf(
  bench: Bench,
  recordings: readonly Recording[],
  { wrong, reason }: { readonly wrong: (message: PublishedMessage) => boolean; readonly reason: string },
): Promise<void> {
  await bench.ready()
  const found = allRecordings(bench, recordings)
    .flatMap(({ published }) => published)
    .find(wrong)
  if (found !== undefined) throw new UnmetCheck(reason, toEvidence(found))
}

async function hasWill(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  await bench.ready()
  for (const { connect } of acceptedRecordings(bench, recordings)) {
    const will = connect?.will
    if (will === undefined) throw new UnmetCheck('it connects without a last will')
    const text = will.payload.toString()
    const evidence = `will on ${will.topic} (QoS ${will.qos ?? 0}${will.retain ? ', retained' : ''}): ${text}`
    if (will.topic !== bench.broker.topic('status'))
      throw new UnmetCheck('its last will is not on its own status', evidence)
    if (will.qos !== 1 || will.retain !== true)
      throw new UnmetCheck('its last will does not have QoS 1 or is not retained', evidence)
    if (typeof sessionOf(text) !== 'string') throw new UnmetCheck('its last will has no session_id', evidence)
    if (field(text, 'status') !== 'offline')
      throw new UnmetCheck('its last will does not say offline', evidence)
  }
}

async function publishesOnline(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  const connection = await bench.ready()
  const topic = bench.broker.topic('status')
  const find = () => connection.published.find((message) => message.topic === topic)
  await bench.until('online on status', find, BIRTH_MS)
  for (const recording of acceptedRecordings(bench, recordings)) {
    const { acceptedAt = 0, published, connect } = recording
    const birth = published.find((message) => message.topic === topic)
    if (birth === undefined) {
      const lasted = unalteredUntil(recording, Date.now()) - acceptedAt
      if (lasted > BIRTH_MS + GRACE_MS)
        throw new UnmetCheck('it was connected and never published online on status')
      continue
    }
    if (birth.at - acceptedAt > BIRTH_MS)
      throw new UnmetCheck(
        'it published its first message on status more than 5 s after its connect',
        toEvidence(birth),
      )
    if (birth.body?.['status'] !== 'online')
      throw new UnmetCheck('its first message on status does not say online', toEvidence(birth))
    const will = connect?.will?.payload.toString()
    if (will !== undefined && birth.body['session_id'] !== sessionOf(will))
      throw new UnmetCheck(
        'its first message on status has another session_id than its last will',
        `${toEvidence(birth)}; will: ${will}`,
      )
  }
}

async function hasNewSessions(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  // Tracks may be separate programs, so one of them must connect twice.
  await bench.reconnect()
  const ids = acceptedRecordings(bench, recordings).map(({ connect }) =>
    sessionOf(connect?.will?.payload.toString()),
  )
  const known = ids.filter((id) => typeof id === 'string')
  if (known.length < 2) throw new SkippedCheck('its last wills have no session_id: see CONN-02')
  if (new Set(known).size < known.length)
    throw new UnmetCheck(
      'two connections have the same session_id, so the service cannot tell an old last will from a new one',
      `session ids: ${known.join(', ')}`,
    )
}

async function sendsHeartbeats(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  const connection = await bench.ready()
  const lasted = (recording: Recording) => unalteredUntil(recording, Date.now()) - (recording.acceptedAt ?? 0)
  const isWatched = () => acceptedRecordings(bench, recordings).some((each) => lasted(each) > HEARTBEAT_MS)
  // At least one connection must be observed for as long as a device may be silent.
  const isAgain = () => isWatched() || connection.published.length > 1
  const withinMs = HEARTBEAT_MS + GRACE_MS
  await bench.until('a second message over the connection', isAgain, withinMs)
  for (const recording of acceptedRecordings(bench, recordings)) {
    const times = [recording.acceptedAt ?? 0, ...recording.published.map(({ at }) => at)]
    const end = unalteredUntil(recording, Date.now())
    for (const [index, at] of times.entries()) {
      const gap = Math.min(times[index + 1] ?? end, end) - at
      if (gap > HEARTBEAT_MS + GRACE_MS)
        throw new UnmetCheck(
          `it published nothing for ${Math.round(gap / 1_000)} s, so it would soon count as offline`,
        )
    }
  }
}

async function limitsProgressReports(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  await bench.ready()
  const topic = bench.broker.topic('ota/status')
  const reports = allRecordings(bench, recordings).flatMap(({ published }) =>
    published.filter(({ topic: at, body }) => at === topic && body?.['progress'] !== undefined),
  )
  if (reports.length === 0) throw new SkippedCheck('the device reported no progress')
  for (const message of reports) {
    const { at, body } = message
    const near = reports.filter((other) => {
      const isSame = other.body?.['deployment_id'] === body?.['deployment_id']
      return isSame && other.at >= at && other.at < at + PROGRESS_MS
    })
    if (near.length > PROGRESS_MAX)
      throw new UnmetCheck(
        `it reported its progress ${near.length} times within ${PROGRESS_MS / 1_000} s`,
        toEvidence(message),
      )
  }
}

async function subscribesAgain(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  await bench.ready()
  await subscribedOnce(bench, recordings)
  const connection = await bench.reconnect()
  const [first] = acceptedRecordings(bench, recordings).filter(({ subscribed }) => subscribed.length > 0)
  if (first === undefined) throw new SkippedCheck('the device has no subscriptions')
  const wanted = new Set(first.subscribed.map(({ topic }) => topic))
  const missing = ({ subscribed }: Recording) => {
    const topics = new Set(subscribed.map(({ topic }) => topic))
    return [...wanted].filter((topic) => !topics.has(topic))
  }
  await bench
    .until('the device subscribes', () => missing(connection).length === 0, BIRTH_MS)
    .catch(() => undefined)
  for (const recording of acceptedRecordings(bench, recordings)) {
    const lasted = unalteredUntil(recording, Date.now()) - (recording.acceptedAt ?? 0)
    const [topic] = missing(recording)
    if (topic !== undefined && lasted >= BIRTH_MS)
      throw new UnmetCheck(
        'it did not repeat its subscriptions after a later connect',
        `no SUBSCRIBE for ${topic} within 5 s of CONNACK`,
      )
  }
}

async function subscribes(
  bench: Bench,
  about: { readonly recordings: readonly Recording[]; readonly suffix: string },
): Promise<void> {
  const connection = await bench.ready()
  const topic = bench.broker.topic(about.suffix)
  await bench.until(`the device subscribes to ${topic}`, () => connection.isSubscribedTo(topic), BIRTH_MS)
  for (const { subscribed, acceptedAt = 0 } of acceptedRecordings(bench, about.recordings)) {
    const found = subscribed.find((subscription) => subscription.topic === topic)
    if (found === undefined) continue
    if (found.at - acceptedAt > BIRTH_MS)
      throw new UnmetCheck(`it subscribed to ${topic} more than 5 s after its connect`)
    if (found.qos < 1)
      throw new UnmetCheck('it subscribes with QoS 0, so a message may be lost', `SUBSCRIBE ${topic} QoS 0`)
  }
}

function suffixOf(bench: Bench, topic: string): string {
  const own = bench.broker.topic('')
  return topic.startsWith(own) ? topic.slice(own.length) : topic
}

/** Waits for the first subscription if none was recorded yet. */
async function subscribedOnce(bench: Bench, recordings: readonly Recording[]): Promise<void> {
  const isSeen = () => acceptedRecordings(bench, recordings).some(({ subscribed }) => subscribed.length > 0)
  await bench.until('the device subscribes', isSeen, BIRTH_MS).catch((error: unknown) => {
    if (!(error instanceof UnmetCheck)) throw error
  })
}

/** Returns the suffix without the prefix of a sub-device. */
function lastPart(suffix: string): string {
  return suffix.replace(/^sub\/[^/]+\//, '')
}

function sessionOf(text: string | undefined): unknown {
  return field(text, 'session_id')
}

function field(text: string | undefined, name: string): unknown {
  return parsePayload(Buffer.from(text ?? ''))?.[name]
}
