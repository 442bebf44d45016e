// Registers the simulated devices with the service over REST. Their ids are stable, so a restart with the same data
// finds its devices again and only asks for new tokens.
import { setTimeout as wait } from 'node:timers/promises'
import { SIMULATED_TYPES, type SimulatedType } from './report.ts'

export interface EnrolledDevice {
  readonly id: string
  readonly type: SimulatedType
  readonly deviceToken: string
}

export interface Enrolment {
  readonly httpUrl: string
  /** An access token that may register devices. */
  readonly token: string
  readonly count: number
  readonly signal: AbortSignal
}

const AT_ONCE = 8
const ATTEMPTS_MAX = 5
const RETRY_MS_MAX = 5_000
const TOKEN_TTL_HOURS = 8_760
const GROUPS = ['warehouse/a', 'warehouse/b', 'yard', 'plant/line-1']

/** Resolves with the devices that may connect, and calls `skipped` for each that may not. */
export async function enrol(
  enrolment: Enrolment,
  skipped: (id: string, reason: string) => void,
): Promise<readonly EnrolledDevice[]> {
  const numbers = Array.from({ length: enrolment.count }, (_, index) => index + 1)
  const enrolled: EnrolledDevice[] = []
  const worker = async () => {
    for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
      const device = await enrolOne(enrolment, number, skipped)
      if (device !== undefined) enrolled.push(device)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return enrolled.sort((a, b) => a.id.localeCompare(b.id))
}

async function enrolOne(
  enrolment: Enrolment,
  number: number,
  skipped: (id: string, reason: string) => void,
): Promise<EnrolledDevice | undefined> {
  const id = `sim-${String(number).padStart(3, '0')}`
  const type = pick(SIMULATED_TYPES, number)
  const registered = await post(enrolment, '/devices', {
    device_id: id,
    name: `Simulated ${type} ${number}`,
    type,
    group: pick(GROUPS, Math.floor(number / SIMULATED_TYPES.length)),
    tags: ['simulator'],
    metadata: { simulated: true },
  })
  const answer = registered.status === 409 ? await askToken(enrolment, id) : registered
  const { access_token: first, mqtt_token: renewed, code = '' } = answer.body
  const deviceToken = first ?? renewed
  if (typeof deviceToken === 'string') return { id, type, deviceToken }
  skipped(id, `HTTP ${answer.status} ${code}`.trim())
  return undefined
}

function askToken(enrolment: Enrolment, id: string): Promise<Answer> {
  const scopes = ['publish', 'subscribe']
  return post(enrolment, '/auth/devices/token', { device_id: id, scopes, ttl_hours: TOKEN_TTL_HOURS })
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Asks a service that is busy or still starting again, a few times. */
async function post({ httpUrl, token, signal }: Enrolment, path: string, body: unknown): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${httpUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
      signal,
    })
    if ((response.status !== 429 && response.status !== 503) || attempt === ATTEMPTS_MAX) {
      // The service answers with an object, also when it refuses.
      return { status: response.status, body: (await response.json()) as Answer['body'] }
    }
    await response.arrayBuffer()
    const afterMs = Number(response.headers.get('retry-after') ?? 1) * 1_000
    await wait(Math.min(afterMs || 1_000, RETRY_MS_MAX), undefined, { signal })
  }
}

function pick<T>(values: readonly [T, ...T[]] | readonly T[], number: number): T {
  // The remainder keeps the index within bounds.
  return values[number % values.length] as T
}
