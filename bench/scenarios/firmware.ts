// Measures the cost of firmware: an upload, downloads by ranges compared with a bare Node stream, and clients that request
// an image and read nothing.

import { createHash, randomFillSync } from 'node:crypto'
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { S3_SERVER, S3Server } from '../../engine/adapters/blobs/testing/s3-server.ts'
import type { DeviceLogin } from '../load/device-socket.ts'
import type { Rest } from '../load/rest.ts'
import { deviceIds, withService } from '../load/session.ts'
import type { OpenPlace } from '../load/simulated.ts'
import { cpuBetween, ownMicros, sampleCpu } from '../measure/cpu.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { watchGrowth } from '../measure/memory.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { startProgram } from '../targets/ready-line.ts'
import type { Service } from '../targets/service.ts'

const SCENARIO = 'firmware'
const MIB = 2 ** 20
const GIB = 2 ** 30
const READERS = 64
const IMAGE_MAIN = fileURLToPath(new URL('../targets/image-main.js', import.meta.url))
const READY_MS = 30_000
const POLLING = { deadlineMs: 120_000, everyMs: 50 }
const SETTLED_MS = 3_000

export const firmware: Scenario = {
  name: 'firmware',
  about: 'CPU and memory of uploads, of downloads beside a bare Node stream, and of slow readers',
  async run(bench) {
    const image = randomFillSync(Buffer.allocUnsafe(64 * MIB))
    await withScene(bench, {}, ({ service, rest, dir }) => upload({ bench, service, rest, dir, image }))
    // Devices that use HTTP need no MQTT client here. While the DDI is on, uploads compute two more hashes.
    const more = { FLEET_DDI: 'on', FLEET_OTA_DOWNLOADS_MAX: '2000' }
    await withScene(bench, more, async ({ service, rest, dir }) => {
      await send(service, rest, { version: '1.0', image, times: 1 })
      const urls = await offered(service, rest, bench.quick ? 200 : 1_000)
      await downloads({ bench, service, image, urls: urls.slice(0, READERS), dir })
      await slowReaders({ bench, service, urls })
    })
    if (S3_SERVER === undefined) return bench.say('versitygw is not there: nothing is measured through S3')
    await throughS3(bench, more, image)
  },
}

async function throughS3(
  bench: Bench,
  more: Readonly<Record<`FLEET_${string}`, string>>,
  image: Buffer,
): Promise<void> {
  const s3 = await S3Server.start()
  try {
    const { credentials, url } = s3
    const place = {
      FLEET_S3_URL: url,
      FLEET_S3_BUCKET: s3.bucket(),
      FLEET_S3_REGION: credentials.region,
      FLEET_S3_ACCESS_KEY: credentials.accessKey,
      FLEET_S3_SECRET_KEY: credentials.secretKey,
    }
    await withScene(bench, { ...more, ...place }, async ({ service, rest }) => {
      await send(service, rest, { version: '1.0', image, times: 1 })
      const urls = await offered(service, rest, READERS)
      const noise = new NoiseMeter()
      const ours = await load(service.pid, urls, { image, times: 1 })
      bench.add({
        ...{
          scenario: SCENARIO,
          name: 'downloads through S3, CPU per GiB',
          value: ours.cpuPerGib,
          unit: 's',
        },
        target: { kind: 'at_most', value: 3.5 },
        note: `of the service; ${toDigits(ours.mibPerSec)} MiB/s, with versitygw and the readers on the same cores${noise.note()}`,
      })
    })
  } finally {
    await s3.stop()
  }
}

async function withScene(
  bench: Bench,
  more: Readonly<Record<`FLEET_${string}`, string>>,
  work: (scene: OpenPlace) => Promise<void>,
): Promise<void> {
  await bench.withDir((dir) =>
    withService({ dataDir: join(dir, 'data'), durability: 'power', more }, (open) => work({ ...open, dir })),
  )
}

interface Place {
  readonly bench: Bench
  readonly service: Service
  readonly image: Buffer
}

