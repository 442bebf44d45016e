// The embedded broker with a fake host and a clock the test owns. For tests.
import { Millis } from '../../../../schemas/ids.ts'
import { EmbeddedBroker } from '../embedded/embedded.ts'
import { FakeHost } from './fake-host.ts'

export interface Stage {
  readonly host: FakeHost
  readonly broker: EmbeddedBroker
  readonly port: number
  /** Lets time pass, with as many sweeps as the broker would make. */
  pass(ms: number): void
  /** Lets time pass while the process does nothing, then one sweep. */
  sleep(ms: number): void
}

const STEP_MS = 250

export async function openStage(options: { readonly sessionsMax?: number } = {}): Promise<Stage> {
  let at = 1_000_000
  const clock = { now: () => Millis(at), ticks: () => at }
  const host = new FakeHost()
  const broker = new EmbeddedBroker({ host: '127.0.0.1', port: 0, clock, ...options })
  const [{ port }] = await broker.listen(host)
  const sleep = (ms: number) => {
    at += ms
    broker.sweep()
  }
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= STEP_MS) sleep(Math.min(left, STEP_MS))
  }
  return { host, broker, port, pass, sleep }
}
