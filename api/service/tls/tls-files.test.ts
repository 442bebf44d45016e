import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Authority } from '../../cli/certs/authority.ts'
import { TlsFiles } from './tls-files.ts'

test('a key that everybody on the machine may read is used with a warning that names it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'fleet-tls-'))
  const now = Date.now()
  const authority = Authority.create(join(dir, 'ca'), { name: 'CA', days: 2, crlUrl: undefined, now })
  const { certificate: cert, key } = authority.issueServer(['localhost'], { days: 1, now })
  const warned = (mode: number): readonly unknown[] => {
    const told: unknown[] = []
    chmodSync(key, mode)
    const logger = { info() {}, warn: (...args: readonly unknown[]) => told.push(args) }
    new TlsFiles({ cert, key, clientCa: undefined, crl: undefined }, logger).close()
    return told
  }
  try {
    expect([warned(0o600), warned(0o640)]).toEqual([[], []])
    expect(warned(0o666)).toEqual([[{ path: key }, expect.stringContaining('every user of this machine')]])
  } finally {
    rmSync(dir, { recursive: true })
  }
})
