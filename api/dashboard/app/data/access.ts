// Who may do what, from the same table as the service itself (D7).
import type { OperationId } from '../../../../schemas/client/calls.ts'
import type { Operation } from '../../../../schemas/operation.ts'
import { OPERATIONS } from '../../../../schemas/operations/all.ts'
import type { Role } from '../../../../schemas/vocabulary.ts'
import { user } from './session.ts'

const accessOf = (id: OperationId): Operation['access'] => OPERATIONS[id].access

/** Whether the role of the person at the page is enough. A call may still be refused for the groups that it is about. */
export function may(id: OperationId): boolean {
  const access = accessOf(id)
  const me = user.value
  return access === 'public' || (me != null && access.includes(me.role))
}

/** The least powerful role that is enough. */
export function roleFor(id: OperationId): Role | undefined {
  const access = accessOf(id)
  return access === 'public'
    ? undefined
    : (['viewer', 'operator', 'admin'] as const).find((role) => access.includes(role))
}
