// Copies an LMDB file while another process writes it.
import { chmodSync } from 'node:fs'
import { open } from 'lmdb'

/** The copy is the state after some commit. Throws if there is no such file. */
export async function copyLmdb(from: string, to: string): Promise<void> {
  const root = open({ path: from, readOnly: true, noSubdir: true, encoding: 'binary' })
  try {
    await root.backup(to, false)
    // The file holds password hashes and secrets.
    chmodSync(to, 0o600)
  } finally {
    await root.close()
  }
}
