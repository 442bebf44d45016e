// Controls a load generator process from the bench.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { within } from '../measure/deadline.ts'
import { track } from '../targets/children.ts'
import type {
  Answer,
  ClosedJob,
  CommandsJob,
  CommandsResult,
  Job,
  ListenJob,
  OpenJob,
  OpenLoopJob,
  OpenResult,
  OrdersJob,
  OrdersResult,
  RunResult,
  ShadowsJob,
  ShadowsResult,
} from './protocol.ts'

const PUBLISHER = fileURLToPath(new URL('./publisher.js', import.meta.url))

export interface Generator {
  readonly pid: number
  open(job: Omit<OpenJob, 'kind'>): Promise<OpenResult>
  closed(job: Omit<ClosedJob, 'kind'>): Promise<RunResult>
  paced(job: Omit<OpenLoopJob, 'kind'>): Promise<RunResult>
  listen(job: Omit<ListenJob, 'kind'>): Promise<OpenResult>
  orders(job: Omit<OrdersJob, 'kind'>): Promise<OrdersResult>
  commands(job: Omit<CommandsJob, 'kind'>): Promise<CommandsResult>
  shadows(job: Omit<ShadowsJob, 'kind'>): Promise<ShadowsResult>
  close(): Promise<void>
}

export function startGenerator(): Generator {
  const child = fork(PUBLISHER, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const tracked = track(child)
  const ask = (job: Job, deadlineMs: number): Promise<Answer> => {
    const answer = new Promise<Answer>((resolve, reject) => {
      const onExit = (): void => reject(new Error('the load generator died'))
      child.once('exit', onExit)
      child.once('message', (message) => {
        child.off('exit', onExit)
        // The publisher sends answers only.
        resolve(message as Answer)
      })
      child.send(job)
    })
    return within(deadlineMs, `load generator: ${job.kind}`, answer)
  }
  const run = async (job: ClosedJob | OpenLoopJob): Promise<RunResult> => {
    const answer = await ask(job, job.durationMs + 120_000)
    if (answer.kind !== 'ran') throw unexpected(answer)
    return answer.result
  }
  const open = async (job: OpenJob | ListenJob): Promise<OpenResult> => {
    const answer = await ask(job, 120_000)
    if (answer.kind !== 'opened') throw unexpected(answer)
    return answer.result
  }
  return {
    pid: tracked.pid,
    open: (job) => open({ kind: 'open', ...job }),
    listen: (job) => open({ kind: 'listen', ...job }),
    async orders(job) {
      const answer = await ask({ kind: 'orders', ...job }, job.deadlineMs + 10_000)
      if (answer.kind !== 'ordered') throw unexpected(answer)
      return answer.result
    },
    async commands(job) {
      const answer = await ask({ kind: 'commands', ...job }, job.durationMs + 60_000)
      if (answer.kind !== 'commanded') throw unexpected(answer)
      return answer.result
    },
    async shadows(job) {
      const answer = await ask({ kind: 'shadows', ...job }, job.durationMs + 60_000)
      if (answer.kind !== 'shadowed') throw unexpected(answer)
      return answer.result
    },
    closed: (job) => run({ kind: 'closed', ...job }),
    paced: (job) => run({ kind: 'paced', ...job }),
    async close() {
      if (child.connected) await ask({ kind: 'close' }, 10_000)
      await tracked.kill()
    },
  }
}

function unexpected(answer: Answer): Error {
  return new Error(answer.kind === 'failed' ? answer.message : `unexpected answer ${answer.kind}`)
}
