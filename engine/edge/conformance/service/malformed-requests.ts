// Sends malformed requests, each of which must be refused with a reason.
import type { Json } from '../../../../schemas/json.ts'
import { UnmetCheck } from '../verdict.ts'
import { rowsOf } from './rest.ts'
import { expectStatus, type Run } from './run.ts'

const NO_SUCH = 'no-such-device'

export async function sendMalformedRequests(run: Run): Promise<void> {
  const catalogue = await readCatalogue(run)
  const deep = (levels: number): Json => (levels === 0 ? 1 : { a: deep(levels - 1) })
  const bodies: readonly Json[] = [
    null,
    1,
    'text',
    [],
    {},
    { device_id: '../../etc' },
    { email: 7 },
    deep(200),
  ]
  const paths = ['/devices', '/commands/x', '/alerts/rules', '/ota/deployments', '/users', '/auth/login']
  const asked: readonly (readonly [string, string, Json?])[] = [
    ...paths.flatMap((path) => bodies.map((body) => ['POST', path, body] as const)),
    ...['%00', '%2e%2e', 'x'.repeat(500), '$broadcast', NO_SUCH].map(
      (id) => ['GET', `/devices/${id}`] as const,
    ),
    ['GET', '/devices?per_page=100000'],
    ['GET', '/devices?per_page=-1'],
    ['GET', `/telemetry/${NO_SUCH}/history?metric=x&interval=0s`],
    ['PUT', `/shadows/${NO_SUCH}/desired`, { a: 1 }],
    ['DELETE', `/users/${NO_SUCH}`],
    ['PROPFIND', '/devices'],
  ]
  for (const [method, path, body] of asked) {
    const answer = await run.rest.call(method, path, body === undefined ? {} : { body })
    const what = `${method} ${path} ${JSON.stringify(body ?? null).slice(0, 100)}`
    if (answer.status >= 500) throw new UnmetCheck(`${what} is answered ${answer.status}`, answer.body)
    if (answer.status < 400) throw new UnmetCheck(`${what} is answered ${answer.status}`, answer.body)
    if (!answer.type.startsWith('application/problem+json') || typeof answer.body['code'] !== 'string')
      throw new UnmetCheck(`${what} is answered ${answer.status} without a problem document`, answer.body)
    const known = catalogue.get(String(answer.body['code']))
    if (known !== answer.status || answer.body['status'] !== answer.status)
      throw new UnmetCheck(
        `${what} is answered ${answer.status}, and the catalogue says ${known}`,
        answer.body,
      )
  }
}

/** Returns the status of each problem code, as the service publishes it. */
async function readCatalogue({ rest }: Run): Promise<ReadonlyMap<string, unknown>> {
  const answer = await rest.get('//problems')
  expectStatus(answer, 200, 'GET /problems')
  return new Map(rowsOf(answer.body).map(({ code, status }) => [String(code), status]))
}
