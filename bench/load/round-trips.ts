// Measures whole round trips of commands: POST, the device's socket, its answer, and `completed` on /ws. Each command has a
// number.
import type { WebSocket } from 'ws'
import { Histogram } from '../../engine/edge/histogram.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import type { Crowd } from './crowd.ts'
import type { CommandsJob, CommandsResult } from './protocol.ts'
import { RestLines } from './rest-lines.ts'
import { openWebSocket } from './websocket.ts'

/** Commands that take longer than this count as lost. */
const ARRIVAL_MS = 10_000
const SUBSCRIBE_MS = 10_000
const NUMBER = /"probe":(\d+)/

export async function runRoundTrips(crowd: Crowd, job: CommandsJob): Promise<CommandsResult> {
  const trips = new RoundTrips(job, await RestLines.open(job, job.inFlight))
  crowd.onCommand = (payload, at) => trips.onCommand(payload, at)
  try {
    return await trips.run(() => crowd.failure())
  } finally {
    crowd.onCommand = () => undefined
    trips.close()
  }
}

class RoundTrips {
  readonly #job: CommandsJob
  readonly #lines: RestLines
  /** The scheduled time of each command by its number. It becomes undefined when the command is completed. */
  readonly #sentAt: (number | undefined)[] = []
  readonly #accepted = new Histogram()
  readonly #received = new Histogram()
  readonly #completed = new Histogram()
  #socket: WebSocket | undefined
  #isSubscribed = false
  #lastAt = 0
  #failure: Error | undefined
  #resyncs = 0

  constructor(job: CommandsJob, lines: RestLines) {
    this.#job = job
    this.#lines = lines
  }

  async run(brokenBy: () => Error | undefined): Promise<CommandsResult> {
    const { wsUrl, durationMs, inFlight, perSec } = this.#job
    const socket = await openWebSocket(wsUrl, (text) => this.#onText(text))
    this.#socket = socket
    socket.send(JSON.stringify({ type: 'subscribe', id: 'commands', channel: 'commands' }))
    const polling = { deadlineMs: SUBSCRIBE_MS, everyMs: 5 }
    await until('/ws subscription', polling, async () => this.#isSubscribed || undefined)
    const cpuBefore = process.cpuUsage()
    const firstSentAt = ticks()
    while (ticks() < firstSentAt + durationMs) {
      this.#failure ??= brokenBy()
      if (this.#failure !== undefined) throw this.#failure
      if (perSec === undefined) this.#fill(inFlight)
      else this.#keepTo(perSec, firstSentAt)
      await sleep(1)
    }
    const sent = this.#sentAt.length
    const end = ticks() + ARRIVAL_MS
    while (this.#completed.count < sent && ticks() < end) await sleep(5)
    const { user, system } = process.cpuUsage(cpuBefore)
    return {
      sent,
      lost: sent - this.#completed.count,
      resyncs: this.#resyncs,
      firstSentAt,
      lastCompletedAt: this.#lastAt,
      acceptedMicros: this.#accepted.percentiles(),
      receivedMicros: this.#received.percentiles(),
      completedMicros: this.#completed.percentiles(),
      cpuMicros: user + system,
    }
  }

  onCommand(payload: string, at: number): void {
    const sentAt = this.#sentAt[numberOf(payload)]
    if (sentAt !== undefined) this.#received.record((at - sentAt) * 1000)
  }

  close(): void {
    this.#socket?.close()
    this.#lines.close()
  }

  #fill(inFlight: number): void {
    const now = ticks()
    while (this.#sentAt.length - this.#completed.count < inFlight) this.#send(now)
  }

  #keepTo(perSec: number, startedAt: number): void {
    const due = Math.floor(((ticks() - startedAt) * perSec) / 1000)
    while (this.#sentAt.length < due) this.#send(startedAt + (this.#sentAt.length * 1000) / perSec)
  }

  #send(at: number): void {
    const { ids } = this.#job
    const number = this.#sentAt.length
    this.#sentAt.push(at)
    const path = `/api/v1/commands/${ids[number % ids.length]}`
    const body = `{"command":"move_to","data":{"probe":${number},"x":1.5},"timeout_sec":60}`
    this.#lines.send({ method: 'POST', path, body }).then(
      (reply) => {
        if (reply.status === 202) this.#accepted.record((reply.at - at) * 1000)
        else this.#failure ??= new Error(`POST ${path}: ${reply.status} ${reply.text.slice(0, 200)}`)
      },
      (error: Error) => {
        this.#failure ??= error
      },
    )
  }

  #onText(text: string): void {
    if (text.includes('"status":"completed"')) this.#complete(numberOf(text))
    else if (text.includes('"type":"subscribed"')) this.#isSubscribed = true
    else if (text.includes('"type":"resync"')) this.#resyncs++
    else if (text.includes('"type":"error"')) this.#failure ??= new Error(`/ws: ${text}`)
  }

  #complete(number: number): void {
    const sentAt = this.#sentAt[number]
    if (sentAt === undefined) return
    this.#sentAt[number] = undefined
    this.#lastAt = ticks()
    this.#completed.record((this.#lastAt - sentAt) * 1000)
  }
}

function numberOf(text: string): number {
  return Number(NUMBER.exec(text)?.[1] ?? -1)
}
