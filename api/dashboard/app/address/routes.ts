// The addresses of the dashboard. A view is found by its address and linked to by its name; nothing else knows the paths.
import type { QueryText } from './query-text.ts'
import { toSearch } from './query-text.ts'

/** The first one that fits counts. */
const ROUTES = {
  login: '/login',
  setup: '/setup',
  overview: '/',
  devices: '/devices',
  connect: '/devices/new',
  device: '/devices/{device_id}',
  deviceTab: '/devices/{device_id}/{tab}',
  explore: '/telemetry',
  commands: '/commands',
  compose: '/commands/new',
  broadcasts: '/commands/broadcasts',
  broadcast: '/commands/broadcasts/{broadcast_id}',
  rollouts: '/rollouts',
  newRollout: '/rollouts/new',
  firmware: '/rollouts/firmware',
  rollout: '/rollouts/{deployment_id}',
  alerts: '/alerts',
  rules: '/alerts/rules',
  rule: '/alerts/rules/{rule_id}',
  channels: '/alerts/channels',
  alert: '/alerts/{alert_id}',
  timeline: '/timeline',
  logs: '/logs',
  system: '/system',
  systemTab: '/system/{tab}',
  savedView: '/views/{view_id}',
  me: '/me',
  parts: '/dev/parts',
} as const
export type RouteName = keyof typeof ROUTES

export type Params = Readonly<Record<string, string>>
export interface Place {
  readonly route: RouteName
  readonly params: Params
}

const PATTERNS = Object.entries(ROUTES).map(([route, path]) => {
  const pattern = new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
  // The keys are those of the table.
  return { route: route as RouteName, pattern }
})

/** Undefined if no view lives there. */
export function placeOf(pathname: string): Place | undefined {
  const path = pathname.length > 1 ? pathname.replace(/\/$/, '') : pathname
  for (const { route, pattern } of PATTERNS) {
    const found = pattern.exec(path)
    if (found === null) continue
    const params = decoded(found.groups ?? {})
    return params === undefined ? undefined : { route, params }
  }
  return undefined
}

export function pathOf(route: RouteName, params: Params = {}, query: QueryText = {}): string {
  const path = ROUTES[route].replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return encodeURIComponent(params[name] ?? '')
  })
  return `${path}${toSearch(query)}`
}

function decoded(groups: Params): Params | undefined {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]))
  } catch {
    // A lone percent sign is no text, so no view can live there.
    return undefined
  }
}
