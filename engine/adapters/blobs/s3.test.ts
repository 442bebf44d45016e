import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { AwsClient } from 'aws4fetch'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Blobs } from '../../ports/blobs.ts'
import { S3Blobs, type S3Options } from './s3.ts'
import { blobsContract } from './testing/contract.ts'
import { S3_SERVER, S3Server } from './testing/s3-server.ts'

const PART_BYTES = 5 * 1024 * 1024

describe.skipIf(S3_SERVER === undefined)('S3 (needs versitygw)', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await S3Server.start()
  })
  afterAll(() => server.stop())

  const options = new Map<Blobs, S3Options>()
  function open(over: Partial<S3Options> = {}): S3Blobs {
    const { url, credentials } = server
    const all = { url, bucket: server.bucket(), partBytes: PART_BYTES, ...credentials, ...over }
    const blobs = new S3Blobs(all)
    options.set(blobs, all)
    return blobs
  }
  const small = async function* () {
    yield Buffer.from('small')
  }

  blobsContract({
    name: 's3',
    open: async () => open(),
    restart: async (blobs) => open(options.get(blobs)),
    close: async () => {},
  })

  test('an upload that breaks off leaves no parts', async () => {
    const blobs = open()
    const breaking = async function* () {
      for (let i = 0; i < 11; i++) yield new Uint8Array(1024 * 1024)
      expect(await openUploads(blobs)).toBe(1)
      throw new Error('broken off')
    }
    await expect(blobs.put('a', breaking(), 2 ** 30)).rejects.toThrow('broken off')
    expect(await openUploads(blobs)).toBe(0)
  })

  test('the parts of uploads whose process ended are removed, if they are meant', async () => {
    const blobs = open()
    for (const key of ['old', 'new']) await beginUpload(blobs, key)
    await blobs.dropUnfinished({ prefix: '', isMeant: (key) => key === 'old' })
    expect(await openUploads(blobs)).toBe(1)
    await blobs.dropUnfinished({ prefix: 'o', isMeant: () => true })
    expect(await openUploads(blobs)).toBe(1)
    await blobs.dropUnfinished({ prefix: 'n', isMeant: () => true })
    expect(await openUploads(blobs)).toBe(0)
  })

  /** Begins an upload that never ends. */
  async function beginUpload(blobs: Blobs, key: string): Promise<void> {
    await new Promise<void>((begun) => {
      const content = async function* () {
        for (let i = 0; i < 11; i++) yield new Uint8Array(1024 * 1024)
        begun()
        await new Promise(() => {})
      }
      void blobs.put(key, content(), 2 ** 30)
    })
  }

  /** The number of uploads that the service knows of. */
  async function openUploads(blobs: Blobs): Promise<number> {
    const { bucket } = options.get(blobs) ?? {}
    const url = new URL(`${server.url}/${bucket}?uploads=`)
    const { accessKey: accessKeyId, secretKey: secretAccessKey, region } = server.credentials
    const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' })
    const text = await (await client.fetch(url)).text()
    expect(text).toContain('ListMultipartUploadsResult')
    return text.match(/<UploadId>/g)?.length ?? 0
  }

  test('an address lets anybody load the blob, whole or in part, as long as nothing of it is changed', async () => {
    const blobs = open()
    await blobs.put('firmware/a-1.bin', small(), 10)
    const contentDisposition = `attachment; filename="a b.bin"; filename*=UTF-8''a%20%C3%BC.bin`
    const about = { seconds: 900, contentType: 'application/x-image', contentDisposition }
    const address = await blobs.address('firmware/a-1.bin', about)
    const whole = await fetch(address)
    expect([whole.status, await whole.text()]).toEqual([200, 'small'])
    expect(whole.headers.get('content-type')).toBe(about.contentType)
    expect(whole.headers.get('content-disposition')).toBe(contentDisposition)
    const part = await fetch(address, { headers: { range: 'bytes=1-2' } })
    expect([part.status, await part.text()]).toEqual([206, 'ma'])
    expect(new URL(address).searchParams.get('X-Amz-Expires')).toBe('900')
    const longer = await fetch(address.replace('X-Amz-Expires=900', 'X-Amz-Expires=9000'))
    expect(longer.status).toBe(403)
    expect((await fetch(address.replace('a-1.bin', 'a-2.bin'))).status).toBe(403)
    expect((await fetch(address.split('?')[0] ?? '')).status).toBe(403)
  })

  test('ranges that are read one after the other take few connections, also where one is left unread', async () => {
    const to = Number(new URL(server.url).port)
    let connections = 0
    const between = createServer((socket) => {
      connections++
      const ahead = connect(to, '127.0.0.1')
      for (const each of [socket, ahead]) each.on('error', () => undefined)
      socket.pipe(ahead).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(between, 'listening')
    onTestFinished(() => void between.close())
    // It listens on TCP.
    const { port } = between.address() as AddressInfo
    const blobs = open({ url: `http://127.0.0.1:${port}` })
    const content = randomBytes(300_000)
    await blobs.put(
      'a',
      (async function* () {
        yield content
      })(),
      2 ** 20,
    )
    const buffer = Buffer.alloc(content.length)
    for (let i = 0; i < 12; i++) {
      const from = i * 10_000
      const blob = (await blobs.open('a', { from, to: from + 100_000 })) ?? expect.fail('gone')
      expect([await blob.read(buffer.subarray(0, 70_000)), await blob.read(buffer.subarray(70_000))]).toEqual(
        [70_000, 30_000],
      )
      expect(buffer.subarray(0, 100_000).equals(content.subarray(from, from + 100_000))).toBe(true)
      await blob.close()
    }
    const unread = await blobs.open('a')
    await unread?.close()
    expect(await (await blobs.open('a'))?.read(buffer)).toBe(content.length)
    expect(connections).toBeLessThanOrEqual(5)
  })

  test('a wrong secret or bucket is a fault that is not retried and names the reason', async () => {
    for (const [over, why] of [
      [{ secretKey: 'wrong' }, '403 SignatureDoesNotMatch'],
      [{ bucket: 'nowhere' }, '404 NoSuchBucket'],
    ] as const) {
      const fault = await open(over)
        .put('a', small(), 10)
        .catch((error: unknown) => error)
      expect(fault).toMatchObject({ code: 'BLOBS_UNAVAILABLE', retryable: false })
      expect(String(fault)).toContain(why)
    }
  })

  test('a service that is away is a retryable fault, and is used again when it is back', async () => {
    const away = await S3Server.start()
    const blobs = open({ url: away.url, bucket: away.bucket() })
    await away.kill()
    await expect(blobs.put('a', small(), 10)).rejects.toMatchObject({
      code: 'BLOBS_UNAVAILABLE',
      retryable: true,
    })
    await away.start()
    expect(await blobs.put('a', small(), 10)).toMatchObject({ kind: 'put', bytes: 5 })
    await away.stop()
  })
})
