// Downloads from a real HTTP server that misbehaves.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type DownloadOrder, download } from './download.ts'

const IMAGE = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251))
const ETAG = '"sha256-1"'

let folder: string
let server: Server
let asked: IncomingMessage[]
let answer: (request: IncomingMessage, response: ServerResponse) => void

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-download-'))
  asked = []
  server = createServer((request, response) => {
    asked.push(request)
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

const image = () => join(folder, 'image')
const ranges = () => asked.map(({ headers }) => headers.range)

function order(over: Partial<DownloadOrder> = {}): DownloadOrder {
  // The server listens on TCP, so its address is an object.
  const { port } = server.address() as AddressInfo
  return {
    url: () => `http://127.0.0.1:${port}/image`,
    path: image(),
    sizeBytes: IMAGE.length,
    sha256: createHash('sha256').update(IMAGE).digest('hex'),
    signal: new AbortController().signal,
    progress: () => {},
    refresh: async () => {},
    random: () => 0,
    ...over,
  }
}

function whole(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { etag: ETAG, 'content-length': IMAGE.length }).end(IMAGE)
}

function part(request: IncomingMessage, response: ServerResponse): void {
  const from = Number(/^bytes=(\d+)-$/.exec(String(request.headers.range))?.[1] ?? 0)
  if (from === 0 || request.headers['if-range'] !== ETAG) {
    whole(request, response)
    return
  }
  const rest = IMAGE.subarray(from)
  response.writeHead(206, { etag: ETAG, 'content-length': rest.length }).end(rest)
}

/** Sends so many bytes and breaks the connection. */
function broken(response: ServerResponse, bytes: number): void {
  response.writeHead(200, { etag: ETAG, 'content-length': IMAGE.length })
  response.write(IMAGE.subarray(0, bytes), () => response.destroy())
}

test('a server that cannot be reached is named with the cause', async () => {
  const refused = order()
  server.close()
  await once(server, 'close')
  await expect(download(refused)).rejects.toMatchObject({
    code: 'DOWNLOAD_FAILED',
    message: expect.stringContaining('ECONNREFUSED'),
  })
})

test('a download that breaks off goes on where it ended', async () => {
  answer = (request, response) => (asked.length === 1 ? broken(response, 100_000) : part(request, response))
  const told: number[] = []
  await download(order({ progress: (percent) => told.push(percent) }))
  expect(readFileSync(image()).equals(IMAGE)).toBe(true)
  const [first, second] = asked
  expect(first?.headers.range).toBeUndefined()
  expect(second?.headers.range).toMatch(/^bytes=[1-9]\d*-$/)
  expect(second?.headers['if-range']).toBe(ETAG)
  expect(told.at(-1)).toBe(100)
})

test('a server without ranges, or with another image, is read from the beginning', async () => {
  answer = (request, response) => (asked.length === 1 ? broken(response, 100_000) : whole(request, response))
  await download(order())
  expect(readFileSync(image()).equals(IMAGE)).toBe(true)
  expect(asked).toHaveLength(2)
})

test('what an earlier process had downloaded is not downloaded again', async () => {
  writeFileSync(image(), IMAGE.subarray(0, 299_999))
  answer = (request, response) => {
    expect(request.headers.range).toBe('bytes=299999-')
    response.writeHead(206).end(IMAGE.subarray(299_999))
  }
  await download(order())
  await download(order())
  expect(readFileSync(image()).equals(IMAGE)).toBe(true)
  expect(asked).toHaveLength(1)
})

test('another image of the same size is refused and does not stay', async () => {
  answer = (_, response) => response.writeHead(200).end(Buffer.alloc(IMAGE.length))
  await expect(download(order())).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
  answer = whole
  await download(order())
  expect(readFileSync(image()).equals(IMAGE)).toBe(true)
})

test('an image that is larger than announced is refused while it arrives', async () => {
  answer = (_, response) => response.writeHead(200).end(Buffer.concat([IMAGE, IMAGE]))
  await expect(download(order())).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
  expect(readFileSync(image())).toHaveLength(0)
})

test('a busy server is asked again after the time that it names, however often', async () => {
  const busy = [429, 503]
  answer = (request, response) => {
    const status = busy.shift()
    if (status === undefined) return whole(request, response)
    response.writeHead(status, { 'retry-after': '1' }).end()
  }
  const from = performance.now()
  await download(order())
  expect(performance.now() - from).toBeGreaterThanOrEqual(1_990)
  expect(asked).toHaveLength(3)
})

test('an address that has expired is replaced by another one', async () => {
  let isNew = false
  answer = (request, response) =>
    isNew ? whole(request, response) : response.writeHead(403).end('{"code":"URL_EXPIRED"}')
  await download(
    order({
      refresh: async () => {
        isNew = true
      },
    }),
  )
  expect(ranges()).toEqual([undefined, undefined])
})

test('an image that was withdrawn is given up at once, a server that fails only after some tries', async () => {
  answer = (_, response) => response.writeHead(410).end()
  await expect(download(order())).rejects.toMatchObject({ code: 'DOWNLOAD_WITHDRAWN' })
  expect(asked).toHaveLength(1)
  answer = (_, response) => response.writeHead(404).end()
  await expect(download(order())).rejects.toMatchObject({ code: 'DOWNLOAD_FAILED' })
  expect(asked).toHaveLength(9)
})
