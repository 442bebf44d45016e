// Gets a device its first token with a provisioning key, and remembers it. Restarts use the token that is kept, so the key is
// needed once.
import { setTimeout as sleep } from 'node:timers/promises'
import { waitBeforeConnect } from './backoff.ts'
import { type DeviceStorage, readJson, writeJson } from './storage.ts'

export interface ProvisionOptions {
  /** The address of the service's REST API, such as `https://fleet.example.com`. */
  readonly url: string
  /** The provisioning key. */
  readonly key: string
  readonly deviceId: string
  /** Left out, the device is named by its id. */
  readonly name?: string
  /** Keeps the token, such as `fileStorage` in a folder that only the device may read. */
  readonly storage: DeviceStorage
  /** Ends the waiting: a device may have to wait long for its approval. */
  readonly signal?: AbortSignal
  /** Waits between two tries. Left out, time passes. */
  readonly wait?: (ms: number) => Promise<unknown>
}

/** The service will not register the device, however often it asks. */
export class ProvisioningRefusal extends Error {
  override readonly name = 'ProvisioningRefusal'
  /** A code of the service, such as `PROVISIONING_KEY_EXPIRED`. */
  readonly code: string

  constructor(code: string, detail: string) {
    super(`${code}: ${detail}`)
    this.code = code
  }
}

const NAME = 'provisioned.json'
const ANSWER_MS = 30_000

/** Resolves with the device's token, once it is kept. Asks again while the device waits for approval, and while the
 *  service cannot be reached. Rejects with `ProvisioningRefusal`. */
export async function provision(options: ProvisionOptions): Promise<string> {
  const { deviceId, storage, signal } = options
  const wait = options.wait ?? ((ms) => sleep(ms, undefined, signal === undefined ? {} : { signal }))
  const kept = await readJson(storage, NAME)
  if (isKept(kept) && kept.device_id === deviceId) return kept.mqtt_token
  for (let failures = 0; ; failures++) {
    signal?.throwIfAborted()
    const answer = await ask(options).catch((error: unknown) => {
      signal?.throwIfAborted()
      if (error instanceof ProvisioningRefusal) throw error
      return waitBeforeConnect(failures + 1, false, Math.random())
    })
    if (typeof answer === 'number') await wait(answer)
    else {
      await writeJson(storage, NAME, { device_id: deviceId, mqtt_token: answer })
      return answer
    }
  }
}

/** Resolves with the token, or with the milliseconds after which to ask again. */
async function ask({ url, key, deviceId, name, signal }: ProvisionOptions): Promise<string | number> {
  const timeout = AbortSignal.timeout(ANSWER_MS)
  const response = await fetch(`${url.replace(/\/$/, '')}/api/v1/auth/provision`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key, device_id: deviceId, ...(name === undefined ? {} : { name }) }),
    signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
  })
  const body: unknown = await response.json()
  if (response.ok && isKept(body)) return body.mqtt_token
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  if (after > 0) return after * 1000
  // The service or a proxy is in trouble, which passes.
  if (response.status === 429 || response.status >= 500) throw new Error(`status ${response.status}`)
  const { code, detail, title } = Object(body) as Readonly<Record<string, unknown>>
  throw new ProvisioningRefusal(String(code ?? response.status), String(detail ?? title ?? ''))
}

function isKept(value: unknown): value is { readonly device_id: string; readonly mqtt_token: string } {
  const { device_id: id, mqtt_token: token } = Object(value) as Readonly<Record<string, unknown>>
  return typeof id === 'string' && typeof token === 'string'
}
