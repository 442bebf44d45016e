import { expect, test } from 'vitest'
import { BroadcastId, type DeviceId } from '../../../schemas/ids.ts'
import { MemoryBroker } from '../../adapters/broker/testing/memory.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { createCommand } from '../../domain/command/create.ts'
import type { Command } from '../../domain/command/record.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { BroadcastRequest, RequestOutcome } from '../../ports/engine.ts'
import { Fault } from '../../ports/fault.ts'
import { NO_SAVE } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deviceOf, START } from '../shard/testing/items.ts'
import { Broadcasts } from './broadcasts.ts'

const b1 = BroadcastId('b1')
const stop: BroadcastRequest = { broadcastId: b1, group: 'hall', command: 'stop', by: 'usr_1' }

/** Devices that keep their commands, and a store that outlives the broadcasts. */
class Bench {
  readonly time = new SimTime(START)
  readonly store = new MemoryStore({ partitionOf })
  readonly commands = new Map<DeviceId, Command[]>()
  readonly full = new Set<string>()
  faults = 0
  /** How many milliseconds a device takes to answer. */
  answerMs = 0
  submitted = 0
  opened: Promise<void> = Promise.resolve()
  broadcasts = this.open()

  open(): Broadcasts {
    this.broadcasts = new Broadcasts({
      store: this.store,
      claims: [],
      broker: new MemoryBroker(),
      clock: this.time,
      schedule: this.time.newIncarnation().schedule,
      submit: async (id, request) => {
        if (this.answerMs > 0) await this.time.newIncarnation().schedule.sleep(this.answerMs)
        return this.#submit(id, request)
      },
      commands: async (id) => this.commands.get(id),
      children: async (broadcastId) =>
        [...this.commands].flatMap(([deviceId, commands]) =>
          commands
            .filter((command) => command.broadcastId === broadcastId)
            .map(({ id: commandId, status }) => ({ deviceId, commandId, status })),
        ),
      signal: () => {},
    })
    this.opened = this.broadcasts.open()
    return this.broadcasts
  }

  async addDevices(count: number): Promise<void> {
    const changed = Array.from({ length: count }, (_, i) =>
      deviceOf(`d${i}`, { group: i % 2 ? 'hall' : 'hall/a' }),
    )
    await this.store.save({ ...NO_SAVE, changed })
  }

  async settled<T>(promise: Promise<T>, ms = 5_000): Promise<T> {
    await this.time.advance(ms)
    return promise
  }

  #submit(id: DeviceId, request: DeviceRequest): RequestOutcome {
    if (this.faults > 0 && this.faults--) throw new Fault('LOG_UNAVAILABLE', { retryable: true })
    this.submitted++
    if (this.full.has(id)) return { kind: 'refused', code: 'COMMAND_QUEUE_FULL', detail: {} }
    const known = this.commands.get(id) ?? []
    const view = { connected: false } as Extract<RequestOutcome, { kind: 'done' }>['view']
    if (request.kind === 'cancel') {
      this.commands.set(
        id,
        known.map((command) => (command.id === request.id ? { ...command, status: 'cancelled' } : command)),
      )
      return { kind: 'done', view }
    }
    if (request.kind !== 'command') throw new Error('only commands')
    const outcome = createCommand(known, request.wish, { id: request.id, by: 'usr_1', now: this.time.now() })
    if (outcome.kind === 'created') this.commands.set(id, [...outcome.commands])
    return { kind: 'done', view }
  }
}

test('every member gets its own command, members that refuse are named, and pages are in order', async () => {
  const bench = new Bench()
  await bench.addDevices(250)
  bench.full.add('d7')
  const answer = await bench.settled(bench.broadcasts.create(stop))
  expect(answer).toMatchObject({
    kind: 'done',
    broadcast: { total: 250, accepted: 249, skipped: [{ deviceId: 'd7', reason: 'queue_full' }] },
  })
  const state = await bench.broadcasts.state(b1, { offset: 1, limit: 2 })
  expect(state?.counts).toMatchObject({ pending: 249, completed: 0 })
  expect(state?.commands.map(({ deviceId }) => deviceId)).toEqual(['d1', 'd10'])
  const ids = [...bench.commands.values()].flatMap((commands) => commands.map(({ id }) => id))
  expect([ids.length, new Set(ids).size]).toEqual([249, 249])
  expect(ids.filter((id) => !id.startsWith('cmd_'))).toEqual([])
  expect(await bench.broadcasts.state(BroadcastId('b9'), { offset: 0, limit: 1 })).toBeUndefined()
})

