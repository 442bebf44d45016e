import { pathOf } from '../../address/routes.ts'
import { place } from '../../navigation/navigation.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { words } from '../../words/words.ts'

const t = words({
  broadcasts: ['Broadcasts', 'An viele'],
})

export function CommandSections() {
  const route = place.value?.route
  return (
    <Tabs
      label={t('commands')}
      tabs={[
        { href: pathOf('commands'), label: t('commands'), isCurrent: route === 'commands' },
        { href: pathOf('broadcasts'), label: t('broadcasts'), isCurrent: route === 'broadcasts' },
      ]}
    />
  )
}
