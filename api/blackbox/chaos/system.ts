// What a chaos run needs from the system under test.
import { CutProxy } from '../../../engine/adapters/testing/proxy.ts'
import type { ApiNode } from './client.ts'
import type { FaultKind } from './faults.ts'
import type { Target } from './nemesis.ts'
import type { Promises, Recorder } from './recording.ts'

export interface System {
  readonly promises: Promises
  readonly nodes: readonly ApiNode[]
  /** Address to which devices connect. */
  readonly mqtt: () => { readonly host: string; readonly port: number }
  readonly targets: readonly Target[]
  /** False where images have no place. */
  readonly hasFirmware: boolean
  /** Resolves with the parts that are missing or not well. */
  lacking(): Promise<readonly string[]>
  close(): Promise<void>
  /** Kills everything at once, when the run itself ends. */
  abandon(): void
}

export interface SystemOptions {
  /** Folder for data, which the caller removes. */
  readonly folder: string
  /** Folder for the logs of all processes. */
  readonly logs: string
  readonly recorder: Recorder
  /** Whether servers may lose their data, too. */
  readonly losesData: boolean
}

export const ADMIN = { email: 'chaos@example.com', password: 'correct horse battery' } as const

/** An address at which nothing listens. */
export const NOWHERE = '127.0.0.1:9'

/** A connection that can be broken; `name` tells its two ends. */
export class LinkTarget implements Target {
  readonly kinds: readonly FaultKind[]
  readonly name: string
  readonly proxy: CutProxy

  private constructor(name: string, proxy: CutProxy, isRedundant: boolean) {
    this.name = name
    this.proxy = proxy
    this.kinds = isRedundant ? ['cut', 'sever', 'slow', 'freeze'] : ['cut', 'slow', 'freeze']
  }

  /** Opens a link to the `host:port` that `target` returns for each connection. `isRedundant`: others can do without it for
   *  long. */
  static async open(name: string, target: () => string, isRedundant = false): Promise<LinkTarget> {
    return new LinkTarget(name, await CutProxy.open(target), isRedundant)
  }

  async inflict(kind: FaultKind): Promise<void> {
    if (kind === 'slow') this.proxy.delayMs = SLOW_MS
    if (kind === 'freeze') this.proxy.isFrozen = true
    if (kind !== 'cut' && kind !== 'sever') return
    this.proxy.isClosed = true
    this.proxy.cut()
  }

  async heal(kind: FaultKind): Promise<void> {
    if (kind === 'slow') this.proxy.delayMs = 0
    if (kind === 'freeze') this.proxy.isFrozen = false
    if (kind === 'cut' || kind === 'sever') this.proxy.isClosed = false
  }
}

const SLOW_MS = 150

/** Undefined if the part is well. */
export async function unwell(name: string, url: string): Promise<string | undefined> {
  try {
    const { status } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })
    return status === 200 ? undefined : `${name} (${status})`
  } catch {
    return `${name} (no answer)`
  }
}
