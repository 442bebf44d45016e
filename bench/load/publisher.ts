// The load generator: a process of its own, so that its work is not the service's. Takes jobs one at a time.
import { Fleet } from './fleet.ts'
import { Probe } from './probe.ts'
import type { Answer, Job, OpenJob, OpenLoopJob, RunResult } from './protocol.ts'

const fleet = new Fleet()
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
    case 'close':
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
  // Only the bench that forked this process writes to the channel.
  const job = message as Job
  perform(job)
    .catch((error: unknown): Answer => ({ kind: 'failed', message: String(error) }))
    .then((answer) => process.send?.(answer))
    .catch(() => process.exit(1))
})
process.on('disconnect', () => process.exit(0))
