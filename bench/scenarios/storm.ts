// Lets all devices connect at the same time, as after a network outage.
import { connectsFor } from '../load/places.ts'
import { withSession } from '../load/session.ts'
import { ticks, until } from '../measure/deadline.ts'
import { toDigits } from '../measure/report.ts'
import type { Scenario } from '../scenario.ts'
import { addResident } from './ingest.ts'

const ONLINE_MS = 120_000

export const storm: Scenario = {
  name: 'storm',
  about: '10 000 devices connect at once: time until all are online',
  async run(bench) {
    const devices = bench.quick ? 2_000 : 10_000
    const scenario = `${toDigits(devices)} devices connect at once`
    bench.say(scenario)
    await bench.withDir((dataDir) =>
      withSession(
        { dataDir, durability: 'power', devices },
        async ({ service, rest, devices: fleet, generator }) => {
          const startedAt = ticks()
          const connectsAtOnce = connectsFor(devices)
          const all = { devices: fleet, connectsAtOnce, ringSize: 8, greet: true }
          const opening = generator.open({ ...service.mqtt, ...all })
          const polling = { deadlineMs: ONLINE_MS, everyMs: 100 }
          const online = until('all online', polling, async () =>
            (await rest.onlineCount()) === devices ? ticks() : undefined,
          )
          const [opened, onlineAt] = await Promise.all([opening, online])
          bench.add({
            scenario,
            name: 'all online',
            value: (onlineAt - startedAt) / 1000,
            unit: 's',
            target: { kind: 'at_most', value: 15 },
            note: `connected and first message acknowledged after ${toDigits((opened.connectedAt - startedAt) / 1000)} s; up to ${toDigits(connectsAtOnce)} wait for their CONNACK at a time`,
          })
          addResident(bench, scenario, service.pid)
        },
      ),
    )
  },
}
