// The option `--selector`: selects devices by properties, as comma-separated `name=value` pairs.
import { InvalidArgumentError } from 'commander'
import type { BulkEditBody } from '../../../schemas/bulk-edit.ts'
import { nearestName } from '../../../schemas/nearest-name.ts'
import { DEVICE_STATUSES } from '../../../schemas/vocabulary.ts'

export type Selector = NonNullable<BulkEditBody['filter']>

const FIELDS = {
  tag: 'tag',
  group: 'group',
  type: 'type',
  status: 'status',
  firmware: 'firmware_version',
  parent: 'parent_id',
  query: 'q',
} as const
const NAMES = Object.keys(FIELDS)

/** Adds to the selectors of earlier options. A device must have all tags. */
export function selector(text: string, before: Selector | undefined): Selector {
  return text.split(',').reduce<Selector>(addTo, before ?? {})
}

function addTo(before: Selector, part: string): Selector {
  const at = part.indexOf('=')
  const name = part.slice(0, at).trim()
  const value = part.slice(at + 1).trim()
  if (at < 1)
    throw new InvalidArgumentError(`expected name=value, such as tag=canary; names are ${NAMES.join(', ')}`)
  if (!isField(name)) {
    const nearest = nearestName(name, NAMES)
    const advice = nearest === undefined ? '' : `did you mean ${nearest}? `
    throw new InvalidArgumentError(`${name} is not known; ${advice}names are ${NAMES.join(', ')}`)
  }
  if (name === 'tag') return { ...before, tag: [...(before.tag ?? []), value] }
  if (before[FIELDS[name]] !== undefined) throw new InvalidArgumentError(`${name} is given twice`)
  if (name !== 'status') return { ...before, [FIELDS[name]]: value }
  const status = DEVICE_STATUSES.find((known) => known === value)
  if (status === undefined) throw new InvalidArgumentError(`expected one of ${DEVICE_STATUSES.join(', ')}`)
  return { ...before, status }
}

function isField(name: string): name is keyof typeof FIELDS {
  return Object.hasOwn(FIELDS, name)
}
