// Stands in place of a view that the role at the page may not use: what it lacks, and who can give it.
import type { OperationId } from '../../../../schemas/client/calls.ts'
import { roleFor } from '../data/access.ts'
import { user } from '../data/session.ts'
import { words } from '../words/words.ts'
import { Empty } from './empty.tsx'

const t = words({
  role: ['Your role is {role}; this needs {needed}.', 'Ihre Rolle ist {role}; hierfür braucht es {needed}.'],
  ask: ['Ask an admin of this service for it.', 'Ein Admin dieses Dienstes kann sie Ihnen geben.'],
})

export function RoleNeeded({ operation }: { readonly operation: OperationId }) {
  return (
    <Empty
      title={t('role', { role: user.value?.role ?? '', needed: roleFor(operation) ?? '' })}
      hint={t('ask')}
    />
  )
}
