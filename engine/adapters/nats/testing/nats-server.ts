// For tests: a separate nats-server in a directory of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../testing/free-port.ts'

const { TEST_SERVER_NATS_SERVER } = process.env
/** Path of nats-server, as `npm test` found or installed it. Undefined if there is none. */
export const NATS_SERVER = TEST_SERVER_NATS_SERVER

export interface NatsServerOptions {
  readonly syncInterval?: string
  readonly maxPayload?: string
  /** Further lines of its configuration. */
  readonly lines?: string
}

const START_TIMEOUT_MS = 60_000

export class NatsServer {
  readonly #directory = mkdtempSync(join(tmpdir(), 'fleet-nats-'))
  readonly #options: NatsServerOptions
  /** `host:port` for clients. */
  readonly url: string
  /** URL of the HTTP monitoring. */
  readonly monitor: string
  #child: ChildProcess | undefined

  private constructor(options: NatsServerOptions, ports: { readonly nats: number; readonly http: number }) {
    this.#options = options
    this.url = `127.0.0.1:${ports.nats}`
    this.monitor = `http://127.0.0.1:${ports.http}`
  }

  static async start(options: NatsServerOptions = {}): Promise<NatsServer> {
    const server = new NatsServer(options, { nats: await freePort(), http: await freePort() })
    await server.restart()
    return server
  }

  /** Starts the server with the same data and ports. Resolves once it answers. */
  async restart(): Promise<void> {
    if (NATS_SERVER === undefined)
      throw new Error('there is no nats-server; run the tests with `npm test`, which installs one')
    const conf = join(this.#directory, 'nats.conf')
    writeFileSync(conf, this.#conf())
    const child = spawn(NATS_SERVER, ['-c', conf, '-l', join(this.#directory, 'log')], { stdio: 'ignore' })
    this.#child = child
    const until = performance.now() + START_TIMEOUT_MS
    while (!(await this.#isHealthy())) {
      if (child.exitCode !== null || performance.now() > until)
        throw new Error(`nats-server did not start: ${readFileSync(join(this.#directory, 'log'), 'utf8')}`)
      await wait(20)
    }
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Restarts it, and keeps a copy of what it stores. */
  async keepCopy(): Promise<void> {
    await this.kill()
    cpSync(join(this.#directory, 'store'), join(this.#directory, 'copy'), { recursive: true })
    await this.restart()
  }

  /** Restarts it with the copy, or with nothing. */
  async putBack(what: 'copy' | 'nothing'): Promise<void> {
    await this.kill()
    rmSync(join(this.#directory, 'store'), { recursive: true, force: true })
    if (what === 'copy')
      cpSync(join(this.#directory, 'copy'), join(this.#directory, 'store'), { recursive: true })
    await this.restart()
  }

  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #conf(): string {
    const { syncInterval = 'always', maxPayload = '10MB', lines = '' } = this.#options
    return `listen: "${this.url}"
http: "${this.monitor.slice('http://'.length)}"
max_payload: ${maxPayload}
jetstream { store_dir: "${this.#directory}/store", sync_interval: ${syncInterval} }
${lines}
`
  }

  async #isHealthy(): Promise<boolean> {
    try {
      return (await fetch(`${this.monitor}/healthz`, { signal: AbortSignal.timeout(1_000) })).ok
    } catch {
      // The server does not answer yet.
      return false
    }
  }
}
