// Keeps a chdb process running: starts it, pings it every second, and replaces it when it ends or stops answering.
// Callers must repeat requests that were not answered.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { get } from 'node:http'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Endpoint } from '../clickhouse/clickhouse-link.ts'
import { ChdbChild } from './chdb-child.ts'
import { StartFailure } from './chdb-protocol.ts'
import { clearSpool } from './spool.ts'

export type ChdbEvent =
  | { readonly kind: 'started'; readonly pid: number; readonly url: string }
  | { readonly kind: 'silent'; readonly pid: number }
  | { readonly kind: 'ended'; readonly pid: number; readonly why: string }
  | { readonly kind: 'start-failed'; readonly why: string; readonly nextMs: number }

export interface ChdbOptions {
  readonly dataDir: string
  readonly listen?: (event: ChdbEvent) => void
  /** The whole environment of the process. */
  readonly env?: Readonly<Record<string, string>>
  readonly lockWaitMs?: number
  readonly silenceMsMax?: number
}

const RESTART_DELAY_MS = 100
const USERNAME = 'fleet'
/** Consecutive missed pings after which the process counts as down. A busy machine may miss one. */
const MISSED_MAX = 3

export class ChdbSupervisor {
  readonly #options: ChdbOptions
  readonly #password: string
  #child: ChdbChild
  /** Set after the last process has ended and until the next one answers. */
  #isDown = false
  #missed = 0
  #restarts = 0
  readonly #closing = new AbortController()
  #watchRun: Promise<void>

  private constructor(options: ChdbOptions, password: string, child: ChdbChild) {
    this.#options = options
    this.#password = password
    this.#child = child
    this.#watchRun = this.#watch()
  }

  /** Resolves once the process answers. Waits a while for an earlier owner to leave the directory, then rejects. */
  static async open(given: ChdbOptions): Promise<ChdbSupervisor> {
    const options = { ...given, dataDir: resolve(given.dataDir) }
    const password = randomBytes(32).toString('base64url')
    mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })
    try {
      const child = await start(options, { password, port: 0 })
      return new ChdbSupervisor(options, password, child)
    } catch (cause) {
      if (cause instanceof StartFailure && cause.reason === 'locked') {
        const message = `${options.dataDir} cannot be opened, another process may be using it`
        throw new Fault('DATA_DIR_IN_USE', { retryable: false, message, cause })
      }
      throw new Fault('TELEMETRY_UNAVAILABLE', {
        retryable: true,
        message: `chdb did not start: ${cause}`,
        cause,
      })
    }
  }

  /** The port may change with a restart. */
  endpoint(): Endpoint {
    return { url: `http://127.0.0.1:${this.#child.port}`, username: USERNAME, password: this.#password }
  }

  get pid(): number {
    return this.#child.pid
  }

  get restarts(): number {
    return this.#restarts
  }

  isUp(): boolean {
    return !this.#isDown && this.#missed < MISSED_MAX
  }

  /** Gives running statements a limited time to finish. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return this.#watchRun
    this.#closing.abort()
    const child = this.#child
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), LIMITS.chdbStopTimeoutMs)
    await child.ended
    clearTimeout(late)
    await this.#watchRun
    clearSpool(this.#options.dataDir)
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const child = this.#child
      const pings = this.#ping(child)
      const why = await child.ended
      clearInterval(pings)
      if (signal.aborted) return
      this.#isDown = true
      this.#notify({ kind: 'ended', pid: child.pid, why })
      await this.#restart(child.port)
    }
  }

  async #restart(port: number): Promise<void> {
    const { signal } = this.#closing
    for (
      let delay = RESTART_DELAY_MS;
      !signal.aborted;
      delay = Math.min(delay * 2, LIMITS.chdbRestartDelayMsMax)
    ) {
      await wait(delay, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      try {
        const child = await start(this.#options, { password: this.#password, port, signal })
        this.#child = child
        this.#restarts++
        this.#missed = 0
        this.#isDown = false
        this.#notify({ kind: 'started', pid: child.pid, url: this.endpoint().url })
        return
      } catch (cause) {
        this.#notify({ kind: 'start-failed', why: String(cause), nextMs: delay })
      }
    }
  }

  /** Counts missed answers rather than time, because a pause of our own process is not the child's fault. */
  #ping(child: ChdbChild): NodeJS.Timeout {
    const missedMax = (this.#options.silenceMsMax ?? LIMITS.chdbSilenceMsMax) / LIMITS.chdbPingEveryMs
    this.#missed = 0
    const timer = setInterval(() => {
      const request = get({
        host: '127.0.0.1',
        port: child.port,
        path: '/ping',
        timeout: LIMITS.chdbPingEveryMs,
      })
      let isCounted = false
      const onMissed = () => {
        if (isCounted || child !== this.#child) return
        isCounted = true
        this.#missed++
        if (this.#missed < missedMax) return
        this.#notify({ kind: 'silent', pid: child.pid })
        child.kill('SIGKILL')
      }
      request.on('response', (response) => {
        response.resume()
        this.#missed = 0
      })
      request.on('timeout', () => request.destroy(new Error('no answer')))
      request.on('error', onMissed)
    }, LIMITS.chdbPingEveryMs)
    timer.unref()
    return timer
  }

  #notify(event: ChdbEvent): void {
    this.#options.listen?.(event)
  }
}

/** Prefers the given port, and takes any other if that is in use. */
async function start(
  { dataDir, env = {}, lockWaitMs = LIMITS.chdbLockWaitMs }: ChdbOptions,
  {
    password,
    port,
    signal,
  }: { readonly password: string; readonly port: number; readonly signal?: AbortSignal },
): Promise<ChdbChild> {
  const open = { kind: 'open', dataDir, username: USERNAME, password, lockWaitMs } as const
  try {
    return await ChdbChild.start({ ...open, port }, env, signal)
  } catch (cause) {
    if (!(cause instanceof StartFailure) || cause.reason !== 'port') throw cause
    return ChdbChild.start({ ...open, port: 0 }, env, signal)
  }
}
