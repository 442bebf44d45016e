// For tests: a real redis-server in a directory of its own, which may be killed, paused and restarted.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Fault } from '../../../ports/fault.ts'
import { freePort } from '../../testing/free-port.ts'
import { RedisLink, type RedisLinkOptions } from '../redis-link.ts'

/** Undefined if there is none. Tests that need it are then skipped. */
export const REDIS_SERVER =
  process.env['TEST_SERVER_REDIS_SERVER'] ??
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find((path) => existsSync(path))
const READY = /Ready to accept connections/
const WAIT_MS = 20_000
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']

export class RedisServer {
  readonly directory = mkdtempSync(join(tmpdir(), 'fleet-redis-'))
  readonly #arguments: readonly string[]
  readonly #links: RedisLink[] = []
  /** The reason for which a process was told to end. */
  readonly losses: Fault[] = []
  port = 0
  #child: ChildProcess | undefined
  #names = 0

  private constructor(args: readonly string[]) {
    this.#arguments = args
  }

  /** `PORT` among the arguments is replaced by the port. */
  static async start(args: readonly string[] = DURABLE): Promise<RedisServer> {
    const server = new RedisServer(args)
    server.port = await freePort()
    await server.start()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async start(): Promise<void> {
    const place = ['--port', String(this.port), '--dir', this.directory, '--bind', '127.0.0.1']
    const own = this.#arguments.map((text) => (text === 'PORT' ? String(this.port) : text))
    const child = spawn(REDIS_SERVER ?? 'redis-server', [...place, ...own], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    let said = ''
    for await (const text of child.stdout ?? []) {
      said += String(text)
      if (READY.test(said)) break
    }
    if (!READY.test(said)) throw new Error(`redis-server did not start: ${said}`)
    child.stdout?.resume()
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  /** Opens a link for a process named `node`, which the server distinguishes from others. */
  async link(over: Partial<RedisLinkOptions> = {}): Promise<RedisLink> {
    const node = `node-${this.#names++}`
    const lost = (fault: Fault) => void this.losses.push(fault)
    const link = await RedisLink.open({ url: this.url, prefix: 'fleet', node, lost, ...over })
    this.#links.push(link)
    return link
  }

  async run<T>(use: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.url, { enableReadyCheck: false })
    try {
      return await use(redis)
    } finally {
      redis.disconnect()
    }
  }

  async stop(): Promise<void> {
    for (const link of this.#links) link.close()
    this.signal('SIGCONT')
    await this.kill()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** `what` names the condition in the error of a timeout. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + WAIT_MS; !isSo(); await sleep(5))
    if (performance.now() > end) throw new Error(`timed out waiting for ${what}`)
}
