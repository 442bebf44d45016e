// The whole service is stopped for longer than the heartbeat timeout while its devices go on sending. When it continues,
// no device may be declared offline, since their messages wait in the sockets.
import { withSession } from '../../../bench/load/session.ts'
import { processTree } from '../../../bench/measure/cpu.ts'
import { sleep, until } from '../../../bench/measure/deadline.ts'
import { toDigits } from '../../../bench/measure/report.ts'
import type { Scenario } from '../../../bench/scenario.ts'
import { StatusWatch } from './status-watch.ts'

const DEVICES = 200
const MESSAGES_PER_SEC = 400
const ONLINE_MS = 30_000
const CALM_MS = 5_000

export const pause: Scenario = {
  name: 'pause',
  about: 'SIGSTOP for two minutes while devices send: none is declared offline',
  async run(bench) {
    const timeoutSec = bench.quick ? 5 : 60
    const stopMs = bench.quick ? 15_000 : 120_000
    await bench.withDir((dataDir) =>
      withSession(
        { dataDir, durability: 'power', devices: DEVICES, heartbeatTimeoutSec: timeoutSec },
        async (session) => {
          const { service, rest, devices, generator } = session
          const watch = await StatusWatch.open(session)
          const all = { devices, connectsAtOnce: DEVICES, ringSize: 1024, greet: true }
          await generator.open({ ...service.mqtt, ...all })
          await until('all online', { deadlineMs: ONLINE_MS, everyMs: 50 }, async () =>
            watch.count('online') >= DEVICES ? true : undefined,
          )
          // Devices send for longer than the timeout after the pause, so that a forgotten device would show.
          const durationMs = CALM_MS + stopMs + (timeoutSec + 5) * 1000
          const running = generator.paced({
            messagesPerSec: MESSAGES_PER_SEC,
            durationMs,
            burst: 1,
            probe: undefined,
          })
          await sleep(CALM_MS)
          bench.say(`stopped for ${stopMs / 1000} s`)
          const processes = processTree(service.pid).map(({ pid }) => pid)
          for (const pid of processes) process.kill(pid, 'SIGSTOP')
          await sleep(stopMs)
          for (const pid of processes) process.kill(pid, 'SIGCONT')
          const run = await running
          const online = await rest.onlineCount()
          watch.close()
          const scenario = `stopped for ${stopMs / 1000} s with ${DEVICES} devices sending`
          bench.add(
            {
              scenario,
              name: 'declared offline',
              value: watch.count('offline'),
              unit: 'times',
              target: { kind: 'at_most', value: 0 },
              note: `heartbeat timeout ${timeoutSec} s; ${toDigits(run.messages)} messages, all acknowledged; ${watch.resyncs} gaps on /ws`,
            },
            {
              scenario,
              name: 'online at the end',
              value: online,
              unit: 'devices',
              target: { kind: 'at_least', value: DEVICES },
            },
          )
        },
      ),
    )
  },
}
