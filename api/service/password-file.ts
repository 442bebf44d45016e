// Where the first admin's generated password goes if no terminal shows it: logs are kept, copied and read by many.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from './settings/settings.ts'

export type HandOver = 'shown' | ((password: string) => string)

/** Undefined if there is neither a terminal nor a directory of our own: then only `FLEET_ADMIN_*` or a registration makes
 *  an admin. */
export function handOverOf(profile: Settings['profile'], isTerminal: boolean): HandOver | undefined {
  if (isTerminal) return 'shown'
  if (profile.kind !== 'embedded') return undefined
  return (password) => writePassword(join(profile.dataDir, 'admin-password'), password)
}

function writePassword(path: string, password: string): string {
  // Of a start that was killed. A new file is made, so its mode is ours, and a link leads nowhere.
  rmSync(path, { force: true })
  writeFileSync(path, `${password}\n`, { mode: 0o600, flag: 'wx', flush: true })
  return path
}
