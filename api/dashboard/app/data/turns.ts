// One tab after the other. Browsers have locks for that, but in secure contexts only; elsewhere the tabs draw for their turn over a
// channel: the lowest number wins, and whoever has the turn says so to everyone who asks.
import { SerialQueue } from '../../../../schemas/serial-queue.ts'

const DRAW_MS = 100
/** A tab may be closed in its turn: after this long the others draw again. */
const TURN_MS = 5000

type TurnMessage =
  | { readonly kind: 'claim'; readonly id: number }
  | { readonly kind: 'mine'; readonly to: number }
  | { readonly kind: 'free' }

/** Undefined where the browser has none. */
export function openChannel(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(name)
  } catch {
    return undefined
  }
}

export class Turns {
  readonly #channel: BroadcastChannel
  readonly #queue = new SerialQueue()
  #claim: number | undefined
  #isBeaten = false
  #isMine = false
  #onFree: () => void = () => undefined

  constructor(channel: BroadcastChannel) {
    this.#channel = channel
    channel.onmessage = ({ data }: MessageEvent<TurnMessage>) => this.#hear(data)
  }

  /** Resolves with what `work` gives, which runs while no other tab has its turn. */
  run<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#queue.run(async () => {
      while (!(await this.#draw())) await this.#freed()
      try {
        return await work()
      } finally {
        this.#isMine = false
        this.#say({ kind: 'free' })
      }
    })
  }

  async #draw(): Promise<boolean> {
    this.#claim = Math.random()
    this.#isBeaten = false
    this.#say({ kind: 'claim', id: this.#claim })
    await pause(DRAW_MS)
    this.#isMine = !this.#isBeaten
    this.#claim = undefined
    return this.#isMine
  }

  #freed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onFree = resolve
      setTimeout(resolve, TURN_MS)
    })
  }

  #hear(said: TurnMessage): void {
    if (said.kind === 'free') this.#onFree()
    else if (said.kind === 'mine') this.#isBeaten ||= said.to === this.#claim
    else if (this.#isMine) this.#say({ kind: 'mine', to: said.id })
    else if (this.#claim !== undefined && said.id < this.#claim) this.#isBeaten = true
    // The other one may not have heard of this claim.
    else if (this.#claim !== undefined) this.#say({ kind: 'mine', to: said.id })
  }

  #say(said: TurnMessage): void {
    this.#channel.postMessage(said)
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
