// The checks of `fleet doctor`. A check reports a finding and never throws.
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import type { Client } from '../../schemas/client.ts'
import type { Cli } from './cli.ts'
import type { Environment } from './environment.ts'
import { toFailureReport } from './failure.ts'

export interface Finding {
  readonly name: string
  readonly verdict: 'ok' | 'warn' | 'bad'
  readonly detail: string
  /** The action to take. Null if there is nothing to do. */
  readonly advice: string | null
}

const ANSWER_MS = 3_000
const SKEW_MS_MAX = 5_000
const DISK_WARN_BYTES = 5 * 2 ** 30
const DISK_BAD_BYTES = 2 ** 30
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

const ok = (name: string, detail: string): Finding => ({ name, verdict: 'ok', detail, advice: null })
const warn = (name: string, detail: string, advice: string): Finding => ({
  name,
  verdict: 'warn',
  detail,
  advice,
})
const bad = (name: string, detail: string, advice: string): Finding => ({
  name,
  verdict: 'bad',
  detail,
  advice,
})

export async function runChecks(cli: Cli): Promise<readonly Finding[]> {
  const url = cli.url()
  const { client } = await cli.connect({ triesMax: 1, timeoutMs: ANSWER_MS })
  const service = await checkService(client, url)
  const isReachable = service[0]?.verdict === 'ok'
  const remote = isReachable
    ? [
        await checkClock(url),
        await checkLogin(client),
        ...(await checkDevices(client)),
        ...(await checkMessages(client)),
        ...(await checkConnects(client)),
        ...(await checkTokens(client)),
      ]
    : []
  const isLocal = URL.canParse(url) && LOOPBACK.has(new URL(url).hostname)
  return [
    checkNode(),
    ...service,
    ...remote,
    ...(isLocal ? await checkMachine(cli.environment, isReachable) : []),
  ]
}

function checkNode(): Finding {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isFit = major > 20 || (major === 20 && minor >= 19)
  return isFit ? ok('node', node) : bad('node', node, 'install Node.js 20.19 or newer')
}

async function checkService(client: Client, url: string): Promise<readonly Finding[]> {
  try {
    const { status, dependencies = [] } = await client.readyz({ query: { verbose: '' } })
    const serviceFinding = ok('service', `${url} is ${status}`)
    const parts = dependencies.map(({ name, ok: isHealthy, detail }) =>
      isHealthy
        ? ok(name, detail || 'healthy')
        : bad(name, detail || 'unhealthy', 'the service retries by itself; see its log for the cause'),
    )
    return status === 'ready'
      ? [serviceFinding, ...parts]
      : [{ ...serviceFinding, verdict: 'warn' }, ...parts]
  } catch (error) {
    const { message } = toFailureReport(error)
    return [
      bad(
        'service',
        message,
        `nothing answers at ${url}; start the service with \`fleet start\`, or name another one with --url`,
      ),
    ]
  }
}

/** The validity of tokens, and the time of telemetry without timestamps, depend on the clock of the service. */
async function checkClock(url: string): Promise<Finding> {
  const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
    () => undefined,
  )
  const date = Date.parse(response?.headers.get('date') ?? '')
  if (Number.isNaN(date))
    return warn('clock', 'the service sends no Date header', 'check whether a proxy removes it')
  const skewMs = Date.now() - date
  if (Math.abs(skewMs) <= SKEW_MS_MAX) return ok('clock', 'agrees with the service')
  const detail = `${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service`
  return warn('clock', detail, 'synchronize both clocks with NTP')
}

async function checkLogin(client: Client): Promise<Finding> {
  try {
    const { email, name, role } = await client.me()
    return ok('login', `${email ?? name} (${role})`)
  } catch (error) {
    return warn('login', toFailureReport(error).message, 'run `fleet login`')
  }
}

/** No finding without a login, which another check reports. */
async function checkDevices(client: Client): Promise<readonly Finding[]> {
  const summary = await client.getFleetSummary({ query: {} }).catch(() => undefined)
  if (summary === undefined) return []
  const of = (status: string) => summary.data.find(({ key }) => key === status)?.total ?? 0
  const detail = `${summary.total} devices: ${of('online')} online, ${of('offline')} offline, ${of('error')} in error`
  if (of('error') === 0) return [ok('devices', detail)]
  return [warn('devices', detail, 'see which ones with `fleet devices list --status error`')]
}

