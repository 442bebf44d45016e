// A user who uploads one firmware after the other and deploys each to all devices that take updates, at any node, and
// repeats what was not answered. Each rollout begins when the one before has ended.
import { setTimeout as sleep } from 'node:timers/promises'
import type { UpdateKind } from '../../../engine/edge/simulator/updates/update-kinds.ts'
import type { JobStatus } from '../../../schemas/vocabulary.ts'
import { type ApiNode, ask } from './client.ts'
import type { Move, Rollout } from './recording.ts'

/** Where the devices begin. There is an image of it, so that all may go back. */
export const FIRST_VERSION = '1.0'
/** What the devices of the run do, one after the other. */
export const UPDATING: readonly UpdateKind[] = [
  ...(['ok', 'ok', 'ok', 'quiet', 'ok', 'download_fail', 'ok', 'restart_midway'] as const),
  ...(['ok', 'defer', 'ok', 'liar', 'ok', 'rollback_self', 'ok', 'reject'] as const),
]
const IMAGE_BYTES = 200_000
const MAX_CONCURRENT = 4
const RETRIES = 10
/** Longer than any fault lasts: a broker that stands still between a device's claim and its status proves no lie. */
const CONFIRM_SEC = 45
const POLL_MS = 300
const ANSWER_MS = 12_000
const ROWS_AT_ONCE = 200

export interface RolloutsOptions {
  readonly token: string
  readonly nodes: readonly ApiNode[]
  readonly devices: readonly string[]
}

export class Rollouts {
  readonly #options: RolloutsOptions
  readonly #begun: { readonly deployment: string; readonly version: string }[] = []
  readonly #isWrong: string[] = []
  #isStopped = false
  #calls = 0

  constructor(options: RolloutsOptions) {
    this.#options = options
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Refusals that nothing explains. */
  get refusals(): readonly string[] {
    return this.#isWrong
  }

  async run(): Promise<void> {
    if (this.#options.devices.length === 0) return
    await this.#upload(FIRST_VERSION)
    for (let n = 2; !this.#isStopped; n++) {
      const version = `${n}.0`
      await this.#upload(version)
      const deployment = await this.#deploy(version)
      if (deployment === undefined) return
      this.#begun.push({ deployment, version })
      while (!this.#isStopped && !(await this.#hasEnded(deployment))) await sleep(POLL_MS)
    }
  }

  /** Throws while the service cannot answer. */
  async collect(): Promise<readonly Rollout[]> {
    const found: Rollout[] = []
    for (const { deployment, version } of this.#begun) found.push(await this.#read(deployment, version))
    return found
  }

  /** Repeated until it is answered: an upload that broke off has left nothing, and one that was kept is found again. */
  async #upload(version: string): Promise<void> {
    while (!this.#isStopped) {
      const form = new FormData()
      form.set('version', version)
      form.set('device_type', 'mqtt_device')
      form.set('file', new Blob([Buffer.alloc(IMAGE_BYTES, version)]), 'image.bin')
      const response = await fetch(`${this.#url()}/api/v1/ota/firmware`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#options.token}` },
        body: form,
        signal: AbortSignal.timeout(ANSWER_MS),
      }).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response?.ok) return
      if (response !== undefined && response.status < 500 && response.status !== 429)
        this.#isWrong.push(`the upload of ${version} was refused: ${response.status} ${text}`)
      await sleep(POLL_MS)
    }
  }

  /** One deployment, however often the request is repeated. */
  async #deploy(version: string): Promise<string | undefined> {
    const request = {
      method: 'POST',
      path: '/ota/deployments',
      headers: { 'idempotency-key': `chaos-rollout-${version}` },
      body: {
        firmware_version: version,
        device_type: 'mqtt_device',
        target: { type: 'devices', value: this.#options.devices },
        max_concurrent: MAX_CONCURRENT,
        stable_sec: 1,
        timeouts: { download_sec: 120, install_sec: 60, reboot_sec: 60, confirm_sec: CONFIRM_SEC },
        retry: { max: RETRIES, backoff_sec: [1] },
        abort: { min_finished: 250_000 },
      },
    }
    while (!this.#isStopped) {
      const answer = await ask(this.#url(), this.#options.token, request).catch(() => undefined)
      if (answer?.status === 201) return String(answer.body['deployment_id'])
      if (answer !== undefined && answer.status < 500 && answer.status !== 429 && answer.status !== 409)
        this.#isWrong.push(`the deployment of ${version} was refused: ${answer.status} ${answer.text}`)
      await sleep(POLL_MS)
    }
    return undefined
  }

  async #hasEnded(deployment: string): Promise<boolean> {
    const body = await this.#get(`/ota/deployments/${deployment}`).catch(() => undefined)
    return body !== undefined && body['finished_at'] !== null
  }

  async #read(deployment: string, version: string): Promise<Rollout> {
    const { status, finished_at: finishedAt } = await this.#get(`/ota/deployments/${deployment}`)
    const { data } = await this.#get(`/ota/deployments/${deployment}/devices?per_page=200`)
    // The answers have the types of their schemas.
    const jobs = data as readonly JobRow[]
    const moves: Move[] = []
    for (const { device_id: device } of jobs)
      for (const row of await this.#events(device))
        if (row.deployment_id === deployment)
          moves.push({ device, status: row.status, attempt: row.attempt, at: Date.parse(row.timestamp) })
    return {
      deployment,
      version,
      status: String(status),
      isFinished: finishedAt !== null,
      places: MAX_CONCURRENT,
      attemptsMax: RETRIES + 1,
      jobs: jobs.map(({ device_id: device, status: end, attempt, error }) => ({
        ...{ device, status: end, attempt },
        ...(error === null ? {} : { error: error.code }),
      })),
      moves,
    }
  }

  async #events(device: string): Promise<readonly MoveRow[]> {
    const rows: MoveRow[] = []
    for (let cursor: unknown; cursor !== null; ) {
      const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(String(cursor))}`
      const body = await this.#get(`/devices/${device}/events?kind=ota&limit=${ROWS_AT_ONCE}${more}`)
      rows.push(...(body['data'] as readonly { readonly data: MoveRow }[]).map(({ data }) => data))
      cursor = body['next_cursor'] ?? null
    }
    return rows.toReversed()
  }

  async #get(path: string): Promise<Readonly<Record<string, unknown>>> {
    const { status, body, text } = await ask(this.#url(), this.#options.token, { method: 'GET', path })
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    return body
  }

  #url(): string {
    const { nodes } = this.#options
    const node = nodes[this.#calls++ % nodes.length]
    if (node === undefined) throw new Error('no node serves REST')
    return node.url()
  }
}

interface JobRow {
  readonly device_id: string
  readonly status: JobStatus
  readonly attempt: number
  readonly error: { readonly code: string } | null
}

interface MoveRow {
  readonly deployment_id: string
  readonly status: JobStatus
  readonly attempt: number
  readonly timestamp: string
}
