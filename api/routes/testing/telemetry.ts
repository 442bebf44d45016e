// A device with points in memory and a viewer, for tests of /telemetry.
import { pointsBlock } from '../../../engine/adapters/telemetry/testing/telemetry.ts'
import { type HarnessOptions, NOW, openHarness } from '../../testing/rest.ts'

export async function openTelemetry(options: HarnessOptions = {}) {
  const harness = openHarness(options)
  const id = await harness.device('r')
  const { token } = await harness.login('viewer')
  /** Writes values within the current minute, a millisecond apart. */
  const points = (values: Readonly<Record<string, readonly number[]>>, device = 'r') =>
    harness.engine.telemetry.insert(
      pointsBlock(
        Object.entries(values).flatMap(([metric, list]) =>
          list.map((value, i) => ({
            device,
            at: (NOW + i - 400) * 1000,
            version: i,
            values: { [metric]: value },
          })),
        ),
      ),
    )
  const send = (line: string, headers?: Readonly<Record<string, string>>) =>
    harness.request(line, { token, ...(headers === undefined ? {} : { headers }) })
  /** Lets the device report these metrics. */
  const reported = (...metrics: readonly string[]) =>
    harness.engine.publish(id, 'telemetry', Object.fromEntries(metrics.map((metric) => [metric, 1])))
  return { ...harness, id, points, reported, send }
}
