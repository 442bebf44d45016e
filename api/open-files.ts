import { readFileSync } from 'node:fs'

/** Files and sockets that this process may have open at once. Infinity where the system does not tell. */
export function openFilesMax(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // Not Linux. Connections have bounds of their own.
    return Number.POSITIVE_INFINITY
  }
}
