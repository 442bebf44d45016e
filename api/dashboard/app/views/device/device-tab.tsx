// The tab at the address. Each is loaded when it is first seen.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from '../../parts/answer-area.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import type { TabName, TabProps } from './tabs.ts'

type Tab = ComponentType<TabProps>

const LOADERS: Readonly<Record<TabName, () => Promise<{ readonly default: Tab }>>> = {
  overview: () => import('./overview/overview-tab.tsx'),
  telemetry: () => import('./telemetry/telemetry-tab.tsx'),
  shadow: () => import('./shadow/shadow-tab.tsx'),
  commands: () => import('./commands/commands-tab.tsx'),
  firmware: () => import('./firmware/firmware-tab.tsx'),
  alerts: () => import('./alerts/alerts-tab.tsx'),
  logs: () => import('./logs/logs-tab.tsx'),
  timeline: () => import('./timeline/timeline-tab.tsx'),
  settings: () => import('./settings/settings-tab.tsx'),
}

const loaded = new Map<TabName, Tab>()

export function DeviceTab({ device, tab }: TabProps & { readonly tab: TabName }) {
  const [failure, setFailure] = useState<unknown>(undefined)
  const [, setLoaded] = useState(0)
  useEffect(() => {
    setFailure(undefined)
    if (loaded.has(tab)) return
    LOADERS[tab]().then((module) => {
      loaded.set(tab, module.default)
      setLoaded((count) => count + 1)
    }, setFailure)
  }, [tab])
  if (failure !== undefined) return <ProblemCard error={failure} onRetry={() => location.reload()} />
  const Found = loaded.get(tab)
  return Found === undefined ? <Skeleton /> : <Found key={tab} device={device} />
}