/** Measures one large upload after a small one for warming up. */
async function upload({ bench, service, rest, dir, image }: Place & OpenPlace): Promise<void> {
  await send(service, rest, { version: 'small', image, times: 1 })
  await sleep(SETTLED_MS)
  const times = bench.quick ? 8 : 32
  const bytes = times * image.length
  const noise = new NoiseMeter()
  const memory = watchGrowth(service.pid)
  const [before, from] = [sampleCpu(service.pid), ticks()]
  await send(service, rest, { version: 'large', image, times })
  const [after, seconds] = [sampleCpu(service.pid), (ticks() - from) / 1_000]
  const mostBytes = memory()
  const hashed = hashSeconds(image, times)
  const written = writeSeconds(join(dir, 'written.bin'), image, times)
  const cpu = cpuBetween(before, after).totalMicros / 1e6
  bench.add(
    {
      ...{ scenario: SCENARIO, name: 'upload, CPU per GiB', value: (cpu * GIB) / bytes, unit: 's' },
      target: { kind: 'at_most', value: 3 },
      note:
        `${toDigits(bytes / MIB)} MiB in ${toDigits(seconds)} s; SHA-256 alone ` +
        `${toDigits((hashed * GIB) / bytes)} s and writing alone ${toDigits((written * GIB) / bytes)} s per GiB ` +
        `in the same run${noise.note()}`,
    },
    {
      ...{ scenario: SCENARIO, name: 'upload, memory at most', value: mostBytes / MIB, unit: 'MiB' },
      target: { kind: 'at_most', value: 64 },
      note: 'RSS (anonymous) of service and database above that before it',
    },
  )
}

async function send(
  service: Service,
  rest: Rest,
  { version, image, times }: { readonly version: string; readonly image: Buffer; readonly times: number },
): Promise<void> {
  const boundary = 'bench-boundary'
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const head = `${field('version', version)}${field('device_type', 'mqtt_device')}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="image.bin"\r\ncontent-type: application/octet-stream\r\n\r\n`
  async function* body() {
    yield Buffer.from(head)
    for (let i = 0; i < times; i++)
      for (let at = 0; at < image.length; at += MIB) yield image.subarray(at, at + MIB)
    yield Buffer.from(`\r\n--${boundary}--\r\n`)
  }
  const response = await fetch(`${service.httpUrl}/api/v1/ota/firmware`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${rest.token}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    },
    body: ReadableStream.from(body()),
    duplex: 'half',
  })
  if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`)
}

/** Most of it is the kernel's, which looks for pages of memory. */
function writeSeconds(path: string, image: Buffer, times: number): number {
  const file = openSync(path, 'w')
  const micros = ownMicros(() => {
    for (let i = 0; i < times; i++)
      for (let at = 0; at < image.length; at += MIB) writeSync(file, image, at, MIB)
  })
  closeSync(file)
  return micros / 1e6
}

function hashSeconds(image: Buffer, times: number): number {
  const hash = createHash('sha256')
  const micros = ownMicros(() => {
    for (let i = 0; i < times; i++) hash.update(image)
    hash.digest()
  })
  return micros / 1e6
}

/** Deploys firmware to devices that use HTTP, and resolves with the URL of each device's download. */
async function offered(service: Service, rest: Rest, count: number): Promise<readonly URL[]> {
  const devices = await rest.register(deviceIds(count))
  const poll = async ({ id, token }: DeviceLogin, path = '') => {
    const url = `${service.httpUrl}/DEFAULT/controller/v1/${id}${path}`
    const response = await fetch(url, { headers: { authorization: `TargetToken ${token}` } })
    return response.status === 200 ? Object(await response.json()) : {}
  }
  await Promise.all(devices.map((device) => poll(device)))
  const made = await fetch(`${service.httpUrl}/api/v1/ota/deployments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rest.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ firmware_version: '1.0', device_type: 'mqtt_device', target: { type: 'all' } },
      ...{ strategy: 'all', max_concurrent: 1_000 },
    }),
  })
  if (made.status !== 201) throw new Error(`deployment: ${made.status} ${await made.text()}`)
  return Promise.all(
    devices.map((device) =>
      until(`an offer for ${device.id}`, POLLING, async () => {
        const link = (await poll(device))._links?.deploymentBase
        if (link === undefined) return undefined
        const { deployment } = await poll(device, new URL(link.href).pathname.split(device.id)[1])
        return new URL(deployment.chunks[0].artifacts[0]._links.download.href)
      }),
    ),
  )
}

