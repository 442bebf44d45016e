import type { OperationId } from '../../../../../schemas/client/calls.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { words } from '../../words/words.ts'

const t = words({
  health: ['Health', 'Zustand'],
  types: ['Device types', 'Gerätetypen'],
  'dead-letters': ['Dead letters', 'Unzustellbares'],
  'api-keys': ['API keys', 'API-Schlüssel'],
  'provisioning-keys': ['Provisioning keys', 'Anlernschlüssel'],
  repair: ['Repair', 'Reparatur'],
})

/** The pages of the area, and the operation that each needs. What a role has nothing to do with is absent (D7). */
const SECTIONS = [
  ['health', 'readyz'],
  ['types', 'listDeviceTypes'],
  ['dead-letters', 'listDeadLetters'],
  ['audit', 'listAudit'],
  ['users', 'listUsers'],
  ['api-keys', 'listApiKeys'],
  ['provisioning-keys', 'listProvisioningKeys'],
  ['repair', 'startRepair'],
] as const satisfies readonly (readonly [string, OperationId])[]
export type SystemSection = (typeof SECTIONS)[number][0]

export function SystemSections({ current }: { readonly current: SystemSection }) {
  return (
    <Tabs
      label={t('system')}
      tabs={SECTIONS.filter(([, needs]) => may(needs)).map(([section]) => ({
        href: section === 'health' ? pathOf('system') : pathOf('systemTab', { tab: section }),
        label: t(section),
        isCurrent: section === current,
      }))}
    />
  )
}

export const sectionName = (section: SystemSection) => t(section)
export const sectionNeeds = (section: SystemSection): OperationId =>
  SECTIONS.find(([name]) => name === section)?.[1] ?? 'readyz'
export const isSection = (text: string): text is SystemSection => SECTIONS.some(([name]) => name === text)
