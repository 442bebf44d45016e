// For tests: a real redis-server in a directory of its own, which may be killed, stopped, paused and restarted. It runs
// with the configuration and the accounts of deploy/, unless a test gives other arguments.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { REDIS_ACCOUNTS, writeRedisConf } from '../../../../deploy/testing/redis.ts'
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
/** A busy machine makes answers late; that is no failure of Redis. */
export const PATIENT_MS = 120_000

export class RedisServer {
  readonly directory = mkdtempSync(join(tmpdir(), 'fleet-redis-'))
  /** Undefined for the configuration of deploy/. */
  readonly #arguments: readonly string[] | undefined
  readonly #links: RedisLink[] = []
  /** The reason for which a process was told to end. */
  readonly losses: Fault[] = []
  port = 0
  #child: ChildProcess | undefined
  #names = 0

  private constructor(args: readonly string[] | undefined) {
    this.#arguments = args
  }

  /** `PORT` among the arguments is replaced by the port. */
  static async start(args?: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(args)
    server.port = await freePort()
    await server.start()
    return server
  }

  /** Address with the account of the service. */
  get url(): string {
    return this.urlAt(`127.0.0.1:${this.port}`)
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** The same, by way of another address. */
  urlAt(address: string, account: keyof typeof REDIS_ACCOUNTS = 'fleet'): string {
    const { user, password } = REDIS_ACCOUNTS[account]
    return `redis://${this.#arguments === undefined ? `${user}:${password}@` : ''}${address}`
  }

  async start(): Promise<void> {
    const place = ['--port', String(this.port), '--dir', this.directory, '--bind', '127.0.0.1']
    const args =
      this.#arguments === undefined
        ? [await writeRedisConf(this.directory), ...place]
        : [...place, ...this.#arguments.map((text) => (text === 'PORT' ? String(this.port) : text))]
    const child = spawn(REDIS_SERVER ?? 'redis-server', args, {
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

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Ends it as a restart of the machine does. */
  terminate(): Promise<void> {
    return this.#end('SIGTERM')
  }

  /** Opens a link for a process named `node`, which the server distinguishes from others. */
  async link(over: Partial<RedisLinkOptions> = {}): Promise<RedisLink> {
    const node = `node-${this.#names++}`
    const lost = (fault: Fault) => void this.losses.push(fault)
    const about = { url: this.url, prefix: 'fleet', node, lost, timeoutMs: PATIENT_MS }
    const link = await RedisLink.open({ ...about, ...over })
    this.#links.push(link)
    return link
  }

  /** Runs commands of the test as an account with all permissions. */
  async run<T>(use: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.urlAt(`127.0.0.1:${this.port}`, 'operator'), { enableReadyCheck: false })
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

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }
}

/** `what` names the condition in the error of a timeout. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + PATIENT_MS; !isSo(); await sleep(5))
    if (performance.now() > end) throw new Error(`timed out waiting for ${what}`)
}
