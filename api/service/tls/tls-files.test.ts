import { chmodSync, mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Authority } from '../../cli/certs/authority.ts'
import { TlsFiles } from './tls-files.ts'

const OF_EVERYBODY = expect.stringContaining('every user of this machine')
const dir = mkdtempSync(join(tmpdir(), 'fleet-tls-'))
const now = Date.now()
const authority = Authority.create(join(dir, 'ca'), { name: 'CA', days: 2, crlUrl: undefined, now })
const { certificate: cert, key } = authority.issueServer(['localhost'], { days: 1, now })
afterAll(() => rmSync(dir, { recursive: true }))

function open(mode: number) {
  const told: unknown[] = []
  chmodSync(key, mode)
  const logger = { info() {}, warn: (...args: readonly unknown[]) => told.push(args) }
  return { told, files: new TlsFiles({ cert, key, clientCa: undefined, crl: undefined }, logger) }
}

test('a key that everybody on the machine may read is used with a warning that names it', () => {
  const warned = (mode: number): readonly unknown[] => {
    const { told, files } = open(mode)
    files.close()
    return told
  }
  expect([warned(0o600), warned(0o640)]).toEqual([[], []])
  expect(warned(0o666)).toEqual([[{ path: key }, OF_EVERYBODY]])
})

test('a key that becomes readable for everybody is warned about when it is read again', async () => {
  const { told, files } = open(0o600)
  chmodSync(key, 0o644)
  // The first look at a file happens in the background, and changes before it are not noticed.
  let seconds = 0
  const touched = () => {
    utimesSync(key, ++seconds, seconds)
    return told.length
  }
  await expect.poll(touched).toBeGreaterThan(0)
  files.close()
  expect(told[0]).toEqual([{ path: key }, OF_EVERYBODY])
})
