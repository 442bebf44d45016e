// Reads or writes shadows, with one request per shadow in flight. A write names the version that it expects.

import { Histogram } from '../../engine/edge/histogram.ts'
import { ticks } from '../measure/deadline.ts'
import type { ShadowsJob, ShadowsResult } from './protocol.ts'
import { RestLines } from './rest-lines.ts'

export async function runShadows(job: ShadowsJob): Promise<ShadowsResult> {
  const { ids, durationMs, verb } = job
  const lines = await RestLines.open(job, ids.length)
  const latency = new Histogram()
  const versions = [...job.versions]
  const cpuBefore = process.cpuUsage()
  const firstSentAt = ticks()
  const goOn = async (at: number): Promise<void> => {
    const path = `/api/v1/shadows/${ids[at]}`
    while (ticks() < firstSentAt + durationMs) {
      const version = versions[at] ?? 0
      const sentAt = ticks()
      const reply = await lines.send(verb === 'read' ? { method: 'GET', path } : writeOf(path, version))
      if (reply.status !== 200)
        throw new Error(`${verb} ${path}: ${reply.status} ${reply.text.slice(0, 200)}`)
      if (verb === 'write') versions[at] = version + 1
      latency.record((reply.at - sentAt) * 1000)
    }
  }
  try {
    await Promise.all(ids.map((_, at) => goOn(at)))
    const { user, system } = process.cpuUsage(cpuBefore)
    return {
      requests: latency.count,
      firstSentAt,
      lastAt: ticks(),
      versions,
      latencyMicros: latency.percentiles(),
      cpuMicros: user + system,
    }
  } finally {
    lines.close()
  }
}

// Every write changes a value, so that the shadow's version is the number of its writes.
function writeOf(path: string, version: number) {
  const body = `{"report_interval_sec":${version + 1},"mode":"eco"}`
  return { method: 'PUT', path: `${path}/desired`, body, ifMatch: `"${version}"` } as const
}
