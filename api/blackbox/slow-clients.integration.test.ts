// Clients that stop reading do not affect the others.
import type { Socket } from 'node:net'
import type { MqttClient } from 'mqtt'
import packets from 'mqtt-packet'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, dialMqtt, publish, type Watcher, watch } from './testing/service-clients.ts'
import { type Loader, startLoad } from './testing/service-load.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const ROUNDS = 30
const KIB = 1024

const harness = new ServiceHarness()
let service: Service
let admin: Rest
let calm: MqttClient
const stops: (() => unknown)[] = []

beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
  calm = await connectDevice(service, 'calm', await registerDevice(admin, 'calm'))
  await calm.subscribeAsync('fleet/calm/telemetry', { qos: 1 })
})
afterAll(async () => {
  for (const stop of stops) stop()
  await calm?.endAsync(true)
  await harness.close()
})

async function metric(name: string): Promise<number> {
  const { text } = await service.nobody.get('//metrics')
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? Number.NaN)
}

/** Sends one message after the other, each of which has to be acknowledged and to arrive. */
async function converse(rounds: number, watcher?: Watcher): Promise<void> {
  let echoed = ''
  const listen = (_: string, payload: Buffer) => {
    echoed = payload.toString()
  }
  calm.on('message', listen)
  for (let round = 0; round < rounds; round++) {
    const text = JSON.stringify({ round, of: Math.random() })
    const acked = publish(calm, 'calm', text)
    await until('the echo', () => echoed === text)
    if (watcher !== undefined)
      await until('the event', () => JSON.stringify(watcher.frames.at(-1)).includes(text.slice(1, -1)))
    await acked
  }
  calm.off('message', listen)
}

/** A device that floods its own subscription and never reads. */
async function floodingDevice(id: string): Promise<Socket> {
  const socket = await dialMqtt(service)
  stops.push(() => socket.destroy())
  socket.pause()
  const password = Buffer.from(await registerDevice(admin, id))
  const topic = `fleet/${id}/telemetry`
  const connect = {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    keepalive: 60,
  } as const
  socket.write(packets.generate({ ...connect, clientId: id, username: id, password }))
  socket.write(packets.generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 0 }] }))
  const payload = JSON.stringify({ text: 'x'.repeat(7 * KIB) })
  const flood = packets.generate({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false })
  const timer = setInterval(() => {
    // Bytes that the service does not accept are dropped.
    for (let i = 0; i < 20 && socket.writableLength < 1_024 * KIB; i++) socket.write(flood)
  }, 5)
  stops.push(() => clearInterval(timer))
  return socket
}

test('devices that flood themselves and do not read are disconnected and delay nobody', async () => {
  const memoryBefore = await metric('process_resident_memory_bytes')
  await Promise.all(['flood-1', 'flood-2', 'flood-3'].map(floodingDevice))
  await converse(ROUNDS)
  await until(
    'all three are cut',
    async () => (await metric('fleet_mqtt_sessions_total{result="cut_frozen"}')) === 3,
  )
  expect(calm.connected).toBe(true)
  expect((await metric('process_resident_memory_bytes')) - memoryBefore).toBeLessThan(300e6)
})

test('clients of /ws that do not read are disconnected or told what they missed, and delay nobody', async () => {
  const healthy = await watch(service, admin)
  await healthy.subscribe('calm', 'telemetry', { filter: { device_id: 'calm' } })
  const [frozen, slow] = [await watch(service, admin), await watch(service, admin)]
  for (const watcher of [frozen, slow]) {
    await watcher.subscribe('all', 'telemetry')
    stops.push(() => watcher.socket.terminate())
  }
  const before = 3
  await until('all three are counted', async () => (await metric('fleet_ws_connections')) === before)
  const loaders = await startNoise()
  slow.socket.pause()
  await until('events are held back', async () => (await metric('fleet_ws_held_bytes')) > 0)
  // The second event takes the place of the first, which is missed. With more of them, a busy machine would be so slow that
  // this client would be cut, too.
  await converse(2, healthy)
  slow.socket.resume()
  await until('a resync', () => slow.frames.some(({ type }) => type === 'resync'))

  frozen.socket.pause()
  await until('events are held back', async () => (await metric('fleet_ws_held_bytes')) > 0)
  await converse(1, healthy)
  // Nobody had to wait until the frozen one was cut.
  expect(await metric('fleet_ws_connections')).toBe(before)
  await converse(ROUNDS, healthy)
  await until('the frozen one is cut', async () => (await metric('fleet_ws_connections')) === before - 1)
  for (const loader of loaders) loader.stop()

  // The slow client ends with the latest values of each device.
  const text = JSON.stringify({ final: Math.random() })
  await publish(calm, 'calm', text)
  for (const watcher of [slow, healthy])
    await until('the last event', () => watcher.frames.some((frame) => JSON.stringify(frame).includes(text)))
  expect(healthy.frames.some(({ type }) => type === 'resync')).toBe(false)
  await until('nothing is held back', async () => (await metric('fleet_ws_held_bytes')) === 0)
  healthy.socket.terminate()
})

/** Fills the buffers of a socket within seconds. */
async function startNoise(): Promise<readonly Loader[]> {
  const filler = 'x'.repeat(7 * KIB)
  const loaders = await startLoad(service, admin, {
    prefix: 'noise',
    devices: 20,
    perSecond: 50,
    window: 20,
    filler,
  })
  stops.push(() => loaders.map((loader) => loader.stop()))
  return loaders
}
