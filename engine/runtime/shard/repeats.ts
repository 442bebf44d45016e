// A broker outside sends a message again if it does not know whether it came: each counts once (R1). EMQX names a
// message by 16 bytes: its time in microseconds (8), the connection that it came by (6), a count (2). Of one connection
// these names grow, and messages come in their order.
//
// - Nothing is dropped but what the broker marks as sent again, and what such messages have brought already: a reader
//   that was paused may append its own copy behind that of the one that took over. So a clock of the broker that is set
//   back loses nothing.
// D2. Judgement depends on places in the log alone: what is read again is judged as the first time, though vitals may be
//     later by then. Behind what is kept here everything counts.
// D3. What is sent again comes as a run, in the order of the first time: first what the log has, then what it lacks. So
//     the last name before a run judges all of it.
import { FLAG_DUP } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import { type Incoming, placeOf } from './incoming.ts'

type Name = readonly [at: number, count: number]

interface Run {
  /** Place of the run's first message. */
  readonly place: number
  /** The greatest name before it. */
  readonly before: Name
  last: Name
}

/** One connection, as far as its messages were read. */
export interface Origin {
  readonly connection: number
  /** The greatest. */
  name: Name
  place: number
  readonly runs: Run[]
  /** What earlier runs brought, as far as it is still known. */
  brought?: readonly Run[]
}

const CONNECTION_AT = 8
const CONNECTION_BYTES = 6
const COUNT_AT = 14
const HIGH = 2 ** 32
const MICROS_PER_MILLI = 1_000
const NO_NAME: Name = [0, 0]

/** Whether the log has the message already. */
export function isRepeated(actor: { origins: Origin[] | undefined }, incoming: Incoming): boolean {
  const { buffer, byteOffset, length } = incoming.item.origin
  if (length === 0) return false
  actor.origins ??= []
  const at = placeOf(incoming)
  const bytes = Buffer.from(buffer, byteOffset, length)
  const name: Name = [bytes.readUInt32BE(0) * HIGH + bytes.readUInt32BE(4), bytes.readUInt16BE(COUNT_AT)]
  const connection = bytes.readUIntBE(CONNECTION_AT, CONNECTION_BYTES)
  const origin = originOf(actor.origins, { connection, place: at, sentAt: name[0] })
  if (origin === undefined) return false
  const isDup = (incoming.item.flags & FLAG_DUP) !== 0
  if (at > origin.place) advance(origin, { name, place: at, isDup })
  const { runs } = origin
  if (runs.length === 0) return false
  const isEarlier = (run: Run) => run.place <= at
  const brings = ({ before, last }: Run) => isAfter(name, before) && !isAfter(name, last)
  if (!isDup) return [...runs, ...(origin.brought ?? [])].some((run) => isEarlier(run) && brings(run))
  const run = runs.filter(isEarlier).at(-1)
  return run !== undefined && !isAfter(name, run.before)
}

function originOf(
  origins: Origin[],
  { connection, place, sentAt }: { connection: number; place: number; sentAt: number },
): Origin | undefined {
  const known = origins.find((origin) => origin.connection === connection)
  // By D2: it was known, and has been forgotten since.
  if (known !== undefined || origins.some((origin) => origin.place >= place)) return known
  const origin: Origin = { connection, name: NO_NAME, place: place - 1, runs: [] }
  makeRoom(origins, sentAt)
  origins.push(origin)
  return origin
}

/** What a reader leaves behind when it dies may be of all connections of the last moments. */
function makeRoom(origins: Origin[], sentAt: number): void {
  const { originsPerDeviceMax, oldOriginsPerDeviceMax, originFreshMs } = LIMITS
  const oldBefore = sentAt - originFreshMs * MICROS_PER_MILLI
  for (let oldest = origins[0]; oldest !== undefined; oldest = origins[0]) {
    const most = oldest.name[0] < oldBefore ? oldOriginsPerDeviceMax : originsPerDeviceMax
    if (origins.length < most) return
    origins.shift()
  }
}

function advance(
  origin: Origin,
  { name, place, isDup }: { name: Name; place: number; isDup: boolean },
): void {
  origin.place = place
  if (isDup) {
    const { runs } = origin
    const run = runs.at(-1)
    if (run !== undefined && isGoingOn(run, origin.name, name)) run.last = name
    else runs.push({ place, before: origin.name, last: name })
    if (runs.length > LIMITS.runsPerOriginMax) forgetOldest(origin)
  }
  if (isAfter(name, origin.name)) origin.name = name
}

/** Two readers that each believe the lane theirs take it from each other: then runs come by the dozen, and what one reader
 *  had read first is appended only after all of them. So what a forgotten run brought is still known. */
function forgetOldest(origin: Origin): void {
  const oldest = origin.runs.shift()
  if (oldest !== undefined && isAfter(oldest.last, oldest.before))
    origin.brought = joined([...(origin.brought ?? []), oldest])
}

/** What lies between two runs came as well, so they are one where there are many. It counts from the place of the second,
 *  because before that it was new (D2). */
function joined(runs: readonly Run[]): readonly Run[] {
  const [first, second, ...others] = runs
  if (first === undefined || second === undefined || runs.length <= LIMITS.runsPerOriginMax) return runs
  return [{ ...second, before: first.before }, ...others]
}

/** A run goes on while it brings ever greater names and nothing new has come since (D3). */
function isGoingOn({ before, last }: Run, greatest: Name, name: Name): boolean {
  return isAfter(name, last) && !isAfter(greatest, isAfter(last, before) ? last : before)
}

function isAfter(left: Name, right: Name): boolean {
  return left[0] === right[0] ? left[1] > right[1] : left[0] > right[0]
}
