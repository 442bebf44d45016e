// For tests: the embedded broker with a fake host and a clock that the test owns.
import { Millis } from '../../../../schemas/ids.ts'
import { EmbeddedBroker, type EmbeddedBrokerOptions } from '../embedded/embedded.ts'
import { FakeHost } from './fake-host.ts'

export interface Stage {
  readonly host: FakeHost
  readonly broker: EmbeddedBroker
  readonly port: number
  now(): number
  /** Advances the clock, with as many sweeps as the broker would make. */
  pass(ms: number): void
  /** Advances the clock as if the process had slept, then makes one sweep. */
  sleep(ms: number): void
}

const STEP_MS = 250

export async function openStage(
  options: Partial<EmbeddedBrokerOptions> = {},
  host = new FakeHost(),
): Promise<Stage> {
  let at = 1_000_000
  const clock = { now: () => Millis(at), ticks: () => at }
  const broker = new EmbeddedBroker({ host: '127.0.0.1', port: 0, clock, ...options })
  const [{ port }] = await broker.listen(host)
  const sleep = (ms: number) => {
    at += ms
    broker.sweep()
  }
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= STEP_MS) sleep(Math.min(left, STEP_MS))
  }
  return { host, broker, port, now: () => at, pass, sleep }
}
