// Metrics of firmware and its deployments: what this node saved, served and decided. Labels hold no ids.
import { Counter, type Gauge, Histogram, type Registry } from 'prom-client'
import { DEPLOYMENT_STATUSES, JOB_STATUSES, type JobStatus } from '../../schemas/vocabulary.ts'
import type { Job } from '../domain/ota/job.ts'
import type { FeedEvent } from '../ports/feed.ts'
import { readGauge, readTotals } from './scraped.ts'

type JobEvent = Extract<FeedEvent, { kind: 'job' }>

/** Read on every scrape. */
export interface OtaGauges {
  /** Deployments by status. */
  readonly deployments: () => Readonly<Record<string, number>>
  /** Jobs of the deployments that have not finished, by status. */
  readonly jobs: () => Readonly<Record<string, number>>
  readonly storageBytes: () => number
  /** Bytes of uploads since the start of the process. */
  readonly uploadedBytes: () => number
}

/** The first is a second, the last two days. */
const PHASE_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 43_200, 172_800]
const STARTED: Readonly<Partial<Record<JobStatus, (job: Job) => number | undefined>>> = {
  notified: ({ notifiedAt }) => notifiedAt,
  downloading: ({ downloadingAt }) => downloadingAt,
  downloaded: ({ downloadedAt }) => downloadedAt,
  installing: ({ installingAt }) => installingAt,
  rebooting: ({ rebootingAt }) => rebootingAt,
  confirming: ({ confirmingAt }) => confirmingAt,
}

export class OtaMetrics {
  readonly #registry: Registry
  readonly #moves: Counter
  readonly #phases: Histogram
  readonly #rollbacks: Counter
  readonly #rounds: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#registry = registry
    this.#moves = new Counter({
      name: 'fleet_ota_job_moves_total',
      help: 'Firmware jobs of devices by the status that they came to',
      labelNames: ['to'],
      registers,
    })
    this.#phases = new Histogram({
      name: 'fleet_ota_phase_seconds',
      help: 'Time that firmware jobs spent in a status before they left it',
      labelNames: ['phase'],
      buckets: PHASE_SECONDS,
      registers,
    })
    this.#rollbacks = new Counter({
      name: 'fleet_ota_rollbacks_total',
      help: 'Ways back that ended, by what began them',
      labelNames: ['cause', 'result'],
      registers,
    })
    this.#rounds = new Counter({
      name: 'fleet_ota_orchestrator_seconds_total',
      help: 'Time that rounds of the leader over all deployments took',
      registers,
    })
  }

  /** Counts the jobs that moved. `feed`: the feed of a batch that this node saved. */
  jobsMoved(feed: readonly FeedEvent[]): void {
    for (const event of feed)
      if (event.kind === 'job' && event.previous !== event.job.status) this.#moved(event)
  }

  roundTook(seconds: number): void {
    this.#rounds.inc(seconds)
  }

  watch({ deployments, jobs, storageBytes, uploadedBytes }: OtaGauges): void {
    const byStatus =
      (statuses: readonly string[], counts: () => Readonly<Record<string, number>>) => (gauge: Gauge) => {
        const counted = counts()
        for (const status of statuses) gauge.set({ status }, counted[status] ?? 0)
      }
    const labelNames = ['status']
    readGauge(
      this.#registry,
      { name: 'fleet_ota_deployments', help: 'Deployments of firmware by status', labelNames },
      byStatus(DEPLOYMENT_STATUSES, deployments),
    )
    readGauge(
      this.#registry,
      { name: 'fleet_ota_jobs', help: 'Jobs of deployments that have not finished, by status', labelNames },
      byStatus(JOB_STATUSES, jobs),
    )
    readGauge(
      this.#registry,
      { name: 'fleet_ota_storage_bytes', help: 'Bytes of all firmware images' },
      (gauge) => gauge.set(storageBytes()),
    )
    readTotals(
      this.#registry,
      {
        name: 'fleet_ota_upload_bytes_total',
        help: 'Bytes of firmware that were uploaded, also of uploads that failed',
      },
      () => ({ all: uploadedBytes() }),
    )
  }

  #moved({ job, previous, at }: JobEvent): void {
    const { status } = job
    this.#moves.inc({ to: status })
    const since = previous && STARTED[previous]?.(job)
    if (previous !== undefined && since !== undefined)
      this.#phases.observe({ phase: previous }, Math.max(0, at - since) / 1_000)
    if (status === 'rolled_back' || status === 'rollback_failed')
      this.#rollbacks.inc({ cause: causeOf(job), result: status })
  }
}

/** What began the rollback. If the device went back by itself, the job has no `back`. */
function causeOf({ plan, back }: Job): 'user' | 'deployment' | 'device' {
  if (plan.kind === 'rollback') return 'user'
  return back === undefined ? 'device' : 'deployment'
}
