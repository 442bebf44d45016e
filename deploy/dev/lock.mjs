// A lock between processes is a file that contains the process id of its holder. The lock of a killed process is taken
// over: its process id no longer exists or, if the id belongs to another container, the file is too old.
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

const TOUCH_EVERY_MS = 2_000
const STALE_AFTER_MS = 30_000
const LOOK_EVERY_MS = 100

/** Resolves once the lock is held, with a function that releases it. Calls `onWait` if another process holds it. */
export async function acquireLock(path, onWait = () => {}) {
  mkdirSync(dirname(path), { recursive: true })
  let waited = false
  while (!take(path)) {
    if (dropStale(path)) continue
    if (!waited) onWait()
    waited = true
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  const touch = setInterval(() => touchLock(path), TOUCH_EVERY_MS)
  touch.unref()
  return () => {
    clearInterval(touch)
    rmSync(path, { force: true })
  }
}

function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Returns true if the lock is now free because its holder has gone. */
function dropStale(path) {
  const seen = read(path)
  if (seen === undefined) return true
  if (!isStale(seen)) return false
  // Renaming is atomic: if two processes find the same stale lock, only one renames it. The other may then rename the fresh
  // lock of the first, and has to put it back.
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return true
    throw error
  }
  const taken = read(aside)
  if (taken !== undefined && taken.holder !== seen.holder) putBack(aside, path)
  rmSync(aside, { force: true })
  return true
}

function putBack(aside, path) {
  try {
    linkSync(aside, path)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}

function read(path) {
  try {
    return { holder: readFileSync(path, 'utf8'), touchedAt: statSync(path).mtimeMs }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function isStale({ holder, touchedAt }) {
  const ageMs = Date.now() - touchedAt
  if (ageMs > STALE_AFTER_MS) return true
  // The file was just created, and its holder has not written its id yet.
  if (holder === '') return false
  return !isAlive(Number(holder))
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function touchLock(path) {
  try {
    const now = new Date()
    utimesSync(path, now, now)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}
