// The data directory: one process at a time, of a version that can read it.
//
// The lock is a listening socket in the directory: it goes with its process, however that ends, and works between
// containers that share the directory. A socket file nobody listens to is what a killed process left.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection, createServer, type Server } from 'node:net'
import { dirname, join, relative } from 'node:path'
import { Fault } from '../../ports/fault.ts'

/** Grows when older versions can no longer read what this one writes. */
const FORMAT = 1
/** What the operating systems allow in a socket's path, with a little room. */
const SOCKET_PATH_BYTES_MAX = 100

export interface DataDir {
  readonly path: string
  readonly log: string
  readonly store: string
  readonly telemetry: string
  /** Lets another process in. */
  release(): Promise<void>
}

/** Creates it if need be. Throws `Fault('DATA_DIR_IN_USE' | 'DATA_DIR_TOO_NEW' | 'DATA_DIR_UNUSABLE')`, each with one
 *  clear line. */
export async function openDataDir(path: string): Promise<DataDir> {
  try {
    return await open(path)
  } catch (error) {
    // What the system says no to: not a directory, no rights, no room.
    if (typeof codeOf(error) !== 'string' || error instanceof Fault) throw error
    throw unusable(path, error instanceof Error ? error.message : String(error), error)
  }
}

async function open(path: string): Promise<DataDir> {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const real = realpathSync(path)
  const lock = await takeLock(real)
  try {
    checkVersion(real)
  } catch (error) {
    await release(lock)
    throw error
  }
  return {
    path: real,
    log: join(real, 'log'),
    store: storePath(real),
    telemetry: join(real, 'telemetry'),
    release: () => release(lock),
  }
}

/** Of devices and users; to be read beside the process that has the directory. */
export function storePath(dir: string): string {
  return join(dir, 'store.mdb')
}

function checkVersion(dir: string): void {
  const file = join(dir, 'VERSION')
  const text = readVersion(file)
  if (text === undefined) {
    writeFileSync(`${file}.new`, `${FORMAT}\n`, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
    return
  }
  const format = /^\d{1,9}\s*$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  if (format <= FORMAT) return
  const found = Number.isFinite(format) ? `format ${format}` : 'an unknown format'
  const message = `the data directory ${dir} was written by a newer version of Fleet (${found}, this one reads up to ${FORMAT})`
  throw new Fault('DATA_DIR_TOO_NEW', { retryable: false, message })
}

function readVersion(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Taking over moves the dead socket away first and looks at what was moved: two processes that start at once
 *  cannot both believe they removed a dead one. */
async function takeLock(dir: string): Promise<Server> {
  const file = socketPath(join(dir, 'lock'))
  const lock = await tryListen(file)
  if (lock !== undefined) return lock
  if (await isAlive(file)) throw inUse(dir)
  const moved = socketPath(join(dir, `lock.${randomBytes(4).toString('hex')}`))
  moveIfThere(file, moved)
  if (await isAlive(moved)) {
    moveIfThere(moved, file)
    throw inUse(dir)
  }
  rmSync(moved, { force: true })
  const second = await tryListen(file)
  if (second === undefined) throw inUse(dir)
  return second
}

async function tryListen(file: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy())
  server.listen(file)
  try {
    await once(server, 'listening')
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return undefined
    throw error
  }
  // The lock alone is no reason to go on living.
  server.unref()
  return server
}

async function isAlive(file: string): Promise<boolean> {
  const socket = createConnection(file)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    // Nobody listens, or it is gone: both mean there is no owner.
    return false
  } finally {
    socket.destroy()
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

function unusable(dir: string, why: string, cause?: unknown): Fault {
  const message = `the data directory ${dir} cannot be used: ${why}`
  return new Fault('DATA_DIR_UNUSABLE', { retryable: false, message, cause })
}

function inUse(dir: string): Fault {
  const message = `the data directory ${dir} is in use by another process`
  return new Fault('DATA_DIR_IN_USE', { retryable: false, message })
}

async function release(lock: Server): Promise<void> {
  if (!lock.listening) return
  lock.close()
  await once(lock, 'close')
}

/** Socket paths are short; a deep directory is reached from where we are, if that is nearer. */
function socketPath(path: string): string {
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return path
  const near = relative(process.cwd(), path)
  if (Buffer.byteLength(near) <= SOCKET_PATH_BYTES_MAX) return near
  throw unusable(dirname(path), 'its path is too long')
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
