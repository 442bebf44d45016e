// Checks shadows: versions only grow, and each shadow is a linearizable register. A version is a state's place in the
// order of states, and the history tells which write made it. So the order is known and need not be searched for.
import type { Change, DesireCall, DeviceOutcome, Message, Recording, ShadowCall } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import { mayBeLost } from './losses.ts'
import { type Operation, outOfOrder } from './real-time.ts'
import type { Violation } from './violation.ts'

/** A state is visible after it was made and until the next one is visible. */
const SEEN = 0.5

export function checkShadows(recording: Recording): readonly Violation[] {
  const calls = groupedBy(recording.calls, ({ device }) => device)
  const messages = groupedBy(recording.messages, ({ device }) => device)
  return recording.stored.flatMap((stored) => {
    const own = calls.get(stored.device) ?? []
    const writes = own.filter((call) => call.kind === 'desire')
    const reads = own.filter((call) => call.kind === 'shadow')
    const reports = (messages.get(stored.device) ?? []).filter(({ series }) => series === 'report')
    const checker = new ShadowChecker(recording, stored, { writes, reads, reports })
    return checker.check()
  })
}

interface Operations {
  readonly writes: readonly DesireCall[]
  readonly reads: readonly ShadowCall[]
  readonly reports: readonly Message[]
}

class ShadowChecker {
  readonly #recording: Recording
  readonly #stored: DeviceOutcome
  readonly #did: Operations
  readonly #found: Violation[] = []

  constructor(recording: Recording, stored: DeviceOutcome, did: Operations) {
    this.#recording = recording
    this.#stored = stored
    this.#did = did
  }

  check(): readonly Violation[] {
    this.#versions()
    this.#writes()
    this.#reports()
    this.#states()
    this.#realTime()
    return this.#found
  }

  #violate(text: string, isAbsence = false): void {
    this.#found.push({
      check: 'shadows',
      device: this.#stored.device,
      text,
      ...(isAbsence ? { isAbsence } : {}),
    })
  }

  #versions(): void {
    const { changes, shadow } = this.#stored
    const versions = changes.map(({ version }) => version)
    const isWhole = versions.length === shadow.version && versions.every((version, i) => version === i + 1)
    if (!isWhole)
      this.#violate(
        `the history of version ${shadow.version} holds ${gaps(versions)}`,
        versions.length < shadow.version,
      )
  }

  #writes(): void {
    const { changes } = this.#stored
    const desired = changes.filter(({ section }) => section === 'desired')
    const byValue = groupedBy(desired, ({ value }) => value)
    const written = new Map(this.#did.writes.map((write) => [write.value, write]))
    for (const { value, status, version, expected } of this.#did.writes) {
      const made = byValue.get(value) ?? []
      if (made.length > 1) this.#violate(`${value} took effect ${made.length} times`)
      if (status === 200 && made[0]?.version !== version)
        this.#violate(
          `${value} was answered with version ${version}, which ${made[0] === undefined ? 'is not there' : `is ${made[0].version}`}`,
          made.length === 0,
        )
      if (isRefused(status) && made.length > 0) this.#violate(`${value} was refused and took effect`)
      if (made[0] !== undefined && expected !== undefined && expected !== made[0].version - 1)
        this.#violate(`${value} was meant for version ${expected} and made ${made[0].version}`)
      if (status === 409 && expected === version)
        this.#violate(`${value} was refused for the version it was meant for`)
    }
    for (const { value, version } of desired)
      if (!written.has(String(value))) this.#violate(`version ${version} holds ${value}, which nobody wrote`)
  }

  #reports(): void {
    const { faults, promises } = this.#recording
    const reported = this.#stored.changes.filter(({ section }) => section === 'reported')
    const sent = new Set(this.#did.reports.map(({ n }) => n))
    let before = -1
    for (const { value, version } of reported) {
      const n = Number(value)
      if (!sent.has(n)) this.#violate(`version ${version} holds report ${value}, which was never sent`)
      else if (n <= before) this.#violate(`report ${n} took effect after report ${before}`)
      before = n
    }
    const there = new Set(reported.map(({ value }) => value))
    for (const report of this.#did.reports)
      if (!there.has(report.n) && !mayBeLost(report, faults, promises))
        this.#violate(`report ${report.n} was acknowledged and is not there`, true)
  }

  /** A read shows the state of its version. */
  #states(): void {
    const { changes, shadow } = this.#stored
    const states = statesOf(changes)
    const reads = this.#did.reads.flatMap(({ seen, caller }) =>
      seen === undefined ? [] : [{ seen, caller }],
    )
    for (const { seen, caller } of [...reads, { seen: shadow, caller: 'the last one' }]) {
      const state = states.get(seen.version)
      // The check of versions reports this.
      if (state === undefined) continue
      if (state.desired !== seen.desired || state.reported !== seen.reported)
        this.#violate(`${caller} read ${JSON.stringify(seen)}, and the state was ${JSON.stringify(state)}`)
    }
  }

  #realTime(): void {
    const { isPubackDurable } = this.#recording.promises
    const versionOf = (section: Change['section'], value: unknown) =>
      this.#stored.changes.find((change) => change.section === section && change.value === value)?.version
    const operations: Operation[] = []
    const add = (
      label: string,
      place: number | undefined,
      from: number | undefined,
      to: number | undefined,
    ) => {
      if (place === undefined || from === undefined) return
      operations.push({
        label: `${label} at version ${place}`,
        place,
        from,
        to: to ?? Number.POSITIVE_INFINITY,
      })
    }
    for (const { caller, value, status, version, from, to } of this.#did.writes) {
      if (status === 409 && version !== undefined) add(`refusal of ${caller}`, version + SEEN, from, to)
      else add(`write ${value}`, versionOf('desired', value), from, status === 200 ? to : undefined)
    }
    for (const { caller, seen, from, to } of this.#did.reads)
      if (seen !== undefined) add(`read of ${caller}`, seen.version + SEEN, from, to)
    for (const { n, sentAt, ackedAt } of this.#did.reports)
      add(`report ${n}`, versionOf('reported', n), sentAt[0], isPubackDurable ? ackedAt : undefined)
    for (const { earlier, later } of outOfOrder(operations))
      this.#violate(
        `${later.label} began at ${later.from}, after ${earlier.label} had ended at ${earlier.to}`,
      )
  }
}

function isRefused(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500
}

function statesOf(changes: readonly Change[]) {
  const states = new Map<number, { desired: string | undefined; reported: number | undefined }>()
  let desired: string | undefined
  let reported: number | undefined
  states.set(0, { desired, reported })
  for (const { version, section, value } of changes) {
    if (section === 'desired') desired = String(value)
    else reported = Number(value)
    states.set(version, { desired, reported })
  }
  return states
}

/** Writes ranges such as `1-7 9-12`. */
function gaps(versions: readonly number[]): string {
  const spans: [number, number][] = []
  for (const version of versions) {
    const last = spans.at(-1)
    if (last !== undefined && last[1] === version - 1) last[1] = version
    else spans.push([version, version])
  }
  return spans.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(' ') || 'nothing'
}
