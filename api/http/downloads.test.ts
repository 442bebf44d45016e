// Downloads over real connections: how many are allowed, and readers that take nothing.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { MemoryAnswers } from '../../engine/adapters/answers/testing/memory.ts'
import { MemoryDownloadLeases } from '../../engine/adapters/download-leases/testing/memory.ts'
import { MemoryTickets } from '../../engine/adapters/tickets/memory.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { SignedLinks } from '../../engine/runtime/ota/artifacts.ts'
import { TEST_OTA } from '../../engine/runtime/ota/testing/ota-settings.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { DeploymentId, FirmwareId, Millis, parseDeviceId } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { httpServers } from '../testing/http-server.ts'
import { OTA } from '../testing/ota-settings.ts'
import { NOW } from '../testing/rest.ts'

const MIB = 2 ** 20
/** More than the buffers between a sender and a stalled reader can hold. */
const IMAGE_BYTES = 64 * MIB
const openServer = httpServers()

async function start(more: Parameters<typeof openServer>[0] = {}) {
  const { engine, http, port } = await openServer(more)
  const sockets: Socket[] = []
  const about = { changelog: '', filename: 'image.bin', contentType: 'application/octet-stream' }
  const none = { signature: undefined, signatureVerified: undefined, minFromVersion: undefined }
  async function* content() {
    for (let sent = 0; sent < IMAGE_BYTES; sent += MIB) yield Buffer.alloc(MIB)
  }
  const stored = await engine.firmware.storeImage(content(), IMAGE_BYTES)
  if (stored.kind !== 'stored') throw new Error(`not stored: ${stored.kind}`)
  const { key: imageKey, sha256, bytes: sizeBytes } = stored.image
  const added = await engine.firmware.add({
    ...{
      id: FirmwareId('fw_1'),
      version: '1.0',
      reportsAs: '1.0',
      deviceType: 'mqtt_device',
      imageKey,
      sha256,
    },
    ...{ sizeBytes, fromVersions: [], uploadedBy: 'usr_1', ...about, ...none },
  })
  if (added.kind === 'refused') throw new Error(added.code)
  /** Requests the image as this device, and reads only the beginning of the answer. */
  const ask = async (device: string, headers = '') => {
    const deviceId = parseDeviceId(device) ?? expect.fail('no id')
    const order = { deviceId, deploymentId: DeploymentId('dep_1'), attempt: 1, seq: 1 }
    const { url } = new SignedLinks(TEST_OTA).sendable(added.record, {
      ...{ ...order, action: 'install', issuedAt: Millis(NOW) },
    })
    const { pathname, search } = new URL(url)
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    // A stream that is cut ends with an error.
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`)
    const [first] = await once(socket, 'data')
    socket.pause()
    return { socket, head: String(first).split('\r\n\r\n')[0] ?? '' }
  }
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  return { ask, http, close, engine }
}

test('a device has two streams at a time, and the third is told when to come back', async () => {
  const { ask, http, close } = await start()
  const [one, two] = [await ask('r'), await ask('r')]
  expect([one.head, two.head]).toEqual([expect.stringContaining(' 200 '), expect.stringContaining(' 200 ')])
  const third = await ask('r')
  expect(third.head).toMatch(/ 429 /)
  expect(third.head.toLowerCase()).toMatch(/retry-after: \d+/)
  // Another device is not affected, and all streams of one device count as one download.
  expect((await ask('s')).head).toContain(' 200 ')
  expect(http.downloads()).toMatchObject({ active: 2, refused: { reader: 1 } })
  one.socket.destroy()
  await expect.poll(async () => (await ask('r', 'range: bytes=0-0\r\n')).head).toContain(' 206 ')
  close()
})

test('beyond the limit of downloads devices are sent away, each for a different time', async () => {
  const { ask, http, close } = await start({ settings: { ota: { ...OTA, downloadsMax: 2 } } })
  const first = await ask('r')
  await ask('s')
  const away = [await ask('t'), await ask('u')]
  const waits = away.map(({ head }) => Number(/retry-after: (\d+)/i.exec(head)?.[1]))
  expect(away.map(({ head }) => head.includes(' 503 '))).toEqual([true, true])
  for (const sec of waits) expect(sec >= 5 && sec <= 60, String(sec)).toBe(true)
  expect(new Set(waits).size).toBe(2)
  // A device that is downloading may open its second stream.
  expect((await ask('s')).head).toContain(' 200 ')
  expect(http.downloads()).toMatchObject({ active: 2, refused: { busy: 2 } })
  first.socket.destroy()
  await expect.poll(async () => (await ask('t', 'range: bytes=0-0\r\n')).head).toContain(' 206 ')
  close()
})

test('a reader who takes nothing is disconnected, and its place becomes free', async () => {
  const standstill = { uploadMs: 30_000, downloadMs: 500 }
  const { ask, http, close } = await start({ silenceLimits: standstill })
  const { socket, head } = await ask('r')
  expect(head).toContain(' 200 ')
  await expect.poll(() => http.downloads().active).toBe(0)
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  socket.resume()
  await once(socket, 'close')
  // The body is incomplete, so the reader cannot take it for the whole image.
  expect(bytes).toBeLessThan(IMAGE_BYTES)
  close()
})

test('a stream under way ends once its firmware is yanked, and no other starts', async () => {
  const { ask, http, close, engine } = await start()
  const { socket, head } = await ask('r')
  expect(head).toContain(' 200 ')
  const about = { id: FirmwareId('fw_1'), status: 'yanked', changelog: undefined } as const
  expect(await engine.firmware.edit({ ...about, revision: undefined, force: false })).toMatchObject({
    kind: 'done',
  })
  await expect.poll(() => http.downloads().active).toBe(0)
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  socket.resume()
  await once(socket, 'close')
  expect(bytes).toBeLessThan(IMAGE_BYTES)
  expect((await ask('r')).head).toContain(' 410 ')
  close()
})

test('no more bytes are sent than the rate allows, and downloads share it evenly', async () => {
  const time = new StandingTime(NOW)
  const rate = 65_536
  const settings = { ota: { ...OTA, downloadBytesPerSec: rate } }
  const { ask, http, close } = await start({ settings, clock: time, schedule: time })
  const idle = time.waiting
  const taken = [0, 0]
  for (const [i, device] of ['r', 's'].entries()) {
    const { socket } = await ask(device)
    socket.on('data', (chunk: Buffer) => {
      taken[i] = (taken[i] ?? 0) + chunk.length
    })
    socket.resume()
  }
  const bytes = () => http.downloads().bytes
  /** Waits until both streams have sent what they may. A third timer checks on them. */
  const wait = async (bytesMax: number) => {
    await expect.poll(() => time.waiting === idle + 3 || bytes() > bytesMax).toBe(true)
    expect(bytes()).toBeLessThanOrEqual(bytesMax)
  }
  // A quarter of a second each, because the first one started before the second one existed.
  const begun = rate / 4 + rate / 8
  await wait(begun)
  for (let quarters = 1; quarters <= 12; quarters++) {
    time.at += 250
    await wait(begun + (quarters * rate) / 4)
  }
  expect(bytes()).toBe(begun + 3 * rate)
  await expect.poll(() => Math.min(...taken)).toBeGreaterThanOrEqual((rate * 11) / 8)
  close()
})

/** Two nodes that share the count of their downloads, with a clock that stands still. */
async function startTwo(downloadsMax: number) {
  const clock = new StandingTime(NOW)
  const { streamsPerReaderMax, downloadPlaceMs: heldMs } = API_LIMITS
  const downloadPlaces = new MemoryDownloadLeases(clock, {
    readersMax: downloadsMax,
    streamsPerReaderMax,
    heldMs,
  })
  const settings = { ota: { ...OTA, downloadsMax } }
  const tickets = new MemoryTickets(clock)
  const apiStores = {
    answers: new MemoryAnswers(),
    tickets,
    loginTickets: tickets,
    rates: undefined,
    downloadPlaces,
  }
  const [one, other] = [
    await start({ settings, apiStores, clock }),
    await start({ settings, apiStores, clock }),
  ]
  const close = () => {
    one.close()
    other.close()
  }
  return { one, other, clock, close, downloadPlaces }
}

test('the limits on downloads and on streams of a device hold across nodes', async () => {
  const { one, other, close } = await startTwo(2)
  const first = await one.ask('r')
  expect([first.head, (await other.ask('s')).head]).toEqual([
    expect.stringContaining(' 200 '),
    expect.stringContaining(' 200 '),
  ])
  expect((await one.ask('t')).head).toContain(' 503 ')
  expect((await other.ask('t')).head).toMatch(/ 503 [\s\S]*retry-after: \d+/i)
  expect((await other.ask('r')).head).toContain(' 200 ')
  expect((await one.ask('r')).head).toContain(' 429 ')
  expect((await other.ask('r')).head).toContain(' 429 ')
  first.socket.destroy()
  await expect.poll(async () => (await one.ask('r', 'range: bytes=0-0\r\n')).head).toContain(' 206 ')
  close()
})

test('a node that cannot renew its places in time ends their streams', async () => {
  const { one, other, clock, close } = await startTwo(1)
  const { socket } = await one.ask('r')
  expect((await other.ask('s')).head).toContain(' 503 ')
  clock.at += API_LIMITS.downloadPlaceMs
  const cut = once(socket, 'close')
  expect((await other.ask('s')).head).toContain(' 200 ')
  socket.resume()
  await cut
  expect(one.http.downloads().active).toBe(0)
  close()
})

test('while the shared count is unavailable, a device is sent away and told to retry', async () => {
  const { one, downloadPlaces, close } = await startTwo(1)
  downloadPlaces.acquire = () => Promise.reject(new Fault('STORE_UNAVAILABLE', { retryable: true }))
  expect((await one.ask('r')).head).toMatch(/ 503 [\s\S]*retry-after: \d+/i)
  expect(one.http.downloads()).toMatchObject({ active: 0, refused: { away: 1 } })
  close()
})
