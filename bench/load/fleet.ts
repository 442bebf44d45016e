// A fleet of device sockets, which loads a broker in a closed or an open loop.

import { Histogram } from '../../engine/edge/histogram.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { DeviceSocket } from './device-socket.ts'
import { encodeRing } from './packets.ts'
import { makePayloads } from './payloads.ts'
import type { ClosedJob, OpenJob, OpenLoopJob, OpenResult, RunResult } from './protocol.ts'

const DRAIN_MS = 60_000
const PAYLOADS = 4096

export class Fleet {
  readonly #sockets: DeviceSocket[] = []
  readonly #payloads = makePayloads(PAYLOADS)

  async open(job: OpenJob): Promise<OpenResult> {
    const startedAt = ticks()
    let next = 0
    const opened: DeviceSocket[] = []
    const connectSome = async (): Promise<void> => {
      for (let at = next++; at < job.devices.length; at = next++) opened[at] = await this.#connect(job, at)
    }
    await Promise.all(Array.from({ length: job.connectsAtOnce }, connectSome))
    this.#sockets.push(...opened)
    if (job.greet) await this.#drained()
    return { startedAt, connectedAt: ticks() }
  }

  async #connect(job: OpenJob, at: number): Promise<DeviceSocket> {
    const { host, port } = job
    const device = job.devices[at] ?? { id: `device-${at}`, token: undefined }
    const topic = `fleet/${device.id}/telemetry`
    const ring = encodeRing({ topic, payloads: this.#payloads, offset: at * 7, size: job.ringSize })
    const socket = await DeviceSocket.open({ host, port, device, ring, keepAliveSec: 1200 })
    if (job.greet) socket.send(1, ticks())
    return socket
  }

  async runClosed({ window, durationMs, messagesPerDevice = Infinity }: ClosedJob): Promise<RunResult> {
    const latency = new Histogram()
    const run = this.#begin(latency)
    const endAt = run.firstSentAt + durationMs
    const limits = run.sentBefore.map((sent) => sent + messagesPerDevice)
    let stopped = false
    for (const [at, socket] of this.#sockets.entries()) {
      const limit = limits[at] ?? Infinity
      socket.onAcks = (_, count) => {
        const more = stopped ? 0 : Math.min(count, limit - socket.sent)
        if (more > 0) socket.send(more, ticks())
      }
      socket.send(Math.min(window, messagesPerDevice), ticks())
    }
    const isDone = (): boolean =>
      ticks() >= endAt || this.#sockets.every(({ sent }, at) => sent >= (limits[at] ?? 0))
    while (!isDone() && this.#failure() === undefined) await sleep(5)
    stopped = true
    return this.#end(run, latency)
  }

  async runPaced({ messagesPerSec, durationMs, burst }: OpenLoopJob): Promise<RunResult> {
    const latency = new Histogram()
    const run = this.#begin(latency)
    const bursts = Math.floor((messagesPerSec * durationMs) / 1000 / burst)
    const msPerBurst = (1000 * burst) / messagesPerSec
    let deferred = 0
    for (let next = 0; next < bursts && this.#failure() === undefined; ) {
      const due = Math.min(bursts, Math.floor((ticks() - run.firstSentAt) / msPerBurst) + 1)
      for (; next < due; next++) {
        const socket = this.#sockets[next % this.#sockets.length]
        deferred += socket?.offer(burst, run.firstSentAt + next * msPerBurst) ?? 0
      }
      await sleep(1)
    }
    return { ...(await this.#end(run, latency)), deferred }
  }

  close(): void {
    for (const socket of this.#sockets.splice(0)) socket.close()
  }

  #begin(latency: Histogram): RunStart {
    for (const socket of this.#sockets) socket.latency = latency
    return {
      sentBefore: this.#sockets.map(({ sent }) => sent),
      cpuBefore: process.cpuUsage(),
      firstSentAt: ticks(),
    }
  }

  async #end(run: RunStart, latency: Histogram): Promise<RunResult> {
    const lastAckedAt = await this.#drained()
    const cpu = process.cpuUsage(run.cpuBefore)
    for (const socket of this.#sockets) {
      socket.latency = undefined
      socket.onAcks = () => undefined
    }
    const perDevice = this.#sockets.map(({ sent }, at) => sent - (run.sentBefore[at] ?? 0))
    return {
      messages: perDevice.reduce((sum, sent) => sum + sent, 0),
      firstSentAt: run.firstSentAt,
      lastAckedAt,
      perDevice,
      latencyMicros: latency.percentiles(),
      probeMicros: undefined,
      probesLost: 0,
      cpuMicros: cpu.user + cpu.system,
      deferred: 0,
    }
  }

  /** Resolves with the time at which the last message was acknowledged. */
  async #drained(): Promise<number> {
    return until('every publish acknowledged', { deadlineMs: DRAIN_MS, everyMs: 2 }, async () => {
      const failure = this.#failure()
      if (failure !== undefined) throw failure
      const isQuiet = this.#sockets.every((socket) => socket.inFlight === 0 && socket.backlog === 0)
      return isQuiet ? ticks() : undefined
    })
  }

  #failure(): Error | undefined {
    return this.#sockets.find(({ failure }) => failure !== undefined)?.failure
  }
}

interface RunStart {
  readonly sentBefore: readonly number[]
  readonly cpuBefore: NodeJS.CpuUsage
  readonly firstSentAt: number
}
