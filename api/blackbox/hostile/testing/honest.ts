// An honest user and an honest device, whose answers an attack must not slow down.
import type { MqttClient } from 'mqtt'
import type { Service } from '../../testing/service.ts'
import { connectDevice, publish } from '../../testing/service-clients.ts'
import { type Rest, registerDevice } from '../../testing/service-rest.ts'

const SAMPLES = 21
const TRIES = 3
/** An attack may make answers this many times as slow. */
const FACTOR_MAX = 5
/** On a machine that does nothing else, quicker than this is never too slow. */
const FLOOR_MS = 150
const SPIN_MICROS = 50_000

export class Honest {
  readonly #rest: Rest
  readonly #device: MqttClient

  static async open(service: Service): Promise<Honest> {
    const rest = await service.admin()
    return new Honest(rest, await connectDevice(service, 'honest', await registerDevice(rest, 'honest')))
  }

  private constructor(rest: Rest, device: MqttClient) {
    this.#rest = rest
    this.#device = device
  }

  close(): void {
    this.#device.end(true)
  }

  /**
   * Resolves if both are answered nearly as quickly beside the attack as before it. The attack gets a signal that says
   * when to stop. Other programs are no attack: they raise the floor, and the comparison is made again.
   */
  async bears(attack: (stop: AbortSignal) => Promise<unknown>): Promise<void> {
    let verdict = ''
    for (let tries = 0; tries < TRIES; tries++) {
      const quiet = await this.#medians()
      const slownessBefore = slowness()
      const stop = new AbortController()
      const attacking = attack(stop.signal)
      const beside = await this.#medians().finally(() => stop.abort())
      await attacking
      // Others may have come only while the attack was under way.
      const floorMs = FLOOR_MS * Math.max(slownessBefore, slowness())
      const slow = (['get', 'puback'] as const).filter(
        (what) => beside[what] > Math.max(floorMs, FACTOR_MAX * quiet[what]),
      )
      if (slow.length === 0) return
      verdict = `${slow.join(' and ')} took ${JSON.stringify(beside)} ms beside the attack, ${JSON.stringify(quiet)} before`
    }
    throw new Error(verdict)
  }

  async #medians(): Promise<{ readonly get: number; readonly puback: number }> {
    const gets: number[] = []
    const pubacks: number[] = []
    for (let i = 0; i < SAMPLES; i++) {
      pubacks.push(await timed(() => publish(this.#device, 'honest', { n: i })))
      gets.push(await timed(() => this.#rest.get('/telemetry/honest')))
    }
    return { get: median(gets), puback: median(pubacks) }
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** How many times as long as alone on the machine a computation takes at the moment. */
function slowness(): number {
  const began = performance.now()
  const before = process.cpuUsage()
  let micros = 0
  while (micros < SPIN_MICROS) {
    const { user, system } = process.cpuUsage(before)
    micros = user + system
  }
  return Math.max(1, ((performance.now() - began) * 1_000) / micros)
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? Number.POSITIVE_INFINITY
}

/** Repeats until told to stop. A step that fails is part of the attack. */
export async function repeat(stop: AbortSignal, step: () => Promise<unknown>): Promise<void> {
  while (!stop.aborted) await step().catch(() => undefined)
}
