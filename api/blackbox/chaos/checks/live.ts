// Checks what listeners of `/ws` were told: nothing beyond their groups and role, numbered without a hole, in the order of
// the service, and so that a snapshot and what follows it are the state that is stored.
import type { LiveConnection, LiveFrame, Statement } from '../live-recording.ts'
import type { Change, DeviceOutcome, FaultNote, Recording } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import type { Violation } from './violation.ts'

/** Others take over from a node so long after its fault. */
const TAKEN_OVER_MS = 30_000
/** A client that took nothing for a while loses values in between, and is told how many afterwards. */
const SLOWS: ReadonlySet<string> = new Set(['slow', 'freeze', 'cut'])

export function checkLive(recording: Recording): readonly Violation[] {
  const { live, groups, stored } = recording
  const outcomes = new Map(stored.map((outcome) => [outcome.device, outcome]))
  return [
    ...absent(live),
    ...live.flatMap((connection) => [
      ...unnumbered(connection),
      ...trespassing(connection, groups),
      ...[...toldOf(connection)].flatMap(([device, told]) => {
        const outcome = outcomes.get(device)
        return outcome === undefined ? [] : new DeviceCheck(recording, connection, outcome).check(told)
      }),
    ]),
  ]
}

function absent(live: readonly LiveConnection[]): readonly Violation[] {
  return [...groupedBy(live, ({ watcher }) => watcher)]
    .filter(([, connections]) => connections.at(-1)?.closedAt !== undefined)
    .map(([watcher]) => violation('', `${watcher} has no connection at the end`, true))
}

function unnumbered({ watcher, frames }: LiveConnection): readonly Violation[] {
  const last = new Map<string, number>()
  return frames.flatMap(({ channel, seq, at }): Violation[] => {
    if (seq === undefined) return []
    const before = last.get(channel) ?? 0
    last.set(channel, seq)
    if (seq === before + 1) return []
    return [violation('', `${watcher} got event ${seq} of ${channel} after ${before}, at ${at}`)]
  })
}

function trespassing(connection: LiveConnection, groups: Recording['groups']): readonly Violation[] {
  const { watcher, forbidden, frames } = connection
  const mayHear = (device: string) =>
    connection.groups.length === 0 || connection.groups.includes(groups[device] ?? '')
  return frames.flatMap(({ channel, kind, shown, at }): Violation[] => {
    if (forbidden.includes(channel) && kind !== 'refused')
      return [violation('', `${watcher} got a ${kind} on ${channel} at ${at}, which is not for its role`)]
    return shown
      .filter(({ device }) => !mayHear(device))
      .map(({ device }) => violation(device, `${watcher} was told of it on ${channel} at ${at}`))
  })
}

/** A frame and what it says of one device. */
interface DeviceFrame extends Omit<LiveFrame, 'shown'> {
  readonly shown: Statement
}

function toldOf({ frames }: LiveConnection): ReadonlyMap<string, readonly DeviceFrame[]> {
  const told = frames.flatMap((frame) => frame.shown.map((shown) => ({ ...frame, shown })))
  return groupedBy(told, ({ shown }) => shown.device)
}

class DeviceCheck {
  readonly #outcome: DeviceOutcome
  readonly #connection: LiveConnection
  /** Faults during which something may be left out. */
  readonly #faults: readonly FaultNote[]
  readonly #isLossless: boolean
  readonly #found: Violation[] = []

  constructor({ faults, promises }: Recording, connection: LiveConnection, outcome: DeviceOutcome) {
    this.#outcome = outcome
    this.#connection = connection
    this.#isLossless = promises.isFeedLossless
    this.#faults = promises.isFeedLossless ? faults.filter(({ kind }) => SLOWS.has(kind)) : faults
  }

  check(told: readonly DeviceFrame[]): readonly Violation[] {
    this.#telemetry(told.filter(({ channel }) => channel === 'telemetry'))
    this.#lateTelemetry(told.filter(({ channel }) => channel === 'telemetry'))
    this.#shadows(told.filter(({ channel }) => channel === 'shadows'))
    return this.#found
  }

