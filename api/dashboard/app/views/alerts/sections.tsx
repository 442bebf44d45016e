// The pages of the area, as tabs.
import { pathOf } from '../../address/routes.ts'
import { place } from '../../navigation/navigation.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { words } from '../../words/words.ts'

const t = words({
  area: ['Alerting', 'Alarmierung'],
  inbox: ['Inbox', 'Eingang'],
  rules: ['Rules', 'Regeln'],
})

export function AlertSections() {
  const route = place.value?.route
  return (
    <Tabs
      label={t('area')}
      tabs={[
        { href: pathOf('alerts'), label: t('inbox'), isCurrent: route === 'alerts' },
        { href: pathOf('rules'), label: t('rules'), isCurrent: route === 'rules' },
        { href: pathOf('channels'), label: t('channels'), isCurrent: route === 'channels' },
      ]}
    />
  )
}
