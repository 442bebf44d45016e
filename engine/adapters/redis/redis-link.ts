// The connection to Redis: one writing connection, fencing of stale writes, and the meaning of errors.
//
// L1. A write that timed out may still be under way. Every connection of a node has a token, and only the latest one
//     may write, so a write that an earlier connection left in some buffer is refused when it arrives.
// L2. Each Redis has an identity, created when it was empty. A write to another Redis, or to one that has lost data
//     this process has seen, is refused: half a store must not pass for a complete one. A write names the last message
//     that its process has seen, and not only its number.
// L3. Errors of the client contain the command with its data and passwords, so they never leave this file.

import { createHash, randomInt, randomUUID } from 'node:crypto'
import { Redis, type RedisOptions } from 'ioredis'
import { errorText } from '../../../schemas/error-text.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import { checkRedisServer } from './redis-check.ts'

export interface RedisLinkOptions {
  /** A `redis://` URL or, with TLS, a `rediss://` URL. */
  readonly url: string
  /** CA of the server's certificate in PEM, if it is not a public one. */
  readonly tlsCa?: string | undefined
  /** Prefix of all keys, so that several services can share a Redis. */
  readonly prefix: string
  /** Id of this process. No other running process may have it. */
  readonly node: string
  readonly timeoutMs?: number | undefined
  /** Called when Redis has lost data. The process must restart from the data that is left. */
  readonly lost: (fault: Fault) => void
}

export interface RedisScript {
  readonly lua: string
  readonly sha: string
}

const TOKENS = 2 ** 47
/** Tokens are remembered for longer than any connection can delay a write. */
const TOKEN_SEC = 86_400

/** Runs before each script and checks L1 and L2. `P` is the prefix of all keys. */
const PRELUDE = `
local P = KEYS[1]
-- Redis puts ERR before what is a single word.
local function fail(what) return redis.error_reply(what) end
if redis.call('GET', P .. 'identity') ~= ARGV[1] then return fail('LOST data') end
local token = redis.call('GET', P .. 'writer:' .. ARGV[2])
if token and token ~= ARGV[3] then return fail('REPLACED by another process') end
-- What this process saw last is still in the stream, under the same id. After a failover to a replica that was behind,
-- others may have used its number again. Returns what is wrong.
local function missing(stream, id)
  local seen = tonumber(string.match(id, '^%d+'))
  if seen == 0 or #redis.call('XRANGE', P .. stream, id, id) == 1 then return nil end
  local first = redis.call('XRANGE', P .. stream, '-', '+', 'COUNT', 1)[1]
  if first and tonumber(string.match(first[1], '^%d+')) > seen then return fail('BEHIND by more than is kept') end
  return fail('LOST data')
end
`

export function redisScript(lua: string): RedisScript {
  const whole = PRELUDE + lua
  return { lua: whole, sha: createHash('sha1').update(whole).digest('hex') }
}

export class RedisLink {
  readonly #options: RedisLinkOptions
  readonly #redis: Redis
  #identity = ''
  #token: string | undefined
  #isClosed = false
  /** The error that prevented the connection. The client itself only reports that there is none. */
  #firstError: Error | undefined

