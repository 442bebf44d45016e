// A whole fleet falls silent at once. Measures when each device is declared offline, counted from its last message.
import { withSession } from '../../../bench/load/session.ts'
import { until } from '../../../bench/measure/deadline.ts'
import { toDigits } from '../../../bench/measure/report.ts'
import type { Scenario } from '../../../bench/scenario.ts'
import { Histogram } from '../../../engine/edge/histogram.ts'
import { StatusWatch } from './status-watch.ts'

/** Long enough for the whole fleet to connect. */
const TIMEOUT_SEC = 45
const CONNECTS_AT_ONCE = 256
const ONLINE_MS = 120_000
const OFFLINE_MS = 120_000
const LATE_MS_MAX = 1_000

export const silence: Scenario = {
  name: 'silence',
  about: '10 000 devices fall silent: each is declared offline within a second of its own deadline',
  async run(bench) {
    const count = bench.quick ? 1_000 : 10_000
    await bench.withDir((dataDir) =>
      withSession(
        { dataDir, durability: 'power', devices: count, heartbeatTimeoutSec: TIMEOUT_SEC },
        async (session) => {
          const { service, devices, generator } = session
          const watch = await StatusWatch.open(session)
          const all = { devices, connectsAtOnce: CONNECTS_AT_ONCE, ringSize: 8, greet: true }
          await generator.open({ ...service.mqtt, ...all })
          await until('all online', { deadlineMs: ONLINE_MS, everyMs: 50 }, async () =>
            watch.count('online') >= count ? true : undefined,
          )
          // All devices send their last message together, so that their deadlines are together, too.
          await generator.closed({ window: 1, durationMs: 20_000, messagesPerDevice: 1 })
          bench.say(`${toDigits(count)} devices are silent from now on`)
          await until('all offline', { deadlineMs: OFFLINE_MS, everyMs: 50 }, async () =>
            watch.count('offline') >= count ? true : undefined,
          )
          watch.close()
          const offline = watch.moves.filter(({ status }) => status === 'offline')
          const lateMs = offline.map(({ at, lastSeenAt }) => at - lastSeenAt - TIMEOUT_SEC * 1000)
          const late = new Histogram()
          for (const ms of lateMs) late.record(Math.max(0, ms) * 1000)
          const { p50, p99 } = late.percentiles()
          const scenario = `${toDigits(count)} devices fall silent`
          const toldMs = offline.map(({ toldAt, lastSeenAt }) => toldAt - lastSeenAt - TIMEOUT_SEC * 1000)
          bench.add(
            {
              scenario,
              name: 'latest after its deadline',
              value: Math.max(...lateMs),
              unit: 'ms',
              target: { kind: 'at_most', value: LATE_MS_MAX },
              note:
                `p50 ${toDigits(p50 / 1000)}, p99 ${toDigits(p99 / 1000)} ms, as recorded; announced on /ws at most ` +
                `${toDigits(Math.max(...toldMs))} ms after it`,
            },
            {
              scenario,
              name: 'declared before its deadline',
              value: lateMs.filter((ms) => ms < 0).length,
              unit: 'devices',
              target: { kind: 'at_most', value: 0 },
            },
            {
              scenario,
              name: 'declared offline once',
              value: new Set(offline.map(({ deviceId }) => deviceId)).size - (offline.length - count),
              unit: 'devices',
              target: { kind: 'at_least', value: count },
              note: `${watch.resyncs} gaps on /ws`,
            },
          )
        },
      ),
    )
  },
}
