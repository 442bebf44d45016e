// A set of devices that listen for commands.
import { sleep, ticks } from '../measure/deadline.ts'
import { Listener } from './listener.ts'
import type { ListenJob, OpenResult, OrdersJob, OrdersResult } from './protocol.ts'

export class Crowd {
  readonly #listeners: Listener[] = []
  /** Number of devices that got a command. */
  readonly #reached = new Set<string>()
  #commands = 0
  #lastAt = 0
  /** Called for every command, with the time at which the device got it. */
  onCommand: (payload: string, at: number) => void = () => undefined

  async listen({ host, port, devices, connectsAtOnce }: ListenJob): Promise<OpenResult> {
    const startedAt = ticks()
    let next = 0
    const connectSome = async (): Promise<void> => {
      for (let device = devices[next++]; device !== undefined; device = devices[next++]) {
        const { id } = device
        const onCommand = (payload: string): void => this.#take(id, payload)
        this.#listeners.push(await Listener.open({ host, port, device, onCommand }))
      }
    }
    await Promise.all(Array.from({ length: connectsAtOnce }, connectSome))
    return { startedAt, connectedAt: ticks() }
  }

  /** Waits until every device has got a command or the deadline has passed. */
  async awaitOrders({ deadlineMs }: OrdersJob): Promise<OrdersResult> {
    const end = ticks() + deadlineMs
    while (this.#reached.size < this.#listeners.length && ticks() < end) await sleep(5)
    return { reached: this.#reached.size, commands: this.#commands, lastAt: this.#lastAt }
  }

  failure(): Error | undefined {
    return this.#listeners.find(({ failure }) => failure !== undefined)?.failure
  }

  close(): void {
    for (const listener of this.#listeners.splice(0)) listener.close()
  }

  #take(id: string, payload: string): void {
    this.#lastAt = ticks()
    this.#reached.add(id)
    this.#commands++
    this.onCommand(payload, this.#lastAt)
  }
}