  /** Reports come in the order of their receive times, and are those that are stored after the snapshot's one. */
  #telemetry(told: readonly DeviceFrame[]): void {
    const { plain } = this.#outcome
    let before: DeviceFrame | undefined
    let places: readonly number[] | undefined
    for (const next of told) {
      const value = next.shown.plain
      if (next.kind === 'snapshot') places = value === undefined ? [0] : placesAfter(plain, value)
      if (value === undefined) continue
      if (next.kind === 'event') {
        if ((next.ts ?? 0) < (before?.ts ?? 0) && !this.#mayBeTakenOver(next))
          this.#violate(`${value} came after ${before?.shown.plain}, which is newer by its time`, next)
        const follow: readonly number[] | undefined = places
          ?.filter((place) => plain[place] === value)
          .map((place) => place + 1)
        if (follow?.length === 0 && !this.#mayBeLeftOut(before, next))
          this.#violate(`${value} followed ${before?.shown.plain}, which is not what is stored`, next, true)
        places = follow !== undefined && follow.length > 0 ? follow : placesAfter(plain, value)
      }
      before = next
    }
    if (this.#isStillTold('telemetry') && places !== undefined && !places.includes(plain.length))
      this.#violate(`${before?.shown.plain} is the last one, and ${plain.at(-1)} is stored`, before, true)
  }

  /** Reports with a time of their own, which lies behind that of others, are told like these: none is left out. */
  #lateTelemetry(told: readonly DeviceFrame[]): void {
    const stored = new Set(this.#outcome.timed.map(({ slot }) => slot))
    let before: DeviceFrame | undefined
    for (const next of told) {
      const { timed } = next.shown
      if (next.kind !== 'snapshot' && timed === undefined) continue
      const known = next.kind === 'snapshot' ? undefined : before?.shown.timed
      const value = timed ?? -1
      if (known !== undefined && !this.#mayBeLeftOut(before, next))
        for (let left = known + 1; left < value; left++)
          if (stored.has(left)) this.#violate(`late report ${value} followed ${known}`, next, true)
      if (next.kind === 'snapshot' || value > (before?.shown.timed ?? -1))
        before = { ...next, shown: { ...next.shown, timed: value } }
    }
    const last = Math.max(-1, ...stored)
    const known = before?.shown.timed
    if (this.#isStillTold('telemetry') && known !== undefined && known !== last)
      this.#violate(`late report ${known} is the last one, and ${last} is stored`, before, true)
  }

  /** Versions grow by one, each tells what is stored, and the snapshot and they are the state. */
  #shadows(told: readonly DeviceFrame[]): void {
    const changes = new Map(this.#outcome.changes.map((change) => [change.version, change]))
    let before: DeviceFrame | undefined
    for (const next of told) {
      const { version = 0 } = next.shown
      if (next.kind === 'snapshot') this.#compareState(next)
      else {
        const known = before?.shown.version ?? version - 1
        if (version <= known && !this.#mayBeTakenOver(next))
          this.#violate(`version ${version} came after ${known}`, next)
        if (version > known + 1 && !this.#mayBeLeftOut(before, next))
          this.#violate(`version ${version} followed ${known}`, next)
        this.#compareChange(next, changes.get(version))
      }
      if (before === undefined || version > (before.shown.version ?? 0)) before = next
    }
    const { version } = this.#outcome.shadow
    if (this.#isStillTold('shadows') && before !== undefined && before.shown.version !== version)
      this.#violate(`version ${before.shown.version} is the last one, and it is at ${version}`, before, true)
  }

  #compareChange(told: DeviceFrame, stored: Change | undefined): void {
    const { version, section, value } = told.shown
    if (stored?.section === section && stored?.value === value) return
    const what = stored === undefined ? 'nothing' : `${stored.section} ${stored.value}`
    this.#violate(`version ${version} told ${section} ${value}, and ${what} is stored`, told, true)
  }

  #compareState(told: DeviceFrame): void {
    const { version = 0, desired, reported } = told.shown
    const upTo = this.#outcome.changes.filter((change) => change.version <= version)
    const last = (section: Change['section']) => upTo.findLast((change) => change.section === section)?.value
    if (last('desired') === desired && last('reported') === reported) return
    const text = `the snapshot of version ${version} shows ${desired}, ${reported}`
    this.#violate(`${text}, and ${last('desired')}, ${last('reported')} is stored`, told, true)
  }

  /** An owner that stood still may tell late what it had saved, and ingresses have other clocks. */
  #mayBeTakenOver({ at }: DeviceFrame): boolean {
    return !this.#isLossless && this.#isFaulty(at, at)
  }

  #mayBeLeftOut(before: DeviceFrame | undefined, { at, channel }: DeviceFrame): boolean {
    const { frames } = this.#connection
    const isTold = frames.some((frame) => frame.kind === 'resync' && frame.channel === channel)
    return isTold || this.#isFaulty(before?.at ?? at, at)
  }

  #isFaulty(since: number, until: number): boolean {
    return this.#faults.some(({ from, to = from }) => from <= until && to + TAKEN_OVER_MS >= since)
  }

  /** Whether all that is stored must be told: the connection is still open, and nothing was left out. */
  #isStillTold(channel: LiveFrame['channel']): boolean {
    const { closedAt, openedAt, frames } = this.#connection
    const isLeftOut = frames.some((frame) => frame.kind === 'resync' && frame.channel === channel)
    const isCalm = this.#isLossless || this.#faults.every(({ from, to = from }) => to < openedAt)
    return closedAt === undefined && !isLeftOut && isCalm
  }

  #violate(what: string, told: DeviceFrame | undefined, isAbsence = false): void {
    const { watcher, node } = this.#connection
    const where = `${told?.channel} at ${told?.at} to ${watcher} at ${node}`
    this.#found.push(violation(this.#outcome.device, `${where}: ${what}`, isAbsence))
  }
}

/** Where the stored values go on after `value`, which may have been sent more than once. */
function placesAfter(stored: readonly number[], value: number): readonly number[] {
  return stored.flatMap((each, i) => (each === value ? [i + 1] : []))
}

function violation(device: string, text: string, isAbsence = false): Violation {
  return { check: 'live', device, text, ...(isAbsence ? { isAbsence } : {}) }
}