interface LoadRun {
  readonly bench: Bench
  readonly service: Service
  readonly image: Buffer
  readonly urls: readonly URL[]
  readonly dir: string
}

async function downloads({ bench, service, image, urls, dir }: LoadRun): Promise<void> {
  const path = join(dir, 'image.bin')
  writeFileSync(path, image)
  const bare = await startProgram({ args: [IMAGE_MAIN, path], env: process.env, readyMs: READY_MS })
  const bareUrl = new URL(bare.ready.httpUrl)
  const each = bench.quick ? 1 : 4
  const noise = new NoiseMeter()
  const ours = await load(service.pid, urls, { image, times: each })
  const floor = await load(
    bare.pid,
    urls.map(() => bareUrl),
    { image, times: each },
  )
  await bare.kill()
  const note = `${READERS} devices at once by ranges of 1 MiB, ${toDigits(ours.bytes / GIB)} GiB`
  bench.add(
    {
      ...{ scenario: SCENARIO, name: 'downloads, CPU per GiB', value: ours.cpuPerGib, unit: 's' },
      target: { kind: 'at_most', value: 1.5 },
      note: `${note}; a bare Node stream ${toDigits(floor.cpuPerGib)} s in the same run: ${toDigits(ours.cpuPerGib / floor.cpuPerGib)} times as much${noise.note()}`,
    },
    {
      ...{ scenario: SCENARIO, name: 'downloads per second', value: ours.mibPerSec, unit: 'MiB/s' },
      target: { kind: 'at_least', value: 400 },
      ...bench.shareOf('a bare Node stream', ours.mibPerSec / floor.mibPerSec),
      note: `${toDigits(floor.mibPerSec)} MiB/s from the bare stream; the readers take CPU beside them`,
    },
  )
}

async function load(
  pid: number,
  urls: readonly URL[],
  { image, times }: { readonly image: Buffer; readonly times: number },
) {
  const agent = new Agent({ keepAlive: true, maxSockets: urls.length })
  const [before, from] = [sampleCpu(pid), ticks()]
  await Promise.all(
    urls.map(async (url) => {
      for (let i = 0; i < times; i++)
        for (let at = 0; at < image.length; at += MIB) await range(agent, url, [at, at + MIB - 1])
    }),
  )
  const seconds = (ticks() - from) / 1_000
  const cpu = cpuBetween(before, sampleCpu(pid)).totalMicros / 1e6
  agent.destroy()
  const bytes = urls.length * times * image.length
  return { bytes, cpuPerGib: (cpu * GIB) / bytes, mibPerSec: bytes / MIB / seconds }
}

function range(agent: Agent, url: URL, [from, to]: readonly [number, number]): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { range: `bytes=${from}-${to}` } }, (response) => {
      if (response.statusCode !== 206) reject(new Error(`a range was answered ${response.statusCode}`))
      response.resume().on('end', resolve).on('error', reject)
    }).on('error', reject)
  })
}

async function slowReaders({ bench, service, urls }: Omit<LoadRun, 'image' | 'dir'>): Promise<void> {
  await sleep(SETTLED_MS)
  const memory = watchGrowth(service.pid)
  const sockets = await Promise.all(urls.map(openSlow))
  await sleep(SETTLED_MS)
  const mostBytes = memory()
  for (const socket of sockets) socket.destroy()
  bench.add({
    ...{ scenario: SCENARIO, name: `${toDigits(urls.length)} readers that take nothing`, unit: 'MiB' },
    value: mostBytes / MIB,
    target: { kind: 'at_most', value: 64 },
    note: 'RSS (anonymous) of service and database above that before it',
  })
}

/** Requests the image and never reads the answer. */
function openSlow(url: URL): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname, () => {
      socket.pause()
      socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}
