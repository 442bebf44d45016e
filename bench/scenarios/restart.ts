// Measures the memory of 50 000 devices, and how quickly the service is back after kill -9 under load.

import { freePort } from '../../engine/adapters/testing/free-port.ts'
import type { DeviceLogin } from '../load/device-socket.ts'
import { DeviceSocket } from '../load/device-socket.ts'
import { encodeRing } from '../load/packets.ts'
import { makePayloads } from '../load/payloads.ts'
import { placesFor } from '../load/places.ts'
import { Rest } from '../load/rest.ts'
import { deviceIds, withGenerator } from '../load/session.ts'
import { sleep, ticks, until, within } from '../measure/deadline.ts'
import { residentOfTree } from '../measure/memory.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type Service, startService } from '../targets/service.ts'

const FIRST_ACK_MS = 60_000
const LOADED_SOCKETS = 1_000
/** After this time the service is idle and has collected its garbage, so memory can be read. */
const SETTLE_MS = 15_000

export const restart: Scenario = {
  name: 'restart',
  about: '50 000 devices: first PUBACK after kill -9, memory per idle and per connected device',
  async run(bench) {
    await bench.withDir(async (dataDir) => {
      const fleet = { dataDir, mqttPort: await freePort(), size: bench.quick ? 5_000 : 50_000 }
      const small = await anonOfSmall(bench, 0)
      const devices = await registerAll(bench, fleet)
      // Memory is read before the load, because reading a log again takes memory that does not belong to idle devices.
      await measureMemory(bench, { ...fleet, devices, small })
      await killUnderLoad(fleet, devices)
      await measureRestart(bench, fleet, devices)
    })
  },
}

interface FleetOnDisk {
  readonly dataDir: string
  readonly mqttPort: number
  readonly size: number
}

async function withService<T>(fleet: FleetOnDisk, work: (service: Service) => Promise<T>): Promise<T> {
  const service = await startService({ ...fleet, durability: 'power' })
  try {
    return await work(service)
  } finally {
    await service.kill()
  }
}

interface SmallFleet {
  readonly size: number
  readonly anonBytes: number
}

/** Measures the memory of a restarted service with this many devices, as the basis of a comparison. With too few devices,
 *  garbage collection would make a greater difference than the devices. */
async function anonOfSmall(bench: Bench, size: number): Promise<SmallFleet> {
  return bench.withDir(async (dataDir) => {
    const fleet = { dataDir, mqttPort: 0, size }
    await withService(fleet, async ({ httpUrl }) => {
      const rest = new Rest(httpUrl)
      await rest.login()
      await rest.register(deviceIds(size))
      rest.close()
    })
    return withService(fleet, async ({ pid }) => {
      await sleep(SETTLE_MS)
      return { size, anonBytes: residentOfTree(pid).root.anonBytes }
    })
  })
}

async function registerAll(bench: Bench, fleet: FleetOnDisk): Promise<readonly DeviceLogin[]> {
  return withService(fleet, async (service) => {
    const rest = new Rest(service.httpUrl)
    await rest.login()
    const startedAt = ticks()
    const devices = await rest.register(deviceIds(fleet.size))
    const seconds = (ticks() - startedAt) / 1000
    rest.close()
    bench.say(`${toDigits(fleet.size)} devices registered in ${toDigits(seconds)} s`)
    bench.add({
      scenario: `${toDigits(fleet.size)} devices`,
      name: 'registrations/s',
      value: fleet.size / seconds,
      unit: '',
      note: 'POST /devices, 64 in flight, durable',
    })
    return devices
  })
}

async function killUnderLoad(fleet: FleetOnDisk, devices: readonly DeviceLogin[]): Promise<void> {
  await withService(fleet, async (service) => {
    await withGenerator(async (generator) => {
      const some = devices.slice(0, LOADED_SOCKETS)
      await generator.open({
        ...service.mqtt,
        devices: some,
        connectsAtOnce: 256,
        ringSize: 64,
        greet: false,
      })
      const load = generator.closed({ window: 16, durationMs: 20_000, messagesPerDevice: undefined })
      await Promise.race([load, sleep(3_000)])
      await service.kill('SIGKILL')
      // The generator must fail here, because its sockets were closed.
      await load.catch(() => undefined)
    })
  })
}

async function measureRestart(
  bench: Bench,
  fleet: FleetOnDisk,
  devices: readonly DeviceLogin[],
): Promise<void> {
  const device = devices.at(-1)
  if (device === undefined) throw new Error('no device')
  const startedAt = ticks()
  const starting = startService({ ...fleet, durability: 'power' })
  const firstAckAt = until('first PUBACK', { deadlineMs: FIRST_ACK_MS, everyMs: 5 }, () =>
    publishOnce(fleet.mqttPort, device),
  )
  const [service, ackedAt] = await Promise.all([starting, firstAckAt])
  await service.kill()
  bench.add({
    scenario: `${toDigits(fleet.size)} devices`,
    name: 'first PUBACK after kill -9',
    value: (ackedAt - startedAt) / 1000,
    unit: 's',
    target: { kind: 'at_most', value: 2 },
    note: 'from the start of the process; killed while 1 000 sockets were publishing',
  })
}

/** Resolves with the time of the PUBACK, or with undefined if the service does not answer. */
async function publishOnce(port: number, device: DeviceLogin): Promise<number | undefined> {
  const topic = `fleet/${device.id}/telemetry`
  const ring = encodeRing({ topic, payloads: makePayloads(1), offset: 0, size: 1 })
  try {
    const socket = await DeviceSocket.open({ host: '127.0.0.1', port, device, ring, keepAliveSec: 60 })
    const ackedAt = new Promise<number>((resolve) => {
      socket.onAcks = () => resolve(ticks())
    })
    socket.send(1, ticks())
    try {
      return await within(FIRST_ACK_MS, 'PUBACK', ackedAt)
    } finally {
      socket.close()
    }
  } catch {
    return undefined
  }
}

interface FleetWithDevices extends FleetOnDisk {
  readonly devices: readonly DeviceLogin[]
  readonly small: SmallFleet
}

async function measureMemory(bench: Bench, fleet: FleetWithDevices): Promise<void> {
  const scenario = `${toDigits(fleet.size)} devices`
  await withService(fleet, async ({ pid, mqtt }) => {
    await sleep(SETTLE_MS)
    const idle = residentOfTree(pid).root
    const connected = fleet.devices.slice(0, bench.quick ? 1_000 : placesFor(10_000))
    bench.add({
      scenario,
      name: 'memory per idle device',
      value: (idle.anonBytes - fleet.small.anonBytes) / (fleet.size - fleet.small.size),
      unit: 'bytes',
      target: { kind: 'at_most', value: 1024 },
      note: 'RSS (anonymous) of the service after a restart and some rest, against that of an empty one',
    })
    await withGenerator(async (generator) => {
      await generator.open({ ...mqtt, devices: connected, connectsAtOnce: 256, ringSize: 1, greet: false })
      await sleep(SETTLE_MS)
      bench.add({
        scenario,
        name: 'memory per connected device',
        value: (residentOfTree(pid).root.anonBytes - idle.anonBytes) / connected.length,
        unit: 'bytes',
        note: `${toDigits(connected.length)} connected and silent; without the kernel's memory of the sockets`,
      })
    })
  })
}
