// Which view lives at an address. Each is loaded when it is first seen.
import type { ComponentType } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import type { Params, RouteName } from '../address/routes.ts'
import { address, place } from '../navigation/navigation.ts'
import { Skeleton } from '../parts/answer-area.tsx'
import { later } from '../parts/later.tsx'
import { PageNotFound } from '../parts/page-not-found.tsx'
import { ProblemCard } from '../parts/problem-card.tsx'

type View = ComponentType<{ readonly params: Params }>

const view = (load: () => Promise<{ readonly default: View }>): View =>
  later(async () => (await load()).default, <Skeleton />)

const VIEWS: Partial<Readonly<Record<RouteName, View>>> = {
  alerts: view(() => import('../views/alerts/inbox.tsx')),
  alert: view(() => import('../views/alerts/alert.tsx')),
  rules: view(() => import('../views/alerts/rules.tsx')),
  rule: view(() => import('../views/alerts/rule.tsx')),
  channels: view(() => import('../views/alerts/channels.tsx')),
  broadcasts: view(() => import('../views/commands/broadcasts.tsx')),
  broadcast: view(() => import('../views/commands/broadcast.tsx')),
  compose: view(() => import('../views/commands/compose.tsx')),
  commands: view(() => import('../views/commands/commands.tsx')),
  newRollout: view(() => import('../views/rollouts/new-rollout.tsx')),
  timeline: view(() => import('../views/feeds/timeline.tsx')),
  logs: view(() => import('../views/feeds/logs.tsx')),
  rollouts: view(() => import('../views/rollouts/rollouts.tsx')),
  rollout: view(() => import('../views/rollouts/rollout.tsx')),
  firmware: view(() => import('../views/rollouts/firmware.tsx')),
  system: view(() => import('../views/system/system.tsx')),
  systemTab: view(() => import('../views/system/system.tsx')),
  overview: view(() => import('../views/overview/overview.tsx')),
  connect: view(() => import('../views/connect/connect.tsx')),
  devices: view(() => import('../views/devices/devices.tsx')),
  device: view(() => import('../views/device/device.tsx')),
  deviceTab: view(() => import('../views/device/device.tsx')),
  explore: view(() => import('../views/telemetry/explore.tsx')),
  savedView: view(() => import('../views/saved/saved-view.tsx')),
  me: view(() => import('../views/me/me.tsx')),
  // The built page has nothing of it.
  ...(import.meta.env.DEV ? { parts: view(() => import('../views/parts/parts.tsx')) } : {}),
}

export function ViewAt() {
  const at = place.value
  const View = at === undefined ? undefined : VIEWS[at.route]
  // A view that fails leaves the frame standing, so that the person can go elsewhere.
  const [broken, mend] = useErrorBoundary()
  useEffect(() => {
    if (broken !== undefined) mend()
  }, [address.value.path])
  if (at === undefined || View === undefined) return <PageNotFound />
  if (broken !== undefined) return <ProblemCard error={broken} onRetry={mend} />
  const { tab: _, ...named } = at.params
  const route = at.route === 'deviceTab' ? 'device' : at.route
  // Another device, rule or alert is another page: nothing of the one before may stay, least of all what was written there.
  return <View key={[route, ...Object.values(named)].join(' ')} params={at.params} />
}
