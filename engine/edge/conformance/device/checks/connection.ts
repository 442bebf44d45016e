// CONN: how a device stays connected. Checks that only examine recordings are in `recorded.ts`.
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import type { Bench } from '../bench.ts'
import type { Check } from '../check.ts'

const CLAUSE = 'DEVICES.md, Connect'
const TRIALS = 5
/** Five random waits are very unlikely to be this close together. */
const SPREAD_LEAST_MS = 10
const FAILING_MS = 10_000
/** A device without backoff also needs time on a busy machine, and must be detected there, too. */
const FAILING_LEAST_MS = 4_000
const REFUSED_MS = 60_000
const REFUSED_TRIES_A_MINUTE = 6
const FAREWELL_MS = 10_000
const NOTICE_EXTRA_MS = 10_000
const BIRTH_MS = 5_000

export const CONNECTION_CHECKS: readonly Check[] = [
  {
    id: 'CONN-06',
    level: 'MUST',
    track: 'connection',
    clause: CLAUSE,
    title: 'the device reconnects after random waits, and tries at most once a second',
    run: reconnects,
  },
  {
    id: 'CONN-07',
    level: 'MUST',
    track: 'refused',
    clause: CLAUSE,
    title: 'the device tries at most six times a minute while the broker refuses it',
    run: limitsAttempts,
  },
  {
    id: 'CONN-08',
    level: 'MUST',
    track: 'connection',
    clause: 'DEVICES.md, What a device publishes',
    title: 'the device publishes offline on status before it disconnects on SIGTERM',
    run: publishesOffline,
  },
  {
    id: 'CONN-09',
    level: 'MUST',
    track: 'silence',
    clause: CLAUSE,
    title: 'the device notices a dead network within one and a half keep-alives plus 10 s',
    run: noticesSilence,
  },
]

async function reconnects(bench: Bench): Promise<void> {
  const waits: number[] = []
  for (let trial = 0; trial < TRIALS; trial++) {
    await bench.ready()
    await untilOnline(bench)
    const cutAt = Date.now()
    bench.broker.cut()
    await bench.ready()
    waits.push(Date.now() - cutAt)
  }
  const spread = Math.max(...waits) - Math.min(...waits)
  if (spread < SPREAD_LEAST_MS)
    throw new UnmetCheck(
      'it waits the same time before each connect, so a whole fleet would reconnect at the same moment',
      `waits in ms: ${waits.join(', ')}`,
    )
  const { behaviour, recordings } = bench.broker
  const before = recordings.length
  behaviour.onConnect = 'cut'
  bench.broker.cut()
  const forMs = Math.max(FAILING_LEAST_MS, FAILING_MS * bench.device.pace)
  await bench.wait(forMs)
  const opened = recordings.slice(before).map(({ openedAt }) => openedAt)
  // The first two attempts may follow each other quickly, because the connection was good before.
  if (opened.length > forMs / 1_000 + 2)
    throw new UnmetCheck(
      `it tried to connect ${opened.length} times within ${forMs / 1_000} s`,
      `attempts after ms: ${opened.map((at) => at - (opened[0] ?? 0))}`,
    )
  await bench.ready()
}

async function limitsAttempts(bench: Bench): Promise<void> {
  await bench.ready()
  await untilOnline(bench)
  const before = bench.broker.recordings.length
  bench.broker.behaviour.onConnect = 'refuse'
  bench.broker.cut()
  const first = await bench.until('the device connects again', () => bench.broker.recordings[before], 60_000)
  const forMs = REFUSED_MS * bench.device.pace
  await bench.wait(forMs)
  const tries = bench.broker.recordings.slice(before)
  const allowed = Math.ceil((REFUSED_TRIES_A_MINUTE * forMs) / 60_000)
  if (tries.length > allowed)
    throw new UnmetCheck(
      `it tried ${tries.length} times within ${forMs / 1_000} s while it was refused; ${allowed} attempts are allowed`,
      `attempts after s: ${tries.map(({ openedAt }) => Math.round((openedAt - first.openedAt) / 100) / 10)}`,
    )
}

async function publishesOffline(bench: Bench): Promise<void> {
  const { program } = bench
  const connection = await bench.ready()
  const { sessionId } = await untilOnline(bench)
  await program.stop('SIGTERM', FAREWELL_MS)
  // The shell that started the device may exit before the device, and the last bytes may arrive after that.
  const isOver = () => connection.closedAt !== undefined
  await bench.until('the connection ends after SIGTERM', isOver, FAREWELL_MS)
  const topic = bench.broker.topic('status')
  const last = connection.published.findLast((message) => message.topic === topic)
  const evidence = last?.payload.toString('utf8')
  if (last?.body?.['status'] !== 'offline')
    throw new UnmetCheck('its last message on status does not say offline', evidence)
  if (last.body['session_id'] !== sessionId)
    throw new UnmetCheck('its offline message has another session_id than its first message', evidence)
  await bench.ready()
}

async function noticesSilence(bench: Bench): Promise<void> {
  const connection = await bench.ready()
  await untilOnline(bench)
  const keepaliveSec = connection.connect?.keepalive ?? 0
  if (keepaliveSec === 0)
    throw new UnmetCheck('it connects with a keep-alive of 0, so it cannot notice a dead network')
  bench.broker.behaviour.answers = false
  const withinMs = keepaliveSec * 1_500 + NOTICE_EXTRA_MS
  const before = bench.broker.recordings.length
  await bench.until(
    `the device closes a connection without responses (its keep-alive is ${keepaliveSec} s)`,
    () => connection.closedAt !== undefined || bench.broker.recordings.length > before,
    withinMs,
  )
  await bench.ready()
}

async function untilOnline(bench: Bench): Promise<{ readonly sessionId: unknown }> {
  const connection = await bench.ready()
  const topic = bench.broker.topic('status')
  try {
    const birth = await bench.until(
      'online on status',
      () => connection.published.find((message) => message.topic === topic),
      BIRTH_MS,
    )
    return { sessionId: birth.body?.['session_id'] }
  } catch (error) {
    if (error instanceof UnmetCheck)
      throw new SkippedCheck('the device does not publish that it is online: see CONN-03')
    throw error
  }
}
