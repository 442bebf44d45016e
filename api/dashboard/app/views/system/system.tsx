// How the service is: its parts, what it could not take, who did what, and who may do what.
import type { ComponentType } from 'preact'
import type { Params } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { Page } from '../../parts/page.tsx'
import { PageNotFound } from '../../parts/page-not-found.tsx'
import { RoleNeeded } from '../../parts/role-needed.tsx'
import { words } from '../../words/words.ts'
import { ApiKeys } from './api-keys.tsx'
import { Audit } from './audit.tsx'
import { DeadLetters } from './dead-letters.tsx'
import { DeviceTypes } from './device-types.tsx'
import { Health } from './health.tsx'
import { ProvisioningKeys } from './provisioning-keys.tsx'
import { Repair } from './repair.tsx'
import { isSection, type SystemSection, SystemSections, sectionName, sectionNeeds } from './sections.tsx'
import { Users } from './users.tsx'

const t = words({})

const PAGES: Readonly<Record<SystemSection, ComponentType>> = {
  health: Health,
  types: DeviceTypes,
  'dead-letters': DeadLetters,
  audit: Audit,
  users: Users,
  'api-keys': ApiKeys,
  'provisioning-keys': ProvisioningKeys,
  repair: Repair,
}

export default function System({ params }: { readonly params: Params }) {
  const tab = params['tab'] ?? 'health'
  if (!isSection(tab)) return <PageNotFound />
  const Section = PAGES[tab]
  const needed = sectionNeeds(tab)
  return (
    <Page title={tab === 'health' ? t('system') : sectionName(tab)}>
      <SystemSections current={tab} />
      {may(needed) ? (
        <div class="stack">
          <Section />
        </div>
      ) : (
        <RoleNeeded operation={needed} />
      )}
    </Page>
  )
}
