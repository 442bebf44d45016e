// Carries out each command once. Commands run one after the other, except critical ones, which start at once.
import { errorText } from '../../../schemas/error-text.ts'
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { CommandMemory } from './command-memory.ts'
import type { DeviceStorage } from './storage.ts'

export interface CommandContext {
  readonly requestId: string
  readonly command: string
  /** After this time the result is no longer wanted. */
  readonly expiresAt: Date | undefined
  /** Aborted when the command is cancelled. */
  readonly signal: AbortSignal
  /** Reports the progress in percent, or only that the command is running. */
  progress(percent?: number): void
}

/** Returns the result, or throws an error. If the error has a `code`, it is reported. */
export type CommandHandler = (data: JsonObject, context: CommandContext) => unknown

export interface CommandsPorts {
  readonly now: () => number
  /** Publishes on `command/ack`. Resolves once the service has it. */
  readonly send: (ack: JsonObject) => Promise<void>
  readonly failed: (error: unknown) => void
  /** True if commands do not wait for earlier ones. */
  readonly isAtOnce?: boolean
}

interface Order {
  readonly requestId: string
  readonly command: string
  readonly data: JsonObject
  readonly isCritical: boolean
  readonly expiresAt: number
}

const CANCEL = '$cancel'
const RESULT_BYTES_MAX = 64 * 1024
const PROGRESS_EVERY_MS = 1_000

/** `sinceMs` is the time since the last progress. It is negative if the clock was set back. */
export const isTooSoon = (sinceMs: number) => sinceMs >= 0 && sinceMs < PROGRESS_EVERY_MS

export class Commands {
  readonly #ports: CommandsPorts
  readonly #memory: CommandMemory
  readonly #handlers = new Map<string, CommandHandler>()
  readonly #running = new Map<string, AbortController>()
  /** Handles commands that have no handler of their own. */
  #otherwise: CommandHandler | undefined
  #queue: Promise<void> = Promise.resolve()
  /** Answers from before this process that the service may not have. */
  #owed: readonly JsonObject[]

  private constructor(ports: CommandsPorts, memory: CommandMemory) {
    this.#ports = ports
    this.#memory = memory
    this.#owed = memory.owed()
  }

  static async open(storage: DeviceStorage, ports: CommandsPorts): Promise<Commands> {
    return new Commands(ports, await CommandMemory.open(storage))
  }

  handle(command: string, handler: CommandHandler): void {
    this.#handlers.set(command, handler)
  }

  handleOthers(handler: CommandHandler): void {
    this.#otherwise = handler
  }