  private constructor(options: RedisLinkOptions) {
    this.#options = options
    this.#redis = new Redis(options.url, clientOptions(options))
    // Later errors are reported by the commands that fail.
    this.#redis.on('error', (error) => {
      this.#firstError ??= error
    })
    this.#redis.on('close', () => {
      this.#token = undefined
    })
    this.#redis.on('ready', () => void this.#register())
  }

  /** Rejects with a fault whose one-line message says what to change. */
  static async open(options: RedisLinkOptions): Promise<RedisLink> {
    const link = new RedisLink(options)
    try {
      await link.#redis.connect()
      await checkRedisServer(link.#redis)
      await link.#redis.set(link.key('identity'), randomUUID(), 'NX')
      link.#identity = (await link.#redis.get(link.key('identity'))) ?? ''
      await link.#register()
      return link
    } catch (error) {
      link.close()
      throw error instanceof Fault ? error : unreachableFault(options.url, link.#firstError ?? error)
    }
  }

  get identity(): string {
    return this.#identity
  }

  /** All keys share one hash tag, so that a script may use several of them on a Redis Cluster too. */
  key(name: string): string {
    return `{${this.#options.prefix}}:${name}`
  }

  /** Opens a separate connection for blocking commands. */
  openReader(): Redis {
    const reader = new Redis(this.#options.url, clientOptions(this.#options, LIMITS.storePollMs))
    reader.on('error', () => {})
    return reader
  }

  /** Rejects with a `Fault`. After a retryable one it is unknown whether the script ran. */
  async run(script: RedisScript, args: readonly (string | number | Buffer)[]): Promise<unknown> {
    const token = this.#token
    if (token === undefined) throw unavailable('not connected to Redis')
    const rest = [1, this.key(''), this.#identity, this.#options.node, token, ...args]
    try {
      return await this.#redis.callBuffer('EVALSHA', script.sha, ...rest)
    } catch (error) {
      if (!errorText(error).startsWith('NOSCRIPT')) throw this.#faultOf(error)
    }
    try {
      return await this.#redis.callBuffer('EVAL', script.lua, ...rest)
    } catch (error) {
      throw this.#faultOf(error)
    }
  }

  /** Translates an error of a read. */
  async read<T>(query: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      return await query(this.#redis)
    } catch (error) {
      throw this.#faultOf(error)
    }
  }

  reportLoss(reason: string): Fault {
    const fault = new Fault('STORE_UNAVAILABLE', {
      retryable: false,
      message: `${reason}; restart the service to rebuild the store from the log`,
    })
    if (!this.#isClosed) this.#options.lost(fault)
    return fault
  }

  close(): void {
    this.#isClosed = true
    this.#token = undefined
    this.#redis.disconnect()
  }

  async #register(): Promise<void> {
    if (this.#identity === '' || this.#isClosed) return
    const token = String(randomInt(1, TOKENS))
    try {
      await this.#redis.set(this.key(`writer:${this.#options.node}`), token, 'EX', TOKEN_SEC)
      if (this.#redis.status === 'ready') this.#token = token
    } catch {
      // A connection without a token is useless. The next one registers again.
      this.#redis.disconnect(true)
    }
  }

  #faultOf(error: unknown): Fault {
    if (error instanceof Fault) return error
    // L3.
    const message = errorText(error)
    if (message.startsWith('FENCED')) {
      const partition = message.split(' ')[1] ?? ''
      return new Fault('STORE_FENCED', {
        retryable: false,
        message: `partition ${partition} has a new owner; this shard may no longer write to it`,
      })
    }
    if (message.startsWith('LOST')) return this.reportLoss('Redis has lost data that this process has seen')
    if (message.startsWith('REPLACED'))
      return this.reportLoss(`another process runs under this node's name, ${this.#options.node}`)
    // After a timeout the connection may be half-open, and after a failover it may lead to a replica.
    if (/timed out|^READONLY/.test(message) && !this.#isClosed) this.#redis.disconnect(true)
    return unavailable(explain(message))
  }
}

function clientOptions(
  { url, tlsCa, timeoutMs = LIMITS.storeTimeoutMs }: RedisLinkOptions,
  waitMs = 0,
): RedisOptions {
  return {
    lazyConnect: true,
    commandTimeout: timeoutMs + waitMs,
    connectTimeout: timeoutMs,
    // A command that cannot be sent fails at once. Callers retry it, because they know the order.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => {
      const delayMs = Math.min(LIMITS.storeReconnectMs * 2 ** attempt, LIMITS.storeReconnectMsMax)
      return delayMs * (0.5 + Math.random() / 2)
    },
    ...(tlsCa === undefined || !url.startsWith('rediss:') ? {} : { tls: { ca: tlsCa } }),
  }
}

function unavailable(message: string): Fault {
  return new Fault('STORE_UNAVAILABLE', { retryable: true, message })
}

function unreachableFault(url: string, error: unknown): Fault {
  const { hostname, port } = new URL(url)
  const why = errorText(error)
  const message = `Redis at ${hostname}:${port || 6379} cannot be used: ${explain(why)}`
  return new Fault('STORE_UNAVAILABLE', { retryable: !/^(WRONGPASS|NOAUTH|NOPERM)/.test(why), message })
}

function explain(message: string): string {
  const [, hint] = HINTS.find(([start]) => message.startsWith(start)) ?? []
  return hint === undefined ? message : `${message} (${hint})`
}

const HINTS = [
  ['Reached the max retries', 'the connection was lost; connecting again'],
  ["Stream isn't writeable", 'not connected; connecting again'],
  ['OOM', 'Redis is at its maxmemory: raise it'],
  ['MISCONF', 'Redis cannot write its disk: look at its log'],
  ['READONLY', 'this is a replica: connecting again to find the primary'],
  ['WRONGPASS', 'check user and password in the URL'],
  ['NOAUTH', 'the URL needs a password'],
  ['NOPERM', 'the user may not run a command that is needed'],
] as const
