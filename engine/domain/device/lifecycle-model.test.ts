// The lifecycle of a device, under events in any order, checked against a second transcription of the specification's
// table.
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CommandId, Micros, Millis, parseDeviceId } from '../../../schemas/ids.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../../schemas/vocabulary.ts'
import { toAck } from '../command/ack-message.ts'
import { commandDeadline, sendCommands } from './command-events.ts'
import type { DeviceEvent, DeviceRequest, Effect, Outcome } from './events.ts'
import { type Device, type DownlinkRoute, toRecord } from './record.ts'
import { nextDeadline, register, transition } from './transition.ts'

const TIMEOUT_MS = 60_000
const RECOVERY_MS = 10_000
const NEVER = Number.POSITIVE_INFINITY

/** Moves that happen by themselves, and moves made by hand. */
const TABLE: Readonly<
  Record<
    DeviceStatus,
    { readonly own: Readonly<Record<string, DeviceStatus>>; readonly byHand: readonly DeviceStatus[] }
  >
> = {
  provisioning: { own: { heartbeat: 'online' }, byHand: ['decommissioned'] },
  online: { own: { silence: 'offline', fault: 'error' }, byHand: ['decommissioned', 'maintenance'] },
  offline: { own: { heartbeat: 'online' }, byHand: ['decommissioned', 'maintenance'] },
  error: { own: { recovery: 'online' }, byHand: ['decommissioned', 'maintenance', 'online'] },
  maintenance: { own: {}, byHand: ['decommissioned', 'online'] },
  decommissioned: { own: {}, byHand: [] },
}

const WORDS = [
  ...['connect', 'disconnect', 'publish', 'publish', 'leave', 'fault', 'other fault', 'well', 'look', 'look'],
  ...['name', 'rename', 'desire', 'report', 'ask', 'command', 'cancel', 'puback', 'complete', 'firmware'],
] as const
type Step =
  | { readonly kind: 'word'; readonly word: (typeof WORDS)[number] }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'set'; readonly status: DeviceStatus }
  | { readonly kind: 'decommission' }
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('word'), word: fc.constantFrom(...WORDS) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      ms: fc.constantFrom(1, 9_999, RECOVERY_MS, 30_000, TIMEOUT_MS - 1, TIMEOUT_MS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('set'), status: fc.constantFrom(...DEVICE_STATUSES) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'decommission' }) },
)

const id = parseDeviceId('dev_a')
if (id === undefined) throw new Error('a valid id')
const born = register(
  id,
  { kind: 'register', name: 'A', type: 'mqtt_device' },
  { kind: 'user', id: 'usr_1' },
  Millis(1),
).device
const none = { expectedVersion: undefined, clientToken: undefined, messageId: 'm' }

const nothing = { sha256: undefined, bootId: undefined, session: undefined }
const unsaid = { ...nothing, boot: 'unsaid', mayBeOld: false } as const

class World {
  device: Device = frozen(born)
  now = 1
  /** What the model expects, computed without the code under test. */
  status: DeviceStatus = 'provisioning'
  statusSince = 1
  isConnected = false
  heardAt = 0
  recoverAt = NEVER
  #sessions = 0
  #commands = 0

  take(next: Step): void {
    if (next.kind === 'wait') this.now += next.ms
    else if (next.kind === 'set') this.set(next.status)
    else if (next.kind === 'decommission') {
      this.request({ kind: 'decommission' })
      this.believe('decommissioned')
    } else this.takeWord(next.word)
  }

  takeWord(word: (typeof WORDS)[number]): void {
    const commandId = CommandId(`c${this.#commands}`)
    const ack = toAck({ request_id: commandId, status: 'completed' })
    if (ack.kind === 'refused') throw new Error(ack.detail)
    if (word === 'connect') this.connect()
    else if (word === 'disconnect') this.isConnected = false
    else if (word === 'publish') this.hear()
    else if (word === 'leave') {
      this.decide({ kind: 'left', reason: 'lwt', seenAt: Millis(this.now) })
      this.comeTo('silence')
    } else if (word === 'fault' || word === 'other fault') {
      this.recoverAt = NEVER
      this.decide({ kind: 'diagnosed', faults: [{ name: word, text: word }] })
      this.comeTo('fault')
      this.hear()
    } else if (word === 'well') this.recoverAt = this.now + RECOVERY_MS
    else if (word === 'look') this.look()
    else if (word === 'name' || word === 'rename') this.request({ kind: 'edit', replace: false, name: word })
    else if (word === 'desire') this.request({ kind: 'desire', patch: { a: this.now % 3 }, mode: 'merge' })
    else if (word === 'report') this.decide({ kind: 'reported', patch: { a: this.now % 3 }, ...none })
    else if (word === 'ask') this.decide({ kind: 'shadow_wanted', part: 'document' })
    else if (word === 'firmware')
      this.decide({ kind: 'described', report: { version: `${this.now % 3}`, ...unsaid } })
    else if (word === 'command')
      this.request({ kind: 'command', id: CommandId(`c${++this.#commands}`), wish: { name: 'go' } })
    else if (word === 'cancel') this.request({ kind: 'cancel', id: commandId })
    else if (word === 'puback') this.decide({ kind: 'delivered', commandId, message: 'command' })
    else this.decide({ kind: 'acked', ack })
  }

  connect(): void {
    this.isConnected = true
    this.#sessions++
    this.send()
    this.hear()
  }

