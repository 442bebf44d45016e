// REST for tests: each call resolves with its answer, whatever its status.
export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Empty if the answer is no JSON object. */
  readonly body: Readonly<Record<string, unknown>>
  readonly text: string
}

export interface Rest {
  readonly token: string | undefined
  get(path: string): Promise<Answer>
  post(path: string, body: unknown): Promise<Answer>
  call(method: string, path: string, body?: unknown): Promise<Answer>
  as(token: string): Rest
}

export interface Bucket {
  readonly time: string
  readonly avg: number
  readonly min: number
  readonly max: number
  readonly count: number
  readonly last: number
}

export interface HistoryQuery {
  readonly metric: string
  readonly interval: string
  readonly from: number
  readonly to: number
}

const ANSWER_MS = 30_000

/** Calls REST. A path is below `/api/v1`, unless it begins with two slashes. */
export function restOf(httpUrl: string, token?: string): Rest {
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const url = path.startsWith('//') ? `${httpUrl}${path.slice(1)}` : `${httpUrl}/api/v1${path}`
    const response = await fetch(url, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: toBody(text), text }
  }
  return {
    token,
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    as: (other) => restOf(httpUrl, other),
  }
}

/** Registers a device and returns its token. */
export async function registerDevice(rest: Rest, deviceId: string, more: object = {}): Promise<string> {
  const { status, body } = await rest.post('/devices', {
    device_id: deviceId,
    name: deviceId,
    type: 'mqtt_device',
    ...more,
  })
  if (status !== 201) throw new Error(`${deviceId} was not registered: ${JSON.stringify(body)}`)
  return String(body['access_token'])
}

export async function historyOf(
  rest: Rest,
  deviceId: string,
  { metric, interval, from, to }: HistoryQuery,
): Promise<readonly Bucket[]> {
  const range = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`
  const path = `/telemetry/${deviceId}/history?metric=${metric}&interval=${interval}&${range}`
  const { status, body } = await rest.get(path)
  if (status !== 200) throw new Error(`no history: ${status} ${JSON.stringify(body)}`)
  // The answer has the type of its schema; a wrong shape fails the test that reads it.
  return body['data'] as readonly Bucket[]
}

function toBody(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    // It was just shown to be an object.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    // The text is not JSON.
    return {}
  }
}