/** No finding unless the caller is an admin. */
async function checkMessages(client: Client): Promise<readonly Finding[]> {
  const summary = await client.summarizeDeadLetters({ query: {} }).catch(() => undefined)
  if (summary === undefined) return []
  const [first] = summary.data
  if (first === undefined) return [ok('messages', 'all could be processed')]
  const detail = `${summary.total} could not be processed, most of them because of ${first.reason}`
  return [warn('messages', detail, 'see which ones with `fleet dead-letters`')]
}

/** No finding unless the caller is an admin. */
async function checkConnects(client: Client): Promise<readonly Finding[]> {
  const query = { action: 'mqtt.connect', outcome: 'refused', from: '-1h', limit: ENTRIES_MAX } as const
  const page = await client.listAudit({ query }).catch(() => undefined)
  if (page === undefined) return []
  if (page.data.length === 0) return [ok('connects', 'no device was refused in the last hour')]
  const [last] = page.data
  const more = page.next_cursor === null ? '' : 'more than '
  const tries = page.data.reduce((sum, { count }) => sum + (count ?? 1), 0)
  const detail = `${more}${tries} connects were refused in the last hour, the last one of ${last?.device_id ?? 'an unknown device'}`
  return [warn('connects', detail, 'see why with `fleet audit --action mqtt.connect --from 1h`')]
}

/** Lists devices within a week of the expiry of their credentials. No finding unless the caller is an admin. */
async function checkTokens(client: Client): Promise<readonly Finding[]> {
  const query = { action: 'mqtt.token', from: '-7d', limit: ENTRIES_MAX } as const
  const page = await client.listAudit({ query }).catch(() => undefined)
  if (page === undefined) return []
  const ids = new Set(page.data.map(({ device_id }) => device_id))
  if (ids.size === 0)
    return [ok('tokens', 'no device was told in the last week that its token is about to end')]
  const more = page.next_cursor === null ? '' : 'more than '
  const detail = `${more}${ids.size} devices were told in the last week that their token is about to end`
  const advice =
    'see which ones with `fleet audit --action mqtt.token --from 7d`; give `fleet devices token` to those that do not renew it'
  return [warn('tokens', detail, advice)]
}

const ENTRIES_MAX = 100

async function checkMachine({ service }: Environment, isRunning: boolean): Promise<readonly Finding[]> {
  const { httpPort, mqttPort } = service
  const dataDir = resolve(service.dataDir)
  // A service that is running keeps its data elsewhere if it is not here.
  if (isRunning) return existsSync(dataDir) ? [checkData(dataDir), checkDisk(dataDir)] : []
  const ports = [await checkPort(httpPort, 'HTTP'), await checkPort(mqttPort, 'MQTT')]
  return [...ports, checkData(dataDir), checkDisk(dataDir)]
}

async function checkPort(port: number, use: 'HTTP' | 'MQTT'): Promise<Finding> {
  const name = `port ${port}`
  const server = createServer()
  const error = await new Promise<Error | undefined>((done) => {
    server.once('error', done)
    server.listen(port, '127.0.0.1', () => done(undefined))
  })
  if (error !== undefined)
    return bad(
      name,
      `in use (${error.message})`,
      `stop the program that uses it, or set FLEET_${use}_PORT to another port`,
    )
  await new Promise((closed) => server.close(closed))
  return ok(name, `free for ${use}`)
}

function checkData(path: string): Finding {
  try {
    accessSync(existing(path), constants.R_OK | constants.W_OK)
    return ok('data', `${path} ${existsSync(path) ? 'is writable' : 'can be created'}`)
  } catch {
    return bad(
      'data',
      `${path} is not writable`,
      'change its owner, or set FLEET_DATA_DIR to another directory',
    )
  }
}

function checkDisk(path: string): Finding {
  const { bavail, bsize } = statfsSync(existing(path))
  const free = bavail * bsize
  const detail = `${(free / 2 ** 30).toFixed(1)} GiB free`
  if (free < DISK_BAD_BYTES)
    return bad('disk', detail, 'free some space: without it the service accepts no more messages')
  return free < DISK_WARN_BYTES
    ? warn('disk', detail, 'free some space soon, or lower FLEET_RETENTION_DAYS')
    : ok('disk', detail)
}

/** The path itself, or its nearest existing parent. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path))
}