  /** Names of the commands that the device knows. */
  names(): readonly string[] {
    return [...this.#handlers.keys()]
  }

  /** Called after a connect: gives the answers that the end of the process before this one kept from the service. It delivers
   *  no command again that the device has acknowledged, so nothing else would ask for them. */
  connected(): void {
    for (const ack of this.#owed) this.#send(ack)
    this.#owed = []
  }

  /** Resolves once the message need not be delivered again. */
  async take(message: JsonObject): Promise<void> {
    const order = toOrder(message, this.#ports.now())
    if (order === undefined) return
    if (order.command === CANCEL) return this.#cancel(order.data)
    const known = this.#memory.find(order.requestId)
    if (known !== undefined) return this.#send(known.ack)
    if (order.expiresAt <= this.#ports.now())
      return this.#end(order, rejected('EXPIRED', 'the command came too late'))
    const handler = this.#handlers.get(order.command) ?? this.#otherwise
    if (handler === undefined) {
      const known = this.names().join(', ') || 'none'
      return this.#end(order, rejected('UNKNOWN_COMMAND', `commands of this device: ${known}`))
    }
    // Stored before the command begins: after a crash it is not carried out a second time.
    await this.#begin(order, { status: 'acked' })
    const run = () => this.#run(order, handler).catch((error: unknown) => this.#ports.failed(error))
    if (order.isCritical || this.#ports.isAtOnce === true) void run()
    else this.#queue = this.#queue.then(run)
  }

  /** Aborts running commands, because the device stops. */
  abort(): void {
    for (const controller of this.#running.values()) controller.abort()
  }

  async #run(order: Order, handler: CommandHandler): Promise<void> {
    const { requestId } = order
    // The command was cancelled or has expired while it waited for its turn.
    if (this.#memory.find(requestId)?.final === true) return
    if (order.expiresAt <= this.#ports.now())
      return this.#end(order, rejected('EXPIRED', 'the command expired while it waited for its turn'))
    const controller = new AbortController()
    this.#running.set(requestId, controller)
    try {
      const result = await handler(order.data, this.#contextOf(order, controller.signal))
      if (!controller.signal.aborted) await this.#end(order, { status: 'completed', ...resultOf(result) })
    } catch (error) {
      if (!controller.signal.aborted) await this.#end(order, { status: 'failed', error: errorOf(error) })
    } finally {
      this.#running.delete(requestId)
    }
  }

  #contextOf({ requestId, command, expiresAt }: Order, signal: AbortSignal): CommandContext {
    let toldAt = Number.NEGATIVE_INFINITY
    return {
      requestId,
      command,
      signal,
      expiresAt: Number.isFinite(expiresAt) ? new Date(expiresAt) : undefined,
      progress: (percent) => {
        const now = this.#ports.now()
        if (isTooSoon(now - toldAt) || signal.aborted) return
        // A handler may report once more after its command has ended.
        if (this.#memory.find(requestId)?.final === true) return
        toldAt = now
        const progress = percent === undefined ? {} : { progress: percent }
        const ack = { request_id: requestId, status: 'in_progress', ...progress }
        this.#memory.progress(requestId, ack)
        this.#send(ack)
      },
    }
  }

  /** Sends no answer, because the service knows that the command is cancelled. */
  async #cancel({ request_id: requestId }: JsonObject): Promise<void> {
    if (typeof requestId !== 'string' || this.#memory.find(requestId)?.final === true) return
    this.#running.get(requestId)?.abort()
    const error = { code: 'CANCELED', message: 'the command was cancelled' }
    const ack = { request_id: requestId, status: 'failed', error }
    const stored = this.#memory.end(requestId, ack)
    this.#memory.told(requestId, ack)
    await stored
  }

  async #begin({ requestId }: Order, fields: JsonObject): Promise<void> {
    const ack = { request_id: requestId, ...fields }
    await this.#memory.begin(requestId, ack)
    this.#send(ack)
  }

  /** What came of a command is told even if it cannot be stored. After a restart the command then counts as interrupted. */
  async #end({ requestId }: Order, fields: JsonObject): Promise<void> {
    const ack = {
      request_id: requestId,
      ...fields,
      executed_at: new Date(this.#ports.now()).toISOString(),
    }
    await this.#memory.end(requestId, ack).catch((error: unknown) => this.#ports.failed(error))
    this.#send(ack)
  }

  #send(ack: JsonObject): void {
    const told = () => this.#memory.told(String(ack['request_id']), ack)
    this.#ports.send(ack).then(told, (error: unknown) => this.#ports.failed(error))
  }
}

function toOrder(message: JsonObject, now: number): Order | undefined {
  const {
    request_id: requestId,
    command,
    data,
    priority,
    expires_at: expires,
    timeout_ms: timeoutMs,
  } = message
  if (typeof requestId !== 'string' || requestId === '' || typeof command !== 'string') return undefined
  const at = typeof expires === 'string' ? Date.parse(expires) : Number.NaN
  const later = typeof timeoutMs === 'number' ? now + timeoutMs : Number.POSITIVE_INFINITY
  return {
    requestId,
    command,
    data: isObject(data) ? data : {},
    isCritical: priority === 'critical',
    expiresAt: Number.isNaN(at) ? later : at,
  }
}

function rejected(code: string, message: string): JsonObject {
  return { status: 'rejected', error: { code, message } }
}

/** A result that the service would not accept is left out: the command was still carried out. */
function resultOf(result: unknown): JsonObject {
  const text = result === undefined ? undefined : JSON.stringify(result)
  if (text === undefined || Buffer.byteLength(text) > RESULT_BYTES_MAX) return {}
  // Converted through text, so that dates and similar values become JSON.
  return { result: JSON.parse(text) }
}

function errorOf(error: unknown): JsonObject {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const message = errorText(error)
  return { code: typeof code === 'string' ? code : 'FAILED', message: message.slice(0, 1_024) }
}
