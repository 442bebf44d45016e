// Checks rollouts: each ends, its places are never exceeded, no device is ordered what was not granted, and what a job
// says at its end is what its device runs.
import { isOpen } from '../../../../engine/domain/ota/job-table.ts'
import { UPDATE_ENDS } from '../../../../engine/edge/simulator/updates/update-ends.ts'
import type { JobStatus } from '../../../../schemas/vocabulary.ts'
import type { Move, Recording, Rollout } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import type { Violation } from './violation.ts'

/** Between its grant and its end a job holds a place; a history knows it from the message on. */
const HOLDING: ReadonlySet<string> = new Set([
  ...['notified', 'downloading', 'downloaded', 'installing', 'rebooting', 'confirming', 'rolling_back'],
])
/** A device whose connection was cut again and again after its update may be taken for one that does not run stably. */
const BY_FAULTS: ReadonlySet<string> = new Set(['UNSTABLE'])

const violation = (device: string, text: string, isAbsence = false): Violation => ({
  check: 'rollouts',
  device,
  text,
  ...(isAbsence ? { isAbsence } : {}),
})

export function checkRollouts(recording: Recording): readonly Violation[] {
  const last = recording.rollouts.at(-1)
  return [
    ...orders(recording),
    ...recording.rollouts.flatMap((rollout) => [
      ...ends(recording, rollout),
      ...places(rollout, recording.promises.clockSkewMs),
      ...attempts(recording, rollout),
    ]),
    ...(last === undefined ? [] : atRest(recording, last)),
  ]
}

/** The numbers of a device's messages only grow. */
function orders({ orders: all }: Recording): readonly Violation[] {
  return [...groupedBy(all, ({ device }) => device)].flatMap(([device, own]) =>
    own.flatMap(({ seq }, i) => {
      const before = own[i - 1]?.seq ?? 0
      return seq > before ? [] : [violation(device, `was sent message ${seq} after ${before}`)]
    }),
  )
}

function ends({ kinds, boots }: Recording, rollout: Rollout): readonly Violation[] {
  const { deployment, version, isFinished, status, jobs } = rollout
  const open = isFinished ? [] : [violation('', `${deployment} is ${status} and does not finish`, true)]
  const lacking = Object.keys(kinds).filter((device) => !jobs.some((job) => job.device === device))
  return [
    ...open,
    ...lacking.map((device) => violation(device, `has no job in ${deployment}`)),
    ...jobs.flatMap(({ device, status: end, error = '' }) => {
      if (!isFinal(end)) return [violation(device, `its job of ${deployment} is ${end}`, true)]
      const kind = kinds[device]
      const has = boots.some((boot) => boot.device === device && boot.version === version)
      if (end === 'succeeded' && !has) return [violation(device, `succeeded without ever running ${version}`)]
      const isExpected = kind !== undefined && UPDATE_ENDS[kind].includes(end)
      return isExpected || BY_FAULTS.has(error)
        ? []
        : [violation(device, `(${kind}) ended ${end} ${error} in ${deployment}`)]
    }),
  ]
}

function places({ deployment, moves, places: most }: Rollout, clockSkewMs: number): readonly Violation[] {
  // Who gave a place back in the same millisecond made room.
  const steps = [...groupedBy(moves, ({ device }) => device).values()]
    .flatMap((own) => certain(holds(inOrder(own, clockSkewMs)), clockSkewMs))
    .toSorted((a, b) => a.at - b.at || a.step - b.step)
  let now = 0
  for (const { device, step } of steps) {
    now += step
    if (now > most) return [violation(device, `is number ${now} at once in ${deployment}, of ${most}`)]
  }
  return []
}

/** Without moves that another clock puts behind the end of their attempt. */
function inOrder(moves: readonly Move[], clockSkewMs: number): readonly Move[] {
  return moves.filter(
    (move, i) =>
      !isHolding(move) ||
      !moves
        .slice(0, i)
        .some(
          ({ status, attempt, at }) =>
            isFinal(status) && attempt === move.attempt && move.at - at < clockSkewMs,
        ),
  )
}

/** A place counts from when it was taken by any of the clocks. */
function certain(steps: readonly Hold[], clockSkewMs: number): readonly Hold[] {
  return steps.flatMap((hold, i): readonly Hold[] => {
    const at = hold.at + clockSkewMs
    if (hold.step > 0) return at > (steps[i + 1]?.at ?? at) ? [] : [{ ...hold, at }]
    const taken = steps[i - 1]
    return taken !== undefined && taken.at + clockSkewMs > hold.at ? [] : [hold]
  })
}

interface Hold {
  readonly device: string
  readonly at: number
  readonly step: 1 | -1
}

/** When a device took a place and when it gave it back. A place that it had for less than a millisecond is left out. */
function holds(moves: readonly Move[]): readonly Hold[] {
  const steps: Hold[] = []
  for (const [i, move] of moves.entries()) {
    const before = moves[i - 1]
    const wasHolding = before !== undefined && isHolding(before)
    if (isHolding(move) === wasHolding) continue
    const { device, at } = move
    if (wasHolding && steps.at(-1)?.at === at) steps.pop()
    else steps.push({ device, at, step: wasHolding ? -1 : 1 })
  }
  return steps
}

const isFinal = (status: JobStatus) => !isOpen(status) && status !== 'rolling_back'
const isHolding = ({ status }: Move) => HOLDING.has(status)

/** Orders only of attempts that the job knows, and each attempt but the first after the one before was given up. */
function attempts(
  { orders: all, promises }: Recording,
  { deployment, jobs, moves, attemptsMax }: Rollout,
): readonly Violation[] {
  return jobs.flatMap(({ device, attempt }) => {
    const found: Violation[] = []
    const told = all.filter((order) => order.device === device && order.deployment === deployment)
    const most = Math.max(
      0,
      ...told.filter(({ action }) => action === 'install').map((order) => order.attempt),
    )
    if (most > attempt)
      found.push(violation(device, `was ordered attempt ${most} of ${deployment}, saved is ${attempt}`, true))
    if (attempt > attemptsMax) found.push(violation(device, `had ${attempt} attempts in ${deployment}`))
    const own = moves.filter((each) => each.device === device)
    let before: Move | undefined
    for (const move of own) {
      const isNext = move.attempt > (before?.attempt ?? move.attempt) && !isBack(move)
      const until = move.at + promises.clockSkewMs
      if (isNext && before && isHolding(before) && !isGivenUpBy(own, before.attempt, until))
        found.push(violation(device, `began attempt ${move.attempt} of ${deployment} in ${before.status}`))
      before = move
    }
    return found
  })
}

/** The node that gave it up may have a clock that is ahead of the one that began the next. */
function isGivenUpBy(moves: readonly Move[], attempt: number, until: number): boolean {
  const last = moves.findLast((move) => move.attempt === attempt && move.at < until)
  return last !== undefined && !isHolding(last)
}

/** The way back counts its attempts anew. */
const isBack = ({ status }: Move) => status === 'rolling_back' || isFinal(status)

/** After the last rollout nothing moves any more: who runs the version has succeeded, and nobody else. */
function atRest({ running }: Recording, { version, jobs, deployment }: Rollout): readonly Violation[] {
  return jobs.flatMap(({ device, status }) => {
    const isThere = running[device] === version
    if (isThere && status !== 'succeeded')
      return [violation(device, `runs ${version}, and its job of ${deployment} is ${status}`, true)]
    return !isThere && status === 'succeeded'
      ? [violation(device, `succeeded in ${deployment}, and runs ${running[device]}`)]
      : []
  })
}
