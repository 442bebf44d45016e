// The announcement of a started service: addresses and next steps on a terminal, and one JSON line otherwise.
import { LIMITS } from '../../engine/limits.ts'
import type { FirstAdmin } from '../auth/first-admin.ts'
import { shownAddress } from './settings/address.ts'
import type { ClusterSettings } from './settings/cluster.ts'
import type { Settings } from './settings/settings.ts'

export interface BannerFacts {
  readonly version: string
  readonly profile: Settings['profile']
  readonly httpUrl: string
  readonly mqttUrl: string
  readonly durability: string
  readonly registration: string
  readonly startedInMs: number
  readonly admin: FirstAdmin | undefined
  /** Undefined if the dashboard is switched off. */
  readonly dashboard: DashboardFacts | undefined
  readonly simulated: number
}

export interface DashboardFacts {
  readonly url: string
  /** The address to open first: it either logs in without a password or creates the first account. */
  readonly next: string | undefined
}

export function bannerText(facts: BannerFacts): string {
  const { httpUrl, admin, profile } = facts
  const lines: readonly (readonly [string, string] | undefined)[] = [
    ...(profile.roles.includes('api')
      ? ([
          ...dashboardLines(facts.dashboard),
          ['API', `${httpUrl}/api/v1     docs ${httpUrl}/docs`],
          ['WebSocket', `${httpUrl.replace(/^http/, 'ws')}/ws`],
        ] as const)
      : []),
    ['MQTT', facts.mqttUrl],
    ['Metrics', `${httpUrl}/metrics     health ${httpUrl}/readyz?verbose`],
    admin === undefined ? undefined : ['Admin', `${admin.email}${passwordNote(admin)}`],
    ['Profile', `${profile.kind}, registration ${facts.registration}, durability ${facts.durability}`],
    ...(profile.kind === 'embedded'
      ? ([['Data', `${profile.dataDir} (delete this directory to start from scratch)`]] as const)
      : clusterLines(profile)),
    facts.simulated === 0
      ? undefined
      : [
          'Simulator',
          `${facts.simulated} devices, each publishing ${facts.simulated <= 1_000 ? 'about once a second' : 'every few seconds'}`,
        ],
    ...(profile.roles.includes('api') ? nextSteps(facts) : []),
  ]
  const rows = lines.filter((line) => line !== undefined).map(([key, value]) => `  ${key.padEnd(12)}${value}`)
  const title = `  fleet ${facts.version}`.padEnd(40)
  return ['', `${title}ready in ${(facts.startedInMs / 1000).toFixed(1)} s`, ...rows, '', ''].join('\n')
}

/** Names the file that holds a generated password, never the password itself, because logs may keep this line. */
export function readyLine(facts: BannerFacts, now: number): string {
  const { admin, httpUrl, mqttUrl, profile, startedInMs } = facts
  const login =
    admin?.passwordFile === undefined
      ? {}
      : { admin_email: admin.email, admin_password_file: admin.passwordFile }
  const ready = {
    level: 'info',
    time: new Date(now).toISOString(),
    msg: 'ready',
    http_url: httpUrl,
    mqtt_url: mqttUrl,
    profile: profile.kind,
    ...(profile.kind === 'embedded'
      ? { data_dir: profile.dataDir }
      : { node: profile.nodeName, roles: profile.roles, servers: serversOf(profile) }),
    started_ms: Math.round(startedInMs),
    ...login,
  }
  return `${JSON.stringify(ready)}\n`
}

/** Commands that can be pasted as they are: they contain this service's addresses. */
function nextSteps({
  httpUrl,
  admin,
  simulated,
  profile,
}: BannerFacts): readonly (readonly [string, string])[] {
  const email = admin === undefined ? '' : ` --email ${admin.email}`
  return [
    ['Try', `npx fleet login --url ${httpUrl}${email}`],
    ['', 'npx fleet devices create thermo-1 --name Thermometer --type mqtt_device'],
    ['', `README.md says how thermo-1 connects; ${httpUrl}/docs has every operation to try out`],
    ...(simulated === 0 && profile.kind === 'embedded'
      ? ([['', 'npm start -- --simulate 25     (stop this service first)']] as const)
      : []),
  ]
}

function dashboardLines(dashboard: DashboardFacts | undefined): readonly (readonly [string, string])[] {
  if (dashboard === undefined) return []
  const { url, next } = dashboard
  return [['Dashboard', url], ...(next === undefined ? [] : ([['', `${next}   (${noteOf(next)})`]] as const))]
}

const noteOf = (next: string) =>
  next.endsWith('/setup')
    ? 'the first account'
    : `logs in once, within ${LIMITS.loginTicketMs / 60_000} minutes`

function clusterLines(profile: ClusterSettings): readonly (readonly [string, string])[] {
  const { nodeName, roles } = profile
  const servers = Object.entries(serversOf(profile)).map(([name, where]) => `${name} ${where}`)
  return [
    ['Roles', `${roles.join(', ')}${nodeName === undefined ? '' : ` of ${nodeName}`}`],
    ['Servers', servers.join('     ')],
  ]
}

function serversOf({ nats, redisUrl, clickhouse, mqtt }: ClusterSettings) {
  return {
    nats: nats.servers.join(','),
    redis: shownAddress(redisUrl),
    clickhouse: shownAddress(clickhouse.url),
    mqtt: shownAddress(mqtt.url),
  }
}

function passwordNote({ generatedPassword }: FirstAdmin): string {
  return generatedPassword === undefined ? '' : ` / ${generatedPassword}   (shown only once)`
}
