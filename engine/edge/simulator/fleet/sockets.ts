// Limits of the number of connections that this process can open, and their source addresses.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The number of connections from one source address to one port. Linux has slightly more ephemeral ports. */
const PER_ADDRESS = 28_000
/** Open files that the process itself and its downloads need. */
export const FILES_SPARE = 300

/** Returns the limit of open files of this process. Infinite if the system does not report one. Node raises its soft
 *  limit to the hard limit when it starts. */
export function openFilesMax(): number {
  const text = read() ?? shell() ?? 'unlimited'
  return /^\d+$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
}

/** Returns an error message if the process may not open enough files for all sockets. */
export function tooFewFiles(sockets: number, filesMax: number): string | undefined {
  const needed = sockets + FILES_SPARE
  if (needed <= filesMax) return undefined
  return (
    `${sockets} connections need ${needed} open files, and this process may have ${filesMax}: ` +
    `raise the limit (ulimit -n ${needed}), or let devices speak through gateways (via: gateway)`
  )
}

/** Returns the source address of a connection. Undefined lets the system choose. */
export function sourceAddress(nth: number, sockets: number, host: string): string | undefined {
  if (sockets <= PER_ADDRESS) return undefined
  return isLoopback(host) ? `127.0.0.${2 + Math.floor(nth / PER_ADDRESS)}` : undefined
}

/** Returns an error message if one address has too few ports for the connections. */
export function tooFewPorts(sockets: number, host: string): string | undefined {
  if (sockets <= PER_ADDRESS || isLoopback(host)) return undefined
  return (
    `one source address allows about ${PER_ADDRESS} connections to ${host}, and ${sockets} are needed: ` +
    'run several simulators on several machines, or let devices speak through gateways (via: gateway)'
  )
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
