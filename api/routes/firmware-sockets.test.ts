// Uploads over real connections: what happens while a body is still arriving.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { httpServers } from '../testing/http-server.ts'
import { BOUNDARY, firmwareForm, part } from '../testing/multipart.ts'

const MIB = 2 ** 20
const openServer = httpServers()

async function start(more: Parameters<typeof openServer>[0] = {}) {
  const { engine, admin, port } = await openServer(more)
  const token = await admin()
  const images = async () => (await engine.blobs.list({ prefix: '', limit: 100 })).length
  return { engine, port, images, upload: (headers: Headers, by = token) => begin(port, headers, by) }
}

type Headers = Readonly<Record<string, string | number>>

/** Starts an upload. The answer can be awaited. */
async function begin(port: number, headers: Headers, token: string) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  // Writing after the other side has hung up fails, as it should.
  socket.on('error', () => {})
  const all: Headers = {
    host: 'localhost',
    authorization: `Bearer ${token}`,
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  socket.write(`POST /api/v1/ota/firmware HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  return { socket, said: () => text, heard: (what: string) => expect.poll(() => text).toContain(what) }
}

// `events.once` would reject with the error of writing to a connection that the other side has ended.
const ended = (socket: Socket) =>
  new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())))

test('an announced upload of 3 GiB is refused before a byte of it is sent', async () => {
  const { upload, images } = await start()
  const { socket, heard, said } = await upload({ 'content-length': 3 * 2 ** 30 })
  await heard('"code":"PAYLOAD_TOO_LARGE"')
  expect(said()).toMatch(/^HTTP\/1\.1 413 .*"limit":2097152,"actual":3221225472/s)
  await ended(socket)
  expect(await images()).toBe(0)
})

test('an upload that turns out too large is answered while it is sent, and its connection ends', async () => {
  const { upload, images } = await start()
  const { socket, heard } = await upload({ 'transfer-encoding': 'chunked' })
  const send = (bytes: Uint8Array) => {
    const size = `${bytes.length.toString(16)}\r\n`
    socket.write(Buffer.concat([Buffer.from(size), bytes, Buffer.from('\r\n')]))
  }
  send(part({ name: 'file', value: '', filename: 'x' }).subarray(0, -2))
  const more = setInterval(() => send(Buffer.alloc(MIB)), 5)
  try {
    await heard('"code":"PAYLOAD_TOO_LARGE"')
    await ended(socket)
  } finally {
    clearInterval(more)
  }
  expect(await images()).toBe(0)
})

describe('Expect: 100-continue', () => {
  const form = firmwareForm({ version: '1', device_type: 'simulator' })
  const expecting = { expect: '100-continue', 'content-length': form.length }

  test('is answered once the caller may upload', async () => {
    const { upload } = await start()
    const { socket, heard } = await upload(expecting)
    await heard('HTTP/1.1 100 Continue')
    socket.write(form)
    await heard('HTTP/1.1 201')
    socket.destroy()
  })

  test('is not answered for an unknown caller', async () => {
    const { upload } = await start()
    const { heard, said, socket } = await upload(expecting, 'wrong')
    await heard('HTTP/1.1 401')
    await ended(socket)
    expect(said()).not.toContain('100 Continue')
  })
})

test('a sender who disconnects leaves nothing behind, and may upload again', async () => {
  const { upload, images, engine } = await start()
  const form = firmwareForm({ version: '1', device_type: 'simulator' }, { value: Buffer.alloc(MIB) })
  const first = await upload({ 'content-length': form.length })
  first.socket.write(form.subarray(0, MIB / 2))
  await expect.poll(() => first.socket.bytesWritten).toBeGreaterThan(MIB / 2)
  first.socket.destroy()
  const again = await upload({ 'content-length': form.length })
  again.socket.write(form)
  await again.heard('HTTP/1.1 201')
  again.socket.destroy()
  expect([await images(), [...engine.firmware.all()].length]).toEqual([1, 1])
})

test('a stalled upload is answered 408, leaves nothing behind and frees its place', async () => {
  const { upload, images } = await start({ silenceLimits: { uploadMs: 50, downloadMs: 60_000 } })
  const form = firmwareForm({ version: '1', device_type: 'simulator' }, { value: Buffer.alloc(MIB) })
  // More of them, one after the other, than may be in progress at once.
  for (let i = 0; i < 5; i++) {
    const { socket, heard } = await upload({ 'content-length': form.length })
    socket.write(form.subarray(0, 1_000))
    await heard('HTTP/1.1 408')
    await heard('"code":"REQUEST_TIMEOUT"')
    await ended(socket)
  }
  expect(await images()).toBe(0)
})

test('more than four uploads at once are refused, and those under way go on', async () => {
  const { upload } = await start()
  const form = firmwareForm({ version: '1', device_type: 'simulator' })
  const under = await Promise.all(
    Array.from({ length: 4 }, () => upload({ 'content-length': form.length, expect: '100-continue' })),
  )
  for (const { heard } of under) await heard('100 Continue')
  const fifth = await upload({ 'content-length': form.length })
  await fifth.heard('HTTP/1.1 429')
  expect(fifth.said().toLowerCase()).toContain('retry-after:')
  for (const { socket } of under) socket.write(form)
  for (const { heard } of under) await heard('"firmware_id"')
  for (const { socket } of under) socket.destroy()
})
