// The lifecycle of commands, under events in any order, checked against a small model.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CommandId, Micros } from '../../../schemas/ids.ts'
import { COMMAND_PRIORITIES, type CommandPriority, type CommandStatus } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { acknowledge, cancelCommand, expireCommands, markDelivered } from './lifecycle.ts'
import { type Commands, NO_COMMANDS } from './record.ts'
import { commandsDeadline, type SendContext, sendDue } from './send-order.ts'
import { ackOf, at, create, find } from './testing/command.ts'

const index = fc.nat({ max: 3 })
const step = fc.oneof(
  fc.record({
    kind: fc.constant('create' as const),
    priority: fc.constantFrom(...COMMAND_PRIORITIES),
    timeoutSec: fc.constantFrom(5, 30, 3_600),
  }),
  fc.record({
    kind: fc
      .constantFrom('connect', 'connect', 'connect', 'disconnect', 'hold', 'release', 'sweep')
      .map((word) => word),
  }),
  fc.record({
    kind: fc.constant('wait' as const),
    ms: fc.constantFrom(1, 4_000, 9_999, 10_000, 31_000, 90_000_000),
  }),
  fc.record({ kind: fc.constantFrom('puback' as const, 'told' as const, 'cancel' as const), index }),
  fc.record({
    kind: fc.constant('ack' as const),
    index,
    status: fc.constantFrom('acked', 'in_progress', 'completed', 'failed', 'rejected'),
  }),
)
interface Step {
  readonly kind: string
  readonly ms?: number
  readonly index?: number
  readonly status?: string
  readonly priority?: CommandPriority
  readonly timeoutSec?: number
}

/** What the model knows about one command, computed without the code under test. */
interface Expectation {
  status: CommandStatus
  late: boolean
  sentTimes: number[]
  readonly expiresAt: number
  /** The final statuses it has had. `expired` is added once a late result is no longer possible. */
  ends: CommandStatus[]
}

const FINAL = ['completed', 'failed', 'rejected', 'cancelled']

function believeAck(command: Expectation, said: string, now: number): void {
  if (!FINAL.includes(command.status) && now >= command.expiresAt) {
    const isResult = said === 'completed' || said === 'failed'
    if (!isResult || now >= command.expiresAt + LIMITS.commandLateMs) {
      // An answer that is recorded makes the code check the time. Otherwise the sweep notices.
      if (FINAL.includes(said)) command.status = 'expired'
      return
    }
    command.late = true
    command.status = said
  } else if (!FINAL.includes(command.status)) {
    if (said === 'completed' || said === 'failed' || said === 'rejected') command.status = said
    else command.status = 'acked'
  }
}

class World {
  now = 0
  session = 0
  isConnected = false
  isHeld = false
  commands: Commands = NO_COMMANDS
  readonly believed: Expectation[] = []

  get context(): SendContext {
    return {
      session: this.isConnected ? Micros(this.session) : undefined,
      isRelayed: false,
      isUpdating: false,
      status: this.isHeld ? 'maintenance' : 'online',
      now: at(this.now),
    }
  }

  take(next: Step): void {
    const target = this.believed[next.index ?? 0]
    const id = CommandId(`c${next.index ?? 0}`)
    const now = at(this.now)
    if (next.kind === 'wait') this.now += next.ms ?? 0
    else if (next.kind === 'disconnect') this.isConnected = false
    else if (next.kind === 'hold' || next.kind === 'release') this.isHeld = next.kind === 'hold'
    else if (next.kind === 'connect') {
      this.isConnected = true
      this.session++
    } else if (next.kind === 'create') this.create(next)
    else if (next.kind === 'sweep') this.sweep()
    else if (target === undefined) return
    else if (next.kind === 'ack') {
      const outcome = acknowledge(this.commands, ackOf(next.index ?? 0, next.status ?? ''), now)
      if (outcome.kind === 'changed') this.commands = outcome.commands
      believeAck(target, next.status ?? '', this.now)
    } else if (next.kind === 'cancel') {
      const outcome = cancelCommand(this.commands, id, { now, by: 'usr_1' })
      const isOpen = ['pending', 'delivered', 'acked'].includes(target.status) && this.now < target.expiresAt
      expect(outcome.kind).toBe(isOpen ? 'cancelled' : 'refused')
      if (outcome.kind !== 'cancelled') return
      this.commands = outcome.commands
      target.status = 'cancelled'
    } else {
      const kind = next.kind === 'told' ? 'cancel' : 'command'
      this.commands = markDelivered(this.commands, { id, kind, now }).commands
      const isNews = kind === 'command' && target.status === 'pending' && target.sentTimes.length > 0
      if (isNews && this.now < target.expiresAt) target.status = 'delivered'
    }
  }

  create({ priority, timeoutSec = 0 }: Step): void {
    this.commands = create(this.commands, { priority, timeoutSec }, this.now)
    const expiresAt = this.now + timeoutSec * 1_000
    this.believed.push({ status: 'pending', late: false, sentTimes: [], expiresAt, ends: [] })
  }

  sweep(): void {
    this.commands = expireCommands(this.commands, at(this.now)).commands
    for (const command of this.believed)
      if (!FINAL.includes(command.status) && this.now >= command.expiresAt) command.status = 'expired'
  }

  /** Runs after every event of a device. */
  send(): void {
    const { commands, sends } = sendDue(this.commands, this.context)
    if (sends.length === 0) expect(commands).toBe(this.commands)
    this.commands = commands
    for (const { kind, command } of sends) {
      const target = this.believed[Number(command.id.slice(1))]
      expect(this.isConnected && !this.isHeld && target !== undefined).toBe(true)
      expect(target?.status).toBe(kind === 'command' ? 'pending' : 'cancelled')
      if (kind === 'command') {
        expect(this.now).toBeLessThan(target?.expiresAt ?? 0)
        target?.sentTimes.push(this.now)
      } else expect(target?.sentTimes.length).toBeGreaterThan(0)
    }
    expect(sendDue(commands, this.context).sends).toEqual([])
  }

  check(): void {
    this.believed.forEach((believed, i) => {
      const command = find(this.commands, i)
      expect(command.status).toBe(believed.status)
      expect(command.late).toBe(believed.late)
      expect(command.delivery.attempts).toBe(believed.sentTimes.length)
      expect(command.delivery.attempts).toBeLessThanOrEqual(LIMITS.commandAttemptsMax)
      if (FINAL.includes(command.status) && believed.ends.at(-1) !== command.status)
        believed.ends.push(command.status)
      expect(believed.ends.length).toBeLessThanOrEqual(1)
      const isSweepDue = ['pending', 'delivered', 'acked'].includes(command.status)
      if (isSweepDue)
        expect(commandsDeadline(this.commands, this.context)).toBeLessThanOrEqual(command.expiresAt)
    })
  }
}

test('nothing is sent after expiry or cancel, and a final status stays, whatever happens', () => {
  fc.assert(
    fc.property(fc.array<Step>(step, { minLength: 5, maxLength: 40 }), (steps) => {
      const world = new World()
      for (const next of steps) {
        const before = world.commands
        const copy = structuredClone(before)
        world.take(next)
        world.send()
        world.check()
        expect(before).toEqual(copy)
      }
    }),
    { numRuns: 500 },
  )
})
