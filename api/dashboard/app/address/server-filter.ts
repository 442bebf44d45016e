// The part of the filter language that the service itself judges. It is used where there are more devices than a page keeps.
import { DEVICE_STATUSES, type DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { Query, Term } from './filter.ts'

export interface ServerFilter {
  readonly q?: string
  readonly status?: DeviceStatus
  readonly type?: string
  readonly group?: string
  readonly group_exact?: true
  readonly tag?: readonly string[]
  readonly parent_id?: string
  readonly firmware_version?: string
}

export interface ServerQuery {
  readonly filter: ServerFilter
  /** Terms that the service cannot judge. A list without them would show devices that do not fit. */
  readonly unknown: Query
}

export function toServerQuery(query: Query): ServerQuery {
  let filter: ServerFilter = {}
  const unknown: Term[] = []
  for (const term of query) {
    if (term.values.length === 0) continue
    const more = partOf(term, filter)
    if (more === undefined) unknown.push(term)
    else filter = { ...filter, ...more }
  }
  return { filter, unknown }
}

/** Undefined if the service has no such parameter, or has it already. */
function partOf(term: Term, { tag = [], ...others }: ServerFilter): ServerFilter | undefined {
  const { name, operator, values, isNegated } = term
  const [value = '', ...more] = values
  if (isNegated || more.length > 0 || operator === '<' || operator === '>') return undefined
  const part = toPart(name, value, { isExact: operator === '=', tag })
  const isTaken = part !== undefined && Object.keys(part).some((key) => key in others)
  return isTaken ? undefined : part
}

function toPart(
  name: string | undefined,
  value: string,
  { isExact, tag }: { readonly isExact: boolean; readonly tag: readonly string[] },
): ServerFilter | undefined {
  switch (name) {
    case undefined:
      return { q: value }
    case 'id':
      return isExact ? undefined : { q: value }
    case 'status': {
      const status = DEVICE_STATUSES.find((word) => word === value.toLowerCase())
      return status && { status }
    }
    case 'type':
      return { type: value }
    case 'group':
      return isExact ? { group: value, group_exact: true } : { group: value }
    case 'tag':
      return { tag: [...tag, value] }
    case 'parent':
      return { parent_id: value }
    case 'fw':
      return { firmware_version: value }
    default:
      return undefined
  }
}
