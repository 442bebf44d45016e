// Firmware from the message to the restart on the new version, with images from a real HTTP server.
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../../schemas/json.ts'
import { type FirmwareHandlers, FirmwareUpdates } from './firmware.ts'
import type { ManifestKeys } from './manifest.ts'
import { type DeviceStorage, fileStorage, memoryStorage } from './storage.ts'

const IMAGE = Buffer.from('the image of 2.1.0')
const SHA256 = createHash('sha256').update(IMAGE).digest('hex')
const NOW = Date.UTC(2026, 0, 1)

let folder: string
let server: Server
let downloads: number
/** Set to keep a download waiting. */
let hold: Promise<void>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-firmware-'))
  downloads = 0
  hold = Promise.resolve()
  server = createServer(async (_, response) => {
    downloads++
    await hold
    response.writeHead(200).end(IMAGE)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

function message(over: JsonObject = {}): JsonObject {
  // The server listens on TCP, so its address is an object.
  const { port } = server.address() as AddressInfo
  return {
    deployment_id: 'dep_1',
    attempt: 1,
    seq: 1,
    action: 'install',
    version: '2.1.0',
    url: `http://127.0.0.1:${port}/image`,
    sha256: SHA256,
    size_bytes: IMAGE.length,
    ...over,
  }
}

interface RunningFirmware {
  readonly updates: FirmwareUpdates
  readonly reports: JsonObject[]
  readonly installed: string[]
  /** Resolves when the device restarts. */
  readonly rebooted: Promise<void>
}

async function boot(
  version: string,
  about: {
    readonly storage?: DeviceStorage
    readonly keys?: ManifestKeys
    readonly deviceType?: string
    readonly handlers?: Partial<FirmwareHandlers>
    readonly isFolderNamed?: boolean
  } = {},
): Promise<RunningFirmware> {
  const reports: JsonObject[] = []
  const installed: string[] = []
  let reboot = () => {}
  const rebooted = new Promise<void>((resolve) => {
    reboot = resolve
  })
  const updates = await FirmwareUpdates.open({
    deviceId: 'robot-1',
    storage: about.storage ?? memoryStorage(),
    deviceType: about.deviceType,
    manifestKeys: about.keys,
    runningVersion: () => version,
    now: () => NOW,
    random: () => 0,
    report: (body) => reports.push(body),
    failed: (error) => {
      throw error
    },
  })
  updates.handle({
    ...(about.isFolderNamed === false ? {} : { folder }),
    install: (file) => void installed.push(readFileSync(file, 'utf8')),
    reboot: () => reboot(),
    ...about.handlers,
  })
  return { updates, reports, installed, rebooted }
}

const statuses = ({ reports }: RunningFirmware) => reports.map(({ status }) => status)
const until = async (look: () => boolean) => {
  for (const deadline = Date.now() + 30_000; !look(); ) {
    if (Date.now() > deadline) throw new Error('not in time')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('an image is downloaded, checked and installed, and the version after the restart proves it', async () => {
  const storage = memoryStorage()
  const old = await boot('2.0.0', { storage })
  await old.updates.take(message())
  await old.rebooted
  expect(old.installed).toEqual([IMAGE.toString()])
  expect(statuses(old)).toEqual(['downloading', 'downloaded', 'installing', 'rebooting'])
  let confirmed = 0
  const young = await boot('v2.1.0', { storage, handlers: { confirm: () => void confirmed++ } })
  await young.updates.connected()
  await young.updates.connected()
  expect(young.reports).toEqual([
    { deployment_id: 'dep_1', attempt: 1, status: 'succeeded', version: 'v2.1.0' },
  ])
  expect(confirmed).toBe(1)
})

test('the two newest images of earlier updates are left, and files of others are not touched', async () => {
  const image = (digit: string) => join(folder, `${digit.repeat(64)}.image`)
  for (const [path, sec] of [
    [image('1'), 100],
    [image('2'), 300],
    [image('3'), 200],
    [join(folder, 'other.image'), 1],
  ] as const) {
    writeFileSync(path, 'old')
    utimesSync(path, sec, sec)
  }
  const device = await boot('2.0.0')
  await device.updates.take(message())
  await device.rebooted
  const expected = [image('2'), image('3'), join(folder, `${SHA256}.image`), join(folder, 'other.image')]
  expect(readdirSync(folder).sort()).toEqual(expected.map((path) => basename(path)).sort())
})

test('without a folder images are beside what the storage keeps, or in a folder of their own', async () => {
  const files: string[] = []
  const handlers = { install: (file: string) => void files.push(file) }
  for (const storage of [fileStorage(join(folder, 'state')), memoryStorage()]) {
    const { updates, rebooted } = await boot('2.0.0', { storage, handlers, isFolderNamed: false })
    await updates.take(message())
    await rebooted
  }
  const [beside, own = ''] = files
  expect(beside).toBe(join(folder, 'state', 'images', `${SHA256}.image`))
  expect(own).toMatch(/fleet-images-\w+\/[0-9a-f]{64}\.image$/)
  rmSync(dirname(own), { recursive: true })
})

test('the same message again installs nothing and is answered with where the device is', async () => {
  const storage = memoryStorage()
  const old = await boot('2.0.0', { storage })
  await old.updates.take(message())
  await old.rebooted
  await old.updates.take(message())
  const young = await boot('2.1.0', { storage })
  await young.updates.connected()
  await young.updates.take(message({ seq: 2 }))
  expect([old.installed.length, young.installed.length, downloads]).toEqual([1, 0, 1])
  expect(statuses(old).at(-1)).toBe('rebooting')
  expect(statuses(young)).toEqual(['succeeded', 'succeeded'])
})

test('a device that comes up on the old version says that it rolled back, or that it was interrupted', async () => {
  const storage = memoryStorage()
  const old = await boot('2.0.0', { storage })
  await old.updates.take(message())
  await old.rebooted
  const still = await boot('2.0.0', { storage })
  await still.updates.connected()
  expect(still.reports).toMatchObject([
    { status: 'failed', version: '2.0.0', error: { code: 'ROLLED_BACK_BY_DEVICE' } },
  ])

  const other = memoryStorage()
  const stuck = await boot('2.0.0', { storage: other, handlers: { install: () => new Promise(() => {}) } })
  await stuck.updates.take(message())
  await until(() => statuses(stuck).includes('installing'))
  const again = await boot('2.0.0', { storage: other })
  await again.updates.connected()
  expect(again.reports).toMatchObject([{ status: 'failed', error: { code: 'INSTALL_INTERRUPTED' } }])
})

test('a download that a restart interrupted goes on when the message comes again', async () => {
  const storage = memoryStorage()
  let release = () => {}
  hold = new Promise((resolve) => {
    release = resolve
  })
  const first = await boot('2.0.0', { storage })
  await first.updates.take(message())
  await until(() => downloads === 1)
  first.updates.abort()
  release()
  const second = await boot('2.0.0', { storage })
  await second.updates.connected()
  expect(second.reports).toEqual([])
  await second.updates.take(message())
  await second.rebooted
  expect(second.installed).toHaveLength(1)
})

test('what the device runs already, refuses, puts off or got too late is not downloaded', async () => {
  const same = await boot('2.1.0')
  await same.updates.take(message())
  const refusing = await boot('2.0.0', { handlers: { accept: () => ({ reject: 'the robot is busy' }) } })
  await refusing.updates.take(message())
  const later = await boot('2.0.0', { handlers: { accept: () => ({ deferSec: 600 }) } })
  await later.updates.take(message())
  const late = await boot('2.0.0')
  await late.updates.take(message({ expires_at: '2025-12-31T00:00:00.000Z' }))
  for (const odd of [message({ sha256: 'x' }), message({ action: 'erase' }), {}]) await late.updates.take(odd)
  expect(same.reports).toMatchObject([{ status: 'already_installed', version: '2.1.0' }])
  expect(refusing.reports).toMatchObject([{ status: 'rejected', error: { message: 'the robot is busy' } }])
  expect(later.reports).toMatchObject([{ status: 'deferred', retry_after_sec: 600 }])
  expect(late.reports).toMatchObject([{ status: 'rejected', error: { code: 'EXPIRED' } }])
  expect(downloads).toBe(0)
})

test('an image that comes after the time for installing is kept, and installed with the next order', async () => {
  const storage = memoryStorage()
  const device = await boot('2.0.0', { storage })
  await device.updates.take(message({ not_after: new Date(NOW).toISOString() }))
  await until(() => statuses(device).includes('deferred'))
  expect(statuses(device)).toEqual(['downloading', 'downloaded', 'deferred'])
  expect(device.installed).toEqual([])
  const notAfter = new Date(NOW + 1_000).toISOString()
  await device.updates.take(message({ attempt: 2, seq: 2, not_after: notAfter }))
  await device.rebooted
  expect([device.installed.length, downloads]).toEqual([1, 1])
})

test('an image that does not match is not installed', async () => {
  const device = await boot('2.0.0')
  await device.updates.take(message({ sha256: 'f'.repeat(64) }))
  await until(() => statuses(device).includes('failed'))
  expect(device.reports.at(-1)).toMatchObject({ error: { code: 'CHECKSUM_MISMATCH' } })
  expect(device.installed).toEqual([])
})

test('an update that is cancelled while the end of its download is being stored is not installed', async () => {
  const kept = memoryStorage()
  let isStoring = false
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const write = async (name: string, value: Uint8Array) => {
    if (Buffer.from(value).includes('"status":"downloaded"')) {
      isStoring = true
      await released
    }
    await kept.write(name, value)
  }
  const device = await boot('2.0.0', { storage: { ...kept, write } })
  await device.updates.take(message())
  await until(() => isStoring)
  const cancelled = device.updates.take(message({ action: 'cancel' }))
  release()
  await cancelled
  await until(() => statuses(device).includes('cancelled'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(statuses(device)).toEqual(['downloading', 'downloaded', 'cancelled'])
  expect(device.installed).toEqual([])
  expect(Buffer.from((await kept.read('firmware.json')) ?? []).toString()).toContain('"phase":"ended"')
})

test('a cancelled download ends; an installation that has begun does not', async () => {
  let release = () => {}
  hold = new Promise((resolve) => {
    release = resolve
  })
  const device = await boot('2.0.0')
  await device.updates.take(message())
  await until(() => downloads === 1)
  await device.updates.take(message({ action: 'cancel' }))
  release()
  expect(statuses(device)).toEqual(['downloading', 'cancelled'])
  hold = Promise.resolve()
  await device.updates.take(message({ attempt: 2 }))
  await device.rebooted
  await device.updates.take(message({ attempt: 2, action: 'cancel' }))
  expect(statuses(device).at(-1)).toBe('rebooting')
})

test('a rollback may start the other slot, and is reported as one', async () => {
  const storage = memoryStorage()
  const device = await boot('2.1.0', {
    storage,
    handlers: { switchTo: ({ version }) => version === '2.0.0' },
  })
  await device.updates.take(message({ action: 'rollback', version: '2.0.0', local_ok: true }))
  await device.rebooted
  const back = await boot('2.0.0', { storage })
  await back.updates.connected()
  expect([downloads, statuses(back)]).toEqual([0, ['rolled_back']])
})

test('with keys, only messages whose manifest is signed, says the same and is new are taken', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const jwk = publicKey.export({ format: 'jwk' })
  const keys: ManifestKeys = { keys: [{ kid: 'k1', kty: 'OKP', crv: 'Ed25519', x: String(jwk.x) }] }
  const claims = {
    ...{ sub: 'robot-1', dep: 'dep_1', attempt: 1, seq: 1, act: 'install', ver: '2.1.0' },
    ...{ sha256: SHA256, size: IMAGE.length, exp: NOW / 1_000 + 60 },
  }
  const signed = (over: object = {}, key: KeyObject = privateKey) => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = `${encode({ alg: 'EdDSA', kid: 'k1' })}.${encode({ ...claims, ...over })}`
    return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
  }
  const device = await boot('2.0.0', { keys })
  const forged = [
    undefined,
    'a.b.c',
    signed({}, generateKeyPairSync('ed25519').privateKey),
    signed({ sub: 'robot-2' }),
    signed({ sha256: 'f'.repeat(64) }),
    signed({ exp: NOW / 1_000 - 1 }),
    signed({ seq: 0 }),
  ]
  for (const manifest of forged) await device.updates.take(message({ manifest: manifest ?? null }))
  await device.updates.take(message({ seq: 0, manifest: signed({ seq: 0 }) }))
  expect(device.reports.map(({ error }) => error)).toMatchObject(
    Array.from({ length: 8 }, () => ({ code: 'MANIFEST_INVALID' })),
  )
  await device.updates.take(message({ manifest: signed() }))
  await device.rebooted
  expect(device.installed).toHaveLength(1)
})

test('firmware for another type is refused, also if its manifest is right', async () => {
  const device = await boot('2.0.0', { deviceType: 'robot' })
  await device.updates.take(message({ device_type: 'greenhouse' }))
  expect(device.reports).toMatchObject([{ status: 'rejected', error: { code: 'INCOMPATIBLE' } }])
})

test('an order that comes before the device has said how the last one ended is not put off', async () => {
  const storage = memoryStorage()
  const first = await boot('2.0.0', { storage })
  await first.updates.take(message())
  await first.rebooted
  const second = await boot('2.1.0', { storage })
  await second.updates.take(message({ deployment_id: 'dep_2', version: '2.1.0' }))
  expect(second.reports).toMatchObject([
    { deployment_id: 'dep_1', status: 'succeeded' },
    { deployment_id: 'dep_2', status: 'already_installed' },
  ])
})
