// How many connections this process may have, and from where.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Connections of one source address to one port: as many as Linux has ports for them, with some to spare. */
const PER_ADDRESS = 28_000
/** Files of the process itself, and downloads. */
export const FILES_SPARE = 300

/** The most open files of this process; infinite if the system does not say. Node raises it as far as it may at its start. */
export function openFilesMax(): number {
  const text = read() ?? shell() ?? 'unlimited'
  return /^\d+$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
}

/** One line that says what is missing; undefined if all sockets may be opened. */
export function tooFewFiles(sockets: number, filesMax: number): string | undefined {
  const needed = sockets + FILES_SPARE
  if (needed <= filesMax) return undefined
  return (
    `${sockets} connections need ${needed} open files, and this process may have ${filesMax}: ` +
    `raise the limit (ulimit -n ${needed}), or let devices speak through gateways (via: gateway)`
  )
}

/** The address that a connection comes from; undefined leaves it to the system. */
export function sourceAddress(nth: number, sockets: number, host: string): string | undefined {
  if (sockets <= PER_ADDRESS) return undefined
  return isLoopback(host) ? `127.0.0.${2 + Math.floor(nth / PER_ADDRESS)}` : undefined
}

/** One line if the connections do not fit into the ports of one address. */
export function tooFewPorts(sockets: number, host: string): string | undefined {
  if (sockets <= PER_ADDRESS || isLoopback(host)) return undefined
  return `one address has about ${PER_ADDRESS} connections to ${host}, not ${sockets}: share them among machines, or use via: gateway`
}

function isLoopback(host: string): boolean {
  return host.startsWith('127.') || host === 'localhost'
}

function read(): string | undefined {
  try {
    return /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  } catch {
    // Only Linux has this file.
    return undefined
  }
}

function shell(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}
