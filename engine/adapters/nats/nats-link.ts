// The connection to the NATS servers, and the checks that they can keep what the service promises.
//
// - The connection is retried for ever. Whether a request fails or waits meanwhile is up to the caller.
// - A server that cannot keep the promised durability is refused at start with a message that says what to change.
//   A property that cannot be checked from here causes a warning.

import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import {
  AuthorizationError,
  type ConnectionOptions,
  connect,
  type NatsConnection,
} from '@nats-io/transport-node'
import { errorText } from '../../../schemas/error-text.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Durability } from '../../ports/log.ts'

export interface NatsOptions {
  /** `host:port` or `nats://` and `tls://` URLs, without credentials. */
  readonly servers: readonly string[]
  readonly durability: Durability
  /** URLs of the servers' HTTP monitoring, the only place that shows whether they fsync. */
  readonly monitors?: readonly string[]
  readonly user?: string
  readonly password?: string
  readonly isTls?: boolean
  readonly warn: (message: string) => void
}

/** Older versions lose acknowledged messages or have security holes (CVE-2026-33215 and others). */
const VERSION_MIN = [2, 12, 6] as const
/** Bytes for headers and for the table of an append's bundles. */
const OVERHEAD_BYTES = 64 * 1024
const MESSAGE_BYTES_MAX = LIMITS.commitBytesMax + LIMITS.bundleBytesMax + OVERHEAD_BYTES
const MEBIBYTE = 1024 * 1024

export class NatsLink {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly #listeners = new Set<() => void>()
  #isConnected = true

  constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.connection = connection
    this.client = jetstream(connection, { timeout: LIMITS.natsTimeoutMs })
    this.manager = manager
    void this.#watch()
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Calls the listener once, when the connection is next lost or restored. Returns a function that cancels it. */
  onNextChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    await this.connection.close()
    this.#setConnected(false)
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === 'disconnect' || type === 'close') this.#setConnected(false)
      else if (type === 'reconnect') this.#setConnected(true)
    }
    this.#setConnected(false)
  }

  #setConnected(isConnected: boolean): void {
    this.#isConnected = isConnected
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener()
  }
}

/** Throws a `Fault` that says in one line what is wrong with the servers and what to change. */
export async function openNats(options: NatsOptions): Promise<NatsLink> {
  const connection = await openConnection(options)
  try {
    checkServer(connection)
    const link = new NatsLink(connection, await managerOf(connection))
    if (options.durability === 'power') await checkSync(options)
    return link
  } catch (error) {
    await connection.close()
    throw error
  }
}

async function openConnection(options: NatsOptions): Promise<NatsConnection> {
  try {
    return await connect(connectionOptions(options))
  } catch (error) {
    const where = options.servers.join(', ')
    if (error instanceof AuthorizationError)
      throw refused(
        `NATS at ${where} refused the credentials; check user and password in FLEET_NATS_URL`,
        error,
      )
    throw new Fault('LOG_UNAVAILABLE', {
      retryable: true,
      message: `NATS at ${where} cannot be reached: ${errorText(error)}`,
      cause: error,
    })
  }
}

function connectionOptions(options: NatsOptions): ConnectionOptions {
  const { servers, user, password, isTls = false } = options
  return {
    servers: [...servers],
    name: 'fleet',
    maxReconnectAttempts: -1,
    reconnectTimeWait: LIMITS.natsReconnectMs,
    ignoreAuthErrorAbort: true,
    pingInterval: LIMITS.natsPingEveryMs,
    maxPingOut: 2,
    timeout: LIMITS.natsTimeoutMs,
    // The client records a stack trace per request in case it fails: a tenth of the cost of appending one message.
    noAsyncTraces: true,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { pass: password }),
    ...(isTls ? { tls: {} } : {}),
  }
}

function checkServer(connection: NatsConnection): void {
  const { version = '0.0.0', max_payload = 0, jetstream: hasJetStream = false } = connection.info ?? {}
  const numbers = version.split(/[.-]/).map(Number)
  const differing = VERSION_MIN.findIndex((wanted, i) => numbers[i] !== wanted)
  if (differing >= 0 && !((numbers[differing] ?? 0) > (VERSION_MIN[differing] ?? 0)))
    throw refused(`nats-server ${version} is too old: ${VERSION_MIN.join('.')} or newer is needed`)
  if (!hasJetStream)
    throw refused('nats-server runs without JetStream: give it a jetstream { store_dir } block')
  if (max_payload < MESSAGE_BYTES_MAX) {
    const needed = Math.ceil(MESSAGE_BYTES_MAX / MEBIBYTE)
    throw refused(
      `nats-server accepts only messages of ${max_payload} bytes; set max_payload to ${needed}MB or more`,
    )
  }
}

async function managerOf(connection: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(connection, { timeout: LIMITS.natsTimeoutMs })
  } catch (error) {
    const message = `JetStream does not answer this NATS account: ${errorText(error)}`
    // Starting servers elect a leader first.
    throw new Fault('LOG_UNAVAILABLE', {
      retryable: !(error instanceof Error && error.name === 'JetStreamNotEnabled'),
      message,
      cause: error,
    })
  }
}

/** Durability `power` needs an fsync before each answer, which NATS does only if it is configured to. */
async function checkSync({ monitors = [], warn }: NatsOptions): Promise<void> {
  const answers = await Promise.all(
    monitors.map(async (monitor) => ({ monitor, syncs: await readSyncAlways(monitor) })),
  )
  for (const { monitor, syncs } of answers) {
    if (syncs === undefined)
      warn(`the monitoring of nats-server at ${monitor} does not answer, so its durability cannot be checked`)
    if (syncs === false)
      throw refused(
        `nats-server at ${monitor} acknowledges before data is on disk; set sync_interval: always in its jetstream block, or FLEET_DURABILITY=process`,
      )
  }
  if (!answers.some(({ syncs }) => syncs === true))
    warn(
      'nobody has seen that nats-server has sync_interval: always; without it a power cut loses acknowledged messages',
    )
}

/** Undefined if the monitoring cannot tell. */
async function readSyncAlways(monitor: string): Promise<boolean | undefined> {
  try {
    const signal = AbortSignal.timeout(LIMITS.natsTimeoutMs)
    const response = await fetch(new URL('/varz', monitor), { signal })
    // This is the format of nats-server. Any other JSON lacks these fields.
    const varz = (await response.json()) as { jetstream?: { config?: { sync_always?: boolean } } }
    return varz.jetstream?.config === undefined ? undefined : varz.jetstream.config.sync_always === true
  } catch {
    // The caller reports that the monitoring cannot be reached or is something else.
    return undefined
  }
}

function refused(message: string, cause?: unknown): Fault {
  return new Fault('LOG_UNAVAILABLE', { retryable: false, message, cause })
}
