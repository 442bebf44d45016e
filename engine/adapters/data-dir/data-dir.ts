// The data directory. Only one process at a time may use it, and only a version that can read it.
//
// The lock is a listening socket in the directory. It is released when its process ends, for whatever reason, and it
// works between containers that share the directory. A socket file without a listener is left over from a killed process.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createConnection, createServer, type Server } from 'node:net'
import { userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { errorText } from '../../../schemas/error-text.ts'
import { Fault } from '../../ports/fault.ts'

/** Increased when older versions can no longer read the data. */
const FORMAT = 1
/** Stands for the format while a backup is being restored. Every version of Fleet refuses it. */
export const UNFINISHED_RESTORE = 'unfinished restore\n'
/** Longest socket path that all operating systems allow, with a small margin. */
const SOCKET_PATH_BYTES_MAX = 100

export interface DataDir {
  readonly path: string
  readonly log: string
  readonly store: string
  readonly telemetry: string
  readonly blobs: string
  release(): Promise<void>
}

/** Creates the directory if necessary. Throws `Fault('DATA_DIR_IN_USE' | 'DATA_DIR_TOO_NEW' | 'DATA_DIR_UNUSABLE')`,
 *  each with a one-line message. */
export async function openDataDir(path: string): Promise<DataDir> {
  try {
    return await open(path)
  } catch (error) {
    // The system refused: not a directory, no permission or no space.
    if (typeof codeOf(error) !== 'string' || error instanceof Fault) throw error
    throw unusable(path, errorText(error), error)
  }
}

async function open(path: string): Promise<DataDir> {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const real = realpathSync(path)
  const lock = await takeLock(real)
  try {
    checkRights(real)
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
    blobs: join(real, 'blobs'),
    release: () => release(lock),
  }
}

/** Path of the store of devices and users, which may be read while another process has the directory. */
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
  if (text === UNFINISHED_RESTORE)
    throw unusable(dir, 'a restore into it did not end; remove what is in it and restore again')
  const format = /^\d{1,9}\s*$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  if (format <= FORMAT) return
  const found = Number.isFinite(format) ? `format ${format}` : 'an unknown format'
  const message = `the data directory ${dir} was written by a newer version of Fleet (${found}, this one reads up to ${FORMAT})`
  throw new Fault('DATA_DIR_TOO_NEW', { retryable: false, message })
}

/** A command that another user ran, often root, may have left files here that this user cannot open. LMDB crashes on such a
 *  lock file without a word, so everything is checked before it is opened. */
function checkRights(dir: string): void {
  const inside = (path: string) => readdirSync(path).map((name) => join(path, name))
  const log = join(dir, 'log')
  for (const path of inside(dir)) checkAccess(dir, path)
  if (existsSync(log)) for (const path of inside(log)) checkAccess(dir, path)
}

function checkAccess(dir: string, path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    // The file was removed meanwhile.
    if (codeOf(error) === 'ENOENT') return
    if (codeOf(error) !== 'EACCES') throw error
    const user = userName()
    const advice = `if it belongs to another user, run: chown -R ${user} ${dir}`
    throw unusable(dir, `the user ${user} may not read and write ${path}; ${advice}`, error)
  }
}

/** The name of the user of this process, or the number where there is no name, as in a container. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

function readVersion(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** A takeover first moves the dead socket away and then checks what it moved, so that two processes that start at the
 *  same time cannot both believe that they removed a dead one. */
async function takeLock(dir: string): Promise<Server> {
  const file = socketPath(join(dir, 'lock'))
  const lock = await tryListen(file)
  if (lock !== undefined) return lock
  if (await isAlive(file)) throw inUse(dir)
  const moved = socketPath(join(dir, `lock.${randomBytes(4).toString('hex')}`))
  moveIfExists(file, moved)
  if (await isAlive(moved)) {
    moveIfExists(moved, file)
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
  // The lock alone must not keep the process running.
  server.unref()
  return server
}

async function isAlive(file: string): Promise<boolean> {
  const socket = createConnection(file)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    // Nobody listens, or the file is gone. In both cases there is no owner.
    return false
  } finally {
    socket.destroy()
  }
}

function moveIfExists(from: string, to: string): void {
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
  const message = `the data directory ${dir} is in use by another process; stop it first`
  return new Fault('DATA_DIR_IN_USE', { retryable: false, message })
}

async function release(lock: Server): Promise<void> {
  if (!lock.listening) return
  lock.close()
  await once(lock, 'close')
}

/** Socket paths are limited in length, so a relative path is used if it is shorter. */
function socketPath(path: string): string {
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return path
  const near = relative(process.cwd(), path)
  if (Buffer.byteLength(near) <= SOCKET_PATH_BYTES_MAX) return near
  throw unusable(dirname(path), 'its path is too long')
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
