// Reads the resident memory of a process tree from /proc. Mapped files (log and store) are counted separately, because the
// kernel may drop their pages at any time.
import { readFileSync } from 'node:fs'
import { processTree } from './cpu.ts'

export interface Resident {
  readonly anonBytes: number
  readonly fileBytes: number
}

/** Reads /proc/<pid>/status. */
export function parseResident(status: string): Resident {
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  return { anonBytes: kib('RssAnon') * 1024, fileBytes: (kib('RssFile') + kib('RssShmem')) * 1024 }
}

function residentOf(pid: number): Resident {
  return parseResident(readFileSync(`/proc/${pid}/status`, 'utf8'))
}

export interface TreeResident {
  readonly root: Resident
  readonly children: Resident
}

export function residentOfTree(root: number): TreeResident {
  const below = processTree(root).filter(({ pid }) => pid !== root)
  const children = below.map(({ pid }) => residentOf(pid))
  return {
    root: residentOf(root),
    children: {
      anonBytes: children.reduce((sum, { anonBytes }) => sum + anonBytes, 0),
      fileBytes: children.reduce((sum, { fileBytes }) => sum + fileBytes, 0),
    },
  }
}

const LOOK_MS = 50

/** Watches the anonymous memory of a process and its children. The returned function stops it and returns by how much the
 *  memory grew at most. */
export function watchGrowth(pid: number): () => number {
  const now = () => {
    const { root, children } = residentOfTree(pid)
    return root.anonBytes + children.anonBytes
  }
  const before = now()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, now())
  }, LOOK_MS)
  return () => {
    clearInterval(timer)
    return Math.max(most, now()) - before
  }
}
