// Recognises messages that a broker outside sends again because it does not know whether they arrived: each counts once
// (R1). EMQX names a message by 16 bytes: its time in microseconds (8), its connection (6), a count (2). Within one
// connection the names grow, and messages arrive in their order.
//
// - Only two kinds of messages are dropped: those that the broker marks as sent again, and those that such a message has
//   brought already, because a reader that was paused may append its own copy after that of its successor. So a clock of
//   the broker that is set back loses nothing.
// D2. The judgement depends on places in the log alone, so a message that is read again gets the same judgement, although
//     vitals may be later by then. Messages from before everything that is kept here count as new.
// D3. Messages are sent again as a run, in their first order: first those that the log has, then those that it lacks. So
//     the last name before a run is enough to judge the whole run.
import { FLAG_DUP } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import { type Incoming, placeOf } from './incoming.ts'

type Name = readonly [at: number, count: number]

interface Run {
  /** Place of the run's first message. */
  readonly place: number
  /** The greatest name before the run. */
  readonly before: Name
  last: Name
}

/** One connection, up to the last of its messages that was read. */
export interface Origin {
  readonly connection: number
  /** The greatest name so far. */
  name: Name
  place: number
  readonly runs: Run[]
  /** What earlier runs brought, as far as that is still known. */
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
  // By D2: the connection was known and has been forgotten since.
  if (known !== undefined || origins.some((origin) => origin.place >= place)) return known
  const origin: Origin = { connection, name: NO_NAME, place: place - 1, runs: [] }
  makeRoom(origins, sentAt)
  origins.push(origin)
  return origin
}

/** When a reader dies, the messages it leaves behind may belong to every connection of the last moments. */
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

/** If two readers each believe that they own the lane, they take it from each other. Runs then come by the dozen, and the
 *  messages that one reader read first are appended after all of them. So what a forgotten run brought is remembered. */
function forgetOldest(origin: Origin): void {
  const oldest = origin.runs.shift()
  if (oldest !== undefined && isAfter(oldest.last, oldest.before))
    origin.brought = joined([...(origin.brought ?? []), oldest])
}

/** Joins the two oldest runs where there are many: messages between them came as well. The joined run counts from the
 *  place of the second, because those messages were new before it (D2). */
function joined(runs: readonly Run[]): readonly Run[] {
  const [first, second, ...others] = runs
  if (first === undefined || second === undefined || runs.length <= LIMITS.runsPerOriginMax) return runs
  return [{ ...second, before: first.before }, ...others]
}

/** A run continues while its names keep growing and no new message has come since (D3). */
function isGoingOn({ before, last }: Run, greatest: Name, name: Name): boolean {
  return isAfter(name, last) && !isAfter(greatest, isAfter(last, before) ? last : before)
}

function isAfter(left: Name, right: Name): boolean {
  return left[0] === right[0] ? left[1] > right[1] : left[0] > right[0]
}
