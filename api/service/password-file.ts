// The file for the first admin's generated password when no terminal can show it. Logs are kept, copied and widely read,
// so the password is never logged.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from './settings/settings.ts'

export type HandOver = 'shown' | ((password: string) => string)

/** Undefined if there is neither a terminal nor a data directory. The first admin then comes only from `FLEET_ADMIN_*` or
 *  from a registration. */
export function handOverOf(profile: Settings['profile'], isTerminal: boolean): HandOver | undefined {
  if (isTerminal) return 'shown'
  if (profile.kind !== 'embedded') return undefined
  return (password) => writePassword(join(profile.dataDir, 'admin-password'), password)
}

function writePassword(path: string, password: string): string {
  // A killed start may have left a file. Creating it anew guarantees its mode and that no symbolic link is followed.
  rmSync(path, { force: true })
  writeFileSync(path, `${password}\n`, { mode: 0o600, flag: 'wx', flush: true })
  return path
}
