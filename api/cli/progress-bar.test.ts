import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCounted } from './counted-file.ts'
import { progressBar } from './progress-bar.ts'

test('a bar grows with its share, and is full only at the end', () => {
  expect([0, 0.5, 0.999, 1].map(progressBar)).toEqual([
    `[${'-'.repeat(24)}] 0 %`,
    `[${'#'.repeat(12)}${'-'.repeat(12)}] 50 %`,
    `[${'#'.repeat(23)}-] 99 %`,
    `[${'#'.repeat(24)}] 100 %`,
  ])
  expect([progressBar(-1), progressBar(7)]).toEqual([progressBar(0), progressBar(1)])
})

test('a file sent in a form arrives unchanged, and reports its progress', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-'))
  const server = createServer()
  try {
    const path = join(folder, 'image.bin')
    const content = Buffer.alloc(1_000_000, 'an image')
    await writeFile(path, content)
    const received = new Promise<Buffer>((resolve) => {
      server.on('request', async (request, response) => {
        const pieces: Buffer[] = []
        for await (const piece of request) pieces.push(piece)
        response.end()
        resolve(Buffer.concat(pieces))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const read: number[] = []
    const file = await openCounted(path, (bytes) => read.push(bytes))
    expect([file.name, file.size]).toEqual(['image.bin', content.length])
    const body = new FormData()
    body.set('file', file)
    const { port } = Object(server.address())
    await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body })
    const form = await received
    expect(form.includes(content)).toBe(true)
    expect(form.includes('filename="image.bin"')).toBe(true)
    expect(read.length).toBeGreaterThan(1)
    expect(read).toEqual([...read].sort((a, b) => a - b))
    expect(read.at(-1)).toBe(content.length)
  } finally {
    server.close()
    await rm(folder, { recursive: true })
  }
})
