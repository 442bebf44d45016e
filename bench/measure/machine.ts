// Describes the machine on which the figures were measured.
import { execFileSync } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'

const TMPFS = 0x01021994
const GIB = 1024 ** 3

export function describeMachine(dir: string): string {
  const processors = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`
  return [
    `On ${new Date().toISOString().slice(0, 10)}, commit ${commit()}`,
    `${processors}, ${Math.round(totalmem() / GIB)} GiB`,
    `Linux ${release()}, Node ${process.versions.node}`,
    isMemory(dir) ? 'data on tmpfs, where "power" waits for no disk' : 'data on disk',
  ].join('; ')
}

function commit(): string {
  const hash = git('rev-parse', '--short=12', 'HEAD') ?? 'unknown'
  const changed = git('status', '--porcelain', '--', 'engine', 'api', 'schemas') ?? ''
  return changed === '' ? hash : `${hash} with changes`
}

function isMemory(dir: string): boolean {
  return statfsSync(dir).type === TMPFS
}

function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
