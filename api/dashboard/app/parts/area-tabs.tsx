import { pathOf, type RouteName } from '../address/routes.ts'
import { place } from '../navigation/navigation.ts'
import { words } from '../words/words.ts'
import { Tabs } from './tabs.tsx'

const t = words({
  alerting: ['Alerting', 'Alarmierung'],
  alerts: ['Inbox', 'Eingang'],
  rules: ['Rules', 'Regeln'],
  broadcasts: ['Broadcasts', 'An viele'],
  firmware: ['Images', 'Abbilder'],
})

/** The pages of each area, by their routes. */
const AREAS = {
  alerting: ['alerts', 'rules', 'channels'],
  commands: ['commands', 'broadcasts'],
  rollouts: ['rollouts', 'firmware'],
} as const satisfies Readonly<Record<string, readonly RouteName[]>>

export function AreaTabs({ of }: { readonly of: keyof typeof AREAS }) {
  const route = place.value?.route
  return (
    <Tabs
      label={t(of)}
      tabs={AREAS[of].map((page) => ({ href: pathOf(page), label: t(page), isCurrent: page === route }))}
    />
  )
}
