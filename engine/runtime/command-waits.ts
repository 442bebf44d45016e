// Callers that wait for a command to end.
import type { CommandId, DeviceId } from '../../schemas/ids.ts'
import { isOpen } from '../domain/command/moves.ts'
import type { Command } from '../domain/command/record.ts'
import { LIMITS } from '../limits.ts'
import { Fault } from '../ports/fault.ts'
import type { FeedEvent } from '../ports/feed.ts'

export interface CommandWait {
  /** Resolves with the command once it is final, or with undefined when the engine closes. */
  readonly ended: Promise<Command | undefined>
  close(): void
}

type Resolve = (command: Command | undefined) => void

export class CommandWaits {
  readonly #waiting = new Map<string, Set<Resolve>>()
  #count = 0

  /** Open the wait before you look at the command; otherwise the end may fall between the two. */
  open(deviceId: DeviceId, commandId: CommandId): CommandWait {
    if (this.#count >= LIMITS.commandWaitsMax)
      throw new Fault('OVERLOADED', { retryable: true, message: 'too many callers wait for commands' })
    const key = `${deviceId} ${commandId}`
    const same = this.#waiting.get(key) ?? new Set<Resolve>()
    this.#waiting.set(key, same)
    this.#count++
    let resolve: Resolve = () => {}
    const ended = new Promise<Command | undefined>((settle) => {
      resolve = settle
    })
    same.add(resolve)
    const close = () => {
      if (!same.delete(resolve)) return
      this.#count--
      if (same.size === 0 && this.#waiting.get(key) === same) this.#waiting.delete(key)
    }
    return { ended, close }
  }

  settle(events: readonly FeedEvent[]): void {
    if (this.#waiting.size === 0) return
    for (const event of events) {
      if (event.kind !== 'command' || isOpen(event.command.status)) continue
      for (const resolve of this.#waiting.get(`${event.deviceId} ${event.command.id}`) ?? [])
        resolve(event.command)
    }
  }

  fail(): void {
    for (const same of this.#waiting.values()) for (const resolve of same) resolve(undefined)
  }
}
