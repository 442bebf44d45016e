// A lane alone, on simulated time. The broker here only lets clients in and ends the earlier connection of the same one.
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import mqtt from 'mqtt-packet'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { SimTime } from '../../../testing/time.ts'
import { until } from '../testing/fake-host.ts'
import { Lane, type LaneOptions } from './mqtt-lane.ts'

const MINUTE_MS = 60_000
const STEP_MS = 10
const V5 = { protocolVersion: 5 }
const AGAIN = { cmd: 'publish', topic: 'ingest/0/x', qos: 1, dup: true, retain: false } as const

class TakeOverBroker {
  readonly #server: Server = createServer((socket) => this.#accept(socket))
  #reader: Socket | undefined
  connects = 0
  granted = 0
  /** Packet ids of messages that it sends again to whoever connects. */
  resent: readonly number[] = []
  readonly acknowledged: number[] = []

  async open(): Promise<URL> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    return new URL(`mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
  }

  /** Ends the reader's connection, as a broker does that restarts. */
  drop(): void {
    this.#reader?.destroy()
  }

  async close(): Promise<void> {
    this.drop()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(socket: Socket): void {
    const parser = mqtt.parser(V5)
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => parser.parse(bytes))
    parser.on('packet', (packet) => {
      const { cmd } = packet
      if (cmd === 'connect') {
        this.connects++
        this.#reader?.destroy()
        this.#reader = socket
        socket.write(mqtt.generate({ cmd: 'connack', sessionPresent: true, reasonCode: 0 }, V5))
        for (const messageId of this.resent)
          socket.write(mqtt.generate({ ...AGAIN, messageId, payload: String(messageId) }, V5))
      }
      if (packet.cmd === 'puback') this.acknowledged.push(packet.messageId ?? 0)
      if (cmd === 'subscribe') {
        this.granted++
        socket.write(mqtt.generate({ cmd: 'suback', messageId: 1, granted: [1] }, V5))
      }
      if (cmd === 'pingreq') socket.write(mqtt.generate({ cmd: 'pingresp' }, V5))
    })
  }
}

const time = new SimTime(Millis(1_000_000))
let broker: TakeOverBroker
let url: URL
let waiting = 0
let waits: number[] = []
const lanes: Lane[] = []

beforeEach(async () => {
  broker = new TakeOverBroker()
  url = await broker.open()
  waiting = 0
  waits = []
})
afterEach(async () => {
  for (const lane of lanes.splice(0)) lane.close()
  await broker.close()
})

function open(more: Partial<LaneOptions> = {}): Lane {
  const { schedule } = time.newIncarnation()
  const lane = new Lane({
    url,
    account: { user: 'fleet:ingest', password: 'secret' },
    clientId: 'fleet:ingest:0',
    filters: ['ingest/0/#'],
    take: () => {},
    isCongested: () => false,
    caughtUp: () => {},
    clock: time,
    schedule: {
      every: schedule.every,
      after(ms, run) {
        waiting++
        waits.push(ms)
        return schedule.after(ms, () => {
          waiting--
          run()
        })
      },
    },
    opened: () => {},
    warn: (message) => expect.fail(message),
    ...more,
  })
  lanes.push(lane)
  return lane
}

/** Lets time pass until a condition holds; returns how much. What goes over sockets takes no time. */
async function pass(ms: number, isOver = () => false): Promise<number> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    if (isOver()) return passed
    await time.advance(STEP_MS)
    await quiet()
  }
  return ms
}

/** No connection is under way: a lane reads, or it waits for its next attempt. */
async function quiet(): Promise<void> {
  const isQuiet = () =>
    broker.granted === broker.connects && readers() <= 1 && waiting + readers() === lanes.length
  if (!isQuiet()) await until(isQuiet, 'the connections')
}

const readers = () => lanes.filter((lane) => lane.isOpen).length

test('two processes that take a lane from each other do so ever more rarely, and the last one reads on soon', async () => {
  const first = open()
  await quiet()
  const second = open()
  await until(() => readers() === 1 && second.isOpen, 'the second to read')
  await pass(MINUTE_MS)
  expect(broker.connects).toBeLessThan((2 * MINUTE_MS) / LIMITS.mqttReconnectMsMax + 14)

  // The table of owners says whose it is.
  first.close()
  lanes.splice(lanes.indexOf(first), 1)
  waiting = second.isOpen ? 0 : 1
  const tookMs = await pass(MINUTE_MS, () => second.isOpen)
  expect(tookMs).toBeLessThanOrEqual(LIMITS.mqttReconnectMsMax)

  // It has lasted, so the next loss costs a moment again.
  await pass(2 * LIMITS.mqttReconnectMsMax)
  broker.drop()
  await until(() => waiting === 1, 'the loss')
  expect(await pass(MINUTE_MS, () => second.isOpen)).toBeLessThanOrEqual(LIMITS.mqttReconnectMs)
})

test('a broker that is away is tried at short intervals, however long it is', async () => {
  const gone = new TakeOverBroker()
  url = await gone.open()
  await gone.close()
  open()
  await quiet()
  await pass(20 * LIMITS.mqttReconnectMs)
  expect(waits.length).toBeGreaterThanOrEqual(20)
  expect(Math.max(...waits)).toBeLessThanOrEqual(LIMITS.mqttReconnectMs)
})

test('messages that come again by their packet ids, which began anew, are taken in their own order', async () => {
  broker.resent = [1, 2, 65_534, 65_535]
  const taken: string[] = []
  const lane = open({
    take: ({ payload }, seq) => {
      taken.push(String(payload))
      lane.done(seq)
    },
  })
  await until(() => broker.acknowledged.length === 4, 'all of them')
  expect(taken).toEqual(['65534', '65535', '1', '2'])
  expect(broker.acknowledged).toEqual([65_534, 65_535, 1, 2])
})

test('messages that come again in their own order stay in it', async () => {
  broker.resent = [65_534, 65_535, 1, 2]
  const taken: string[] = []
  open({ take: ({ payload }) => taken.push(String(payload)) })
  await until(() => taken.length === 4, 'all of them')
  expect(taken).toEqual(['65534', '65535', '1', '2'])
})
