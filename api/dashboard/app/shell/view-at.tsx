// Which view lives at an address. Each is loaded when it is first seen.
import type { ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import type { Params, RouteName } from '../address/routes.ts'
import { place } from '../navigation/navigation.ts'
import { Skeleton } from '../parts/answer-area.tsx'
import { Empty } from '../parts/empty.tsx'
import { Page } from '../parts/page.tsx'
import { ProblemCard } from '../parts/problem-card.tsx'
import { words } from '../words/words.ts'

const t = words({
  lost: ['Page not found', 'An dieser Adresse ist nichts'],
  back: ['Go to the overview', 'Zur Übersicht'],
})

type View = ComponentType<{ readonly params: Params }>
type Load = () => Promise<{ readonly default: View }>

const VIEWS: Partial<Readonly<Record<RouteName, Load>>> = {
  alerts: () => import('../views/alerts/inbox.tsx'),
  alert: () => import('../views/alerts/alert.tsx'),
  rules: () => import('../views/alerts/rules.tsx'),
  rule: () => import('../views/alerts/rule.tsx'),
  channels: () => import('../views/alerts/channels.tsx'),
  broadcasts: () => import('../views/commands/broadcasts.tsx'),
  broadcast: () => import('../views/commands/broadcast.tsx'),
  compose: () => import('../views/commands/compose.tsx'),
  commands: () => import('../views/commands/commands.tsx'),
  newRollout: () => import('../views/rollouts/new-rollout.tsx'),
  timeline: () => import('../views/feeds/timeline.tsx'),
  logs: () => import('../views/feeds/logs.tsx'),
  rollouts: () => import('../views/rollouts/rollouts.tsx'),
  rollout: () => import('../views/rollouts/rollout.tsx'),
  firmware: () => import('../views/rollouts/firmware.tsx'),
  system: () => import('../views/system/system.tsx'),
  systemTab: () => import('../views/system/system.tsx'),
  overview: () => import('../views/overview/overview.tsx'),
  connect: () => import('../views/connect/connect.tsx'),
  devices: () => import('../views/devices/devices.tsx'),
  device: () => import('../views/device/device.tsx'),
  deviceTab: () => import('../views/device/device.tsx'),
  explore: () => import('../views/telemetry/explore.tsx'),
  savedView: () => import('../views/saved/saved-view.tsx'),
  me: () => import('../views/me/me.tsx'),
  // The built page has nothing of it.
  ...(import.meta.env.DEV ? { parts: () => import('../views/parts/parts.tsx') } : {}),
}

const loaded = new Map<Load, View>()

export function ViewAt() {
  const at = place.value
  const load = at === undefined ? undefined : VIEWS[at.route]
  const [failure, setFailure] = useState<unknown>(undefined)
  const [, setLoaded] = useState(0)
  // A view that fails leaves the frame standing, so that the person can go elsewhere.
  const [broken, mend] = useErrorBoundary()
  useEffect(() => {
    if (broken !== undefined) mend()
  }, [load])
  useEffect(() => {
    if (load === undefined || loaded.has(load)) return
    setFailure(undefined)
    load().then((module) => {
      loaded.set(load, module.default)
      setLoaded(loaded.size)
    }, setFailure)
  }, [load])
  if (at === undefined || load === undefined) return <Lost />
  if (broken !== undefined) return <ProblemCard error={broken} onRetry={mend} />
  if (failure !== undefined) return <ProblemCard error={failure} onRetry={() => location.reload()} />
  const View = loaded.get(load)
  if (View === undefined) return <Skeleton />
  // Another device is another page: nothing of the one before may stay.
  return (
    <View
      key={`${at.route === 'deviceTab' ? 'device' : at.route} ${at.params['device_id'] ?? ''}`}
      params={at.params}
    />
  )
}

function Lost() {
  return (
    <Page title={t('lost')}>
      <Empty title={location.pathname}>
        <a href="/">{t('back')}</a>
      </Empty>
    </Page>
  )
}
