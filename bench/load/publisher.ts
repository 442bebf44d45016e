// The load generator, which runs one job at a time. It is a separate process, so that its CPU time does not count as the
// service's.
import { Crowd } from './crowd.ts'
import { Fleet } from './fleet.ts'
import { Probe } from './probe.ts'
import type { Answer, Job, OpenJob, OpenLoopJob, RunResult } from './protocol.ts'
import { runRoundTrips } from './round-trips.ts'
import { runShadows } from './shadow-load.ts'

const fleet = new Fleet()
const crowd = new Crowd()
let target: Pick<OpenJob, 'host' | 'port'> = { host: '127.0.0.1', port: 0 }

async function perform(job: Job): Promise<Answer> {
  switch (job.kind) {
    case 'open':
      target = job
      return { kind: 'opened', result: await fleet.open(job) }
    case 'closed':
      return { kind: 'ran', result: await fleet.runClosed(job) }
    case 'paced':
      return { kind: 'ran', result: await runPaced(job) }
    case 'listen':
      return { kind: 'opened', result: await crowd.listen(job) }
    case 'orders':
      return { kind: 'ordered', result: await crowd.awaitOrders(job) }
    case 'commands':
      return { kind: 'commanded', result: await runRoundTrips(crowd, job) }
    case 'shadows':
      return { kind: 'shadowed', result: await runShadows(job) }
    case 'close':
      crowd.close()
      fleet.close()
      return { kind: 'closed' }
  }
}

async function runPaced(job: OpenLoopJob): Promise<RunResult> {
  if (job.probe === undefined) return fleet.runPaced(job)
  const probe = new Probe(job.probe)
  await probe.open(target.host, target.port)
  const probing = probe.run()
  const result = await fleet.runPaced(job)
  const { latency, lost } = await probe.finish()
  await probing
  return { ...result, probeMicros: latency.percentiles(), probesLost: lost }
}

process.on('message', (message) => {
  // Only the bench writes to the channel.
  const job = message as Job
  perform(job)
    .catch((error: unknown): Answer => ({ kind: 'failed', message: String(error) }))
    .then((answer) => process.send?.(answer))
    .catch(() => process.exit(1))
})
process.on('disconnect', () => process.exit(0))