  /** Everything that a device publishes is a sign of life. */
  hear(): void {
    this.heardAt = this.now
    this.decide({ kind: 'heard', seenAt: Millis(this.now) })
    this.comeTo('heartbeat')
  }

  set(status: DeviceStatus): void {
    const outcome = this.request({ kind: 'edit', replace: false, status })
    const { byHand } = TABLE[this.status]
    const refusal = outcome.effects.find((effect) => effect.kind === 'refuse')
    if (byHand.includes(status)) {
      expect(refusal).toBe(undefined)
      this.believe(status)
    } else if (this.status === 'decommissioned') expect(refusal?.code).toBe('DEVICE_DECOMMISSIONED')
    else if (status !== this.status) {
      expect(refusal?.code).toBe('INVALID_STATE_TRANSITION')
      const allowed = refusal?.detail['allowed']
      expect(Array.isArray(allowed) && [...allowed].sort()).toEqual(byHand)
      expect(refusal?.detail).toMatchObject({ from: this.status, to: status })
    }
  }

  /** What a shard's sweep does: it handles what is due and nothing earlier (R6). */
  look(): void {
    const isDue = this.deadline() <= this.now
    const isMoved = isDue && (this.status === 'online' || this.status === 'error')
    if (isDue)
      this.decide(
        this.device.status === 'error'
          ? { kind: 'recovered' }
          : { kind: 'silent', seenAt: Millis(this.heardAt) },
      )
    this.decide({ kind: 'overdue' })
    if (isMoved) this.comeTo(this.status === 'error' ? 'recovery' : 'silence')
    expect(commandDeadline(this.device, this.way, Millis(this.now))).toBeGreaterThan(this.now)
  }

  deadline(): number {
    const { heardAt, recoverAt } = this
    return nextDeadline(this.device, { heardAt, recoverAt }, TIMEOUT_MS)
  }

  comeTo(cause: string): void {
    const to = TABLE[this.status].own[cause]
    if (to !== undefined) this.believe(to)
  }

  believe(status: DeviceStatus): void {
    if (status !== this.status) this.statusSince = this.now
    this.status = status
  }

  request(request: DeviceRequest): Outcome {
    return this.decide({ kind: 'requested', request, by: { kind: 'user', id: 'usr_1' } })
  }

  decide(event: DeviceEvent): Outcome {
    const outcome = transition(this.device, event, Millis(this.now))
    this.keep(outcome)
    this.send()
    return outcome
  }

  send(): void {
    const { way } = this
    const outcome = sendCommands(this.device, { way, now: Millis(this.now) })
    const isPaused = ['maintenance', 'decommissioned'].includes(this.device.status)
    if (isPaused || !this.isConnected) expect(outcome.effects).toEqual([])
    this.keep(outcome)
  }

  get way(): DownlinkRoute | undefined {
    return this.isConnected ? { session: Micros(this.#sessions), via: undefined } : undefined
  }

  keep({ device, effects }: Outcome): void {
    const before = this.device
    // The same reference means an equal device, and the other way round (R7).
    expect(isDeepStrictEqual(before, device)).toBe(before === device)
    const kinds = effects.map(({ kind }) => kind)
    if (kinds.includes('refuse')) expect([device === before, kinds]).toEqual([true, ['refuse']])
    if (before.status === 'decommissioned') {
      expect(device).toBe(before)
      expect(kinds.filter((kind) => kind !== 'refuse')).toEqual([])
    }
    const isRecordMoved = !isDeepStrictEqual(toRecord(before), toRecord(device))
    expect(device.revision - before.revision).toBe(isRecordMoved ? 1 : 0)
    expect(effects.filter(isOfRecord)).toHaveLength(isRecordMoved ? 1 : 0)
    expect(device.shadow.version - before.shadow.version).toBe(device.shadow === before.shadow ? 0 : 1)
    this.device = frozen(device)
  }

  check(): void {
    const { status, statusSince } = this.device
    expect({ status, statusSince }).toEqual({ status: this.status, statusSince: this.statusSince })
    const online = Math.max(this.heardAt, this.statusSince) + TIMEOUT_MS
    const expected = status === 'online' ? online : status === 'error' ? this.recoverAt : NEVER
    expect(this.deadline()).toBe(expected)
  }
}

function isOfRecord(effect: Effect): boolean {
  return effect.kind === 'announce'
}

/** Freezes a value all the way down, so that a change in place throws. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}

/** Random steps rarely do this: a will at the end of a session, and then maintenance by hand. */
const AWAY_AND_MAINTAINED: Step[] = [
  { kind: 'word', word: 'connect' },
  { kind: 'word', word: 'publish' },
  { kind: 'word', word: 'leave' },
  { kind: 'set', status: 'maintenance' },
]

test('a device moves as the table says and in no other way, whatever happens', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
      const world = new World()
      for (const next of steps) {
        const { status } = world
        world.take(next)
        world.check()
        if (world.status !== status) seen.add(`${status} ${world.status}`)
      }
    }),
    { numRuns: 500, examples: [[AWAY_AND_MAINTAINED]] },
  )
  // The run has covered every cell of the table.
  const all = Object.entries(TABLE).flatMap(([from, { own, byHand }]) =>
    [...Object.values(own), ...byHand].map((to) => `${from} ${to}`),
  )
  expect([...seen].sort()).toEqual([...new Set(all)].sort())
})