test('a broadcast to nobody, or with a command that every device would refuse, is refused', async () => {
  const bench = new Bench()
  await bench.addDevices(2)
  const create = (more: Partial<BroadcastRequest>) =>
    bench.settled(bench.broadcasts.create({ ...stop, ...more }))
  expect(await create({ group: 'hal' })).toMatchObject({ kind: 'refused', code: 'EMPTY_TARGET' })
  expect(await create({ within: ['elsewhere'] })).toMatchObject({ code: 'EMPTY_TARGET' })
  expect(await create({ unfit: { mqtt_device: 'unknown_command' } })).toMatchObject({ code: 'EMPTY_TARGET' })
  expect(await create({ command: '$cancel' })).toMatchObject({ code: 'VALIDATION_FAILED' })
  expect(bench.submitted).toBe(0)
})

test('devices whose type does not take the command are skipped, whatever their type is called', async () => {
  const bench = new Bench()
  const changed = ['mqtt_device', 'gateway', 'constructor'].map((type) =>
    deviceOf(`a-${type}`, { group: 'hall', type }),
  )
  await bench.store.save({ ...NO_SAVE, changed })
  const answer = await bench.settled(
    bench.broadcasts.create({ ...stop, unfit: { gateway: 'invalid_parameters' } }),
  )
  expect(answer).toMatchObject({
    broadcast: { accepted: 2, skipped: [{ deviceId: 'a-gateway', reason: 'invalid_parameters' }] },
  })
})

test('a repeated request with the same id is the same broadcast', async () => {
  const bench = new Bench()
  await bench.addDevices(3)
  await bench.settled(bench.broadcasts.create(stop))
  const again = await bench.settled(bench.broadcasts.create({ ...stop, command: 'other' }))
  expect(again).toMatchObject({ kind: 'done', broadcast: { name: 'stop' } })
  expect(bench.submitted).toBe(3)
})

test('while the log fails the members wait, and are asked again', async () => {
  const bench = new Bench()
  await bench.addDevices(3)
  bench.faults = 2
  const answer = await bench.settled(bench.broadcasts.create(stop))
  expect(answer).toMatchObject({ broadcast: { accepted: 3 } })
  expect((await bench.broadcasts.state(b1, { offset: 0, limit: 9 }))?.counts.pending).toBe(3)
})

test('while the store fails the handing out waits, and then reaches every member (G1)', async () => {
  const bench = new Bench()
  await bench.addDevices(4_000)
  const save = bench.store.save.bind(bench.store)
  let faults = 3
  bench.store.save = async (what) => {
    // The broadcast itself is saved before anybody is asked.
    if (bench.submitted > 0 && faults-- > 0) throw new Fault('STORE_UNAVAILABLE', { retryable: true })
    return save(what)
  }
  const answer = await bench.settled(bench.broadcasts.create({ ...stop, timeoutSec: 60 }))
  expect(answer).toMatchObject({ broadcast: { accepted: 4_000 } })
  expect(bench.submitted).toBe(4_000)
  bench.broadcasts.close()
  bench.open()
  await bench.time.advance(5_000)
  expect(bench.submitted).toBe(4_000)
})

test('a shard with slow answers is asked for many devices at once', async () => {
  const bench = new Bench()
  await bench.addDevices(10_000)
  bench.answerMs = 700
  await bench.settled(bench.broadcasts.create({ ...stop, timeoutSec: 60 }), 12_000)
  expect(bench.submitted).toBe(10_000)
})

test('commands left by a crash are handed out after it, with the time of the broadcast (G1, G2)', async () => {
  const bench = new Bench()
  await bench.addDevices(150)
  bench.faults = 1_000_000
  const answer = await bench.settled(bench.broadcasts.create({ ...stop, timeoutSec: 60 }))
  expect(answer).toMatchObject({ kind: 'done', broadcast: { accepted: 150 } })
  bench.broadcasts.close()
  bench.faults = 0
  bench.open()
  await bench.time.advance(5_000)
  expect((await bench.broadcasts.state(b1, { offset: 0, limit: 0 }))?.counts.pending).toBe(150)
  const last = [...bench.commands.values()].flat().map(({ expiresAt }) => expiresAt - START)
  expect(Math.max(...last)).toBe(60_000 + Math.floor((149 * 1_000) / LIMITS.broadcastPerSecDefault))
})

