// What a run needs of the system it haunts.
import { CutProxy } from '../../../engine/adapters/testing/proxy.ts'
import type { ApiNode } from './client.ts'
import type { FaultKind } from './faults.ts'
import type { Target } from './nemesis.ts'
import type { Promises, Recorder } from './recording.ts'

export interface System {
  readonly promises: Promises
  readonly nodes: readonly ApiNode[]
  /** Where devices connect. */
  readonly mqtt: () => { readonly host: string; readonly port: number }
  readonly targets: readonly Target[]
  /** Whether every part is there and says that it is well; else who is not. */
  lacking(): Promise<readonly string[]>
  close(): Promise<void>
  /** At once, for the end of the run itself. */
  abandon(): void
}

export interface SystemOptions {
  /** For the data; emptied by whoever gave it. */
  readonly folder: string
  /** Where each process writes its log. */
  readonly logs: string
  readonly recorder: Recorder
}

export const ADMIN = { email: 'chaos@example.com', password: 'correct horse battery' } as const

/** Nobody listens there. */
export const NOWHERE = '127.0.0.1:9'

/** For a connection; `name` says from whom to whom. */
export class LinkTarget implements Target {
  readonly kinds: readonly FaultKind[] = ['cut', 'slow', 'freeze']
  readonly name: string
  readonly proxy: CutProxy

  private constructor(name: string, proxy: CutProxy) {
    this.name = name
    this.proxy = proxy
  }

  /** To the `host:port` that `target` gives at each connection. */
  static async open(name: string, target: () => string): Promise<LinkTarget> {
    return new LinkTarget(name, await CutProxy.open(target))
  }

  async inflict(kind: FaultKind): Promise<void> {
    if (kind === 'slow') this.proxy.delayMs = SLOW_MS
    if (kind === 'freeze') this.proxy.isFrozen = true
    if (kind !== 'cut') return
    this.proxy.isClosed = true
    this.proxy.cut()
  }

  async heal(kind: FaultKind): Promise<void> {
    if (kind === 'slow') this.proxy.delayMs = 0
    if (kind === 'freeze') this.proxy.isFrozen = false
    if (kind === 'cut') this.proxy.isClosed = false
  }
}

const SLOW_MS = 150

/** Undefined for one that is well. */
export async function unwell(name: string, url: string): Promise<string | undefined> {
  try {
    const { status } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })
    return status === 200 ? undefined : `${name} (${status})`
  } catch {
    return `${name} (no answer)`
  }
}
