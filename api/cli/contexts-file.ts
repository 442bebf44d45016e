// The stored logins. The file holds tokens, so only its owner may read it.
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Session } from '../../schemas/client.ts'
import { EXIT, Failure } from './failure.ts'

export interface Context {
  readonly url: string
  readonly email?: string | undefined
  readonly session?: Session | undefined
  readonly apiKey?: string | undefined
}

export interface Contexts {
  readonly current: string | undefined
  readonly contexts: Readonly<Record<string, Context>>
}

export interface ContextsFile {
  readonly path: string
  read(): Contexts
  /** Replaces the whole file atomically. There is no lock: the last writer wins. */
  change(change: (before: Contexts) => Contexts): void
}

const OWNER_ONLY = 0o600
const OTHERS = 0o077
const NONE: Contexts = { current: undefined, contexts: {} }

export function openContextsFile(configDir: string): ContextsFile {
  const path = join(configDir, 'contexts.json')
  const read = () => readContexts(path)
  return {
    path,
    read,
    change(change) {
      const text = `${JSON.stringify(change(read()), null, 2)}\n`
      mkdirSync(configDir, { recursive: true, mode: 0o700 })
      // Renamed over the old file, so an interrupted command leaves either the old or the new one intact.
      const next = `${path}.${process.pid}`
      writeFileSync(next, text, { mode: OWNER_ONLY })
      renameSync(next, path)
    },
  }
}

function readContexts(path: string): Contexts {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    // Node's system errors carry a code.
    if ((error as { code?: unknown }).code === 'ENOENT') return NONE
    throw new Failure(EXIT.failed, `${path} cannot be read: ${String(error)}`)
  }
  if ((statSync(path).mode & OTHERS) !== 0) chmodSync(path, OWNER_ONLY)
  const contexts = parseContexts(text)
  if (contexts === undefined) throw new Failure(EXIT.failed, `${path} is damaged; remove it and log in again`)
  return contexts
}

function parseContexts(text: string): Contexts | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isOurs = typeof value === 'object' && value !== null && 'contexts' in value
    // Only this program writes the file.
    return isOurs ? (value as Contexts) : undefined
  } catch {
    // Not JSON.
    return undefined
  }
}
