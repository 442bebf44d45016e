// Describes the machine on which the figures were measured.
import { execFileSync } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'

const TMPFS = 0x01021994
const GIB = 1024 ** 3

export function describeMachine(dir: string): readonly (readonly [string, string])[] {
  return [
    ['date', new Date().toISOString()],
    ['commit', commit()],
    [
      'machine',
      `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / GIB)} GiB`,
    ],
    ['system', `Linux ${release()}, Node ${process.versions.node}`],
    ['data directory', isMemory(dir) ? 'tmpfs: "power" waits for no disk here' : 'on disk'],
    ['mosquitto', version('mosquitto', ['-h'])],
  ]
}

function commit(): string {
  const hash = version('git', ['rev-parse', '--short=12', 'HEAD'])
  const changed = version('git', ['status', '--porcelain', '--', 'engine', 'api', 'schemas'])
  return changed === '' || changed === 'none' ? hash : `${hash} with changes`
}

function isMemory(dir: string): boolean {
  return statfsSync(dir).type === TMPFS
}

// `mosquitto -h` prints its version and exits with an error.
function version(command: string, args: readonly string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch (error) {
    const stdout = error instanceof Error ? Reflect.get(error, 'stdout') : undefined
    return typeof stdout === 'string' && stdout !== '' ? (stdout.split('\n')[0] ?? 'none') : 'none'
  }
}