test('cancelling stops the handing out and cancels open commands', async () => {
  const bench = new Bench()
  await bench.addDevices(150)
  await bench.settled(bench.broadcasts.create(stop))
  const state = await bench.settled(bench.broadcasts.cancel(b1, 'usr_1'))
  expect(state?.counts).toMatchObject({ pending: 0, cancelled: 150 })
  const other = { ...stop, broadcastId: BroadcastId('b2') }
  bench.faults = 1_000_000
  await bench.settled(bench.broadcasts.create(other))
  const cancelling = bench.broadcasts.cancel(other.broadcastId, 'usr_1')
  expect((await bench.settled(cancelling))?.broadcast.accepted).toBe(0)
})

test('a cancellation that the leader cannot finish is refused, and the next leader finishes it', async () => {
  const bench = new Bench()
  await bench.addDevices(150)
  bench.faults = 1_000_000
  await bench.settled(bench.broadcasts.create({ ...stop, timeoutSec: 60 }))
  const cancelling = bench.broadcasts.cancel(b1, 'usr_1').then(
    () => 'done',
    (fault: Fault) => fault.code,
  )
  bench.broadcasts.close()
  expect(await bench.settled(cancelling)).toBe('NOT_OWNED')
  bench.open()
  await bench.opened
  bench.faults = 0
  const state = await bench.settled(bench.broadcasts.cancel(b1, 'usr_1'))
  expect([state?.counts.pending, state?.counts.cancelled]).toEqual([0, bench.commands.size])
})

test('the result is saved for when the commands are no longer kept (G3)', async () => {
  const bench = new Bench()
  await bench.addDevices(2)
  await bench.settled(bench.broadcasts.create({ ...stop, timeoutSec: 10 }))
  for (const [id, commands] of bench.commands)
    bench.commands.set(
      id,
      commands.map((command) => ({ ...command, status: 'completed' })),
    )
  await bench.time.advance(20_000)
  await bench.broadcasts.settle()
  bench.commands.clear()
  bench.open()
  await bench.opened
  const { counts } = (await bench.broadcasts.state(b1, { offset: 0, limit: 9 })) ?? {}
  expect(counts).toMatchObject({ completed: 2, pending: 0 })
})

test('a result is not saved while a command is open, though its time is over (G3)', async () => {
  const bench = new Bench()
  await bench.addDevices(2)
  await bench.settled(bench.broadcasts.create({ ...stop, timeoutSec: 10 }))
  await bench.time.advance(20_000)
  await bench.broadcasts.settle()
  for (const [id, commands] of bench.commands)
    bench.commands.set(
      id,
      commands.map((command) => ({ ...command, status: 'expired' })),
    )
  await bench.broadcasts.settle()
  bench.commands.clear()
  const { counts } = (await bench.broadcasts.state(b1, { offset: 0, limit: 9 })) ?? {}
  expect(counts).toMatchObject({ expired: 2, pending: 0 })
})

test('only the newest broadcasts are kept', async () => {
  const bench = new Bench()
  await bench.addDevices(1)
  for (let n = 0; n <= LIMITS.broadcastsKeptMax; n++)
    await bench.settled(bench.broadcasts.create({ ...stop, broadcastId: BroadcastId(`n${n}`) }), 10)
  const found = (n: number) => bench.broadcasts.state(BroadcastId(`n${n}`), { offset: 0, limit: 0 })
  expect([await found(0), (await found(1))?.broadcast.id]).toEqual([undefined, 'n1'])
})

test('no member is left out, or asked twice, while devices join and leave the group', async () => {
  const bench = new Bench()
  await bench.addDevices(1_200)
  const create = (id: string, moved: readonly ReturnType<typeof deviceOf>[]) => {
    const creating = bench.broadcasts.create({ ...stop, broadcastId: BroadcastId(id) })
    // The members are looked at in steps. This is saved between two of them.
    return bench.store.save({ ...NO_SAVE, changed: moved }).then(() => bench.settled(creating))
  }
  expect(await create('b1', [deviceOf('d0', { group: 'yard' })])).toMatchObject({
    broadcast: { total: 1_200 },
  })
  expect(bench.commands.size).toBe(1_200)
  expect(await create('b2', [deviceOf('a', { group: 'hall' })])).toMatchObject({
    broadcast: { total: 1_199 },
  })
  const asked = [...bench.commands.values()].map((commands) => commands.length)
  expect(Math.max(...asked)).toBe(2)
})
