import { pathOf } from '../../address/routes.ts'
import { place } from '../../navigation/navigation.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { words } from '../../words/words.ts'

const t = words({
  images: ['Images', 'Abbilder'],
})

export function RolloutSections() {
  const route = place.value?.route
  return (
    <Tabs
      label={t('firmware')}
      tabs={[
        { href: pathOf('rollouts'), label: t('rollouts'), isCurrent: route === 'rollouts' },
        { href: pathOf('firmware'), label: t('images'), isCurrent: route === 'firmware' },
      ]}
    />
  )
}
