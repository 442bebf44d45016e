// The devices that a rule or a silence is about. Membership is live: it follows the device's record.

import type { RuleBody } from '../../../schemas/alert-rule.ts'
import { GROUP_PATTERN } from '../../../schemas/body-limits.ts'
import { type DeviceId, parseDeviceId } from '../../../schemas/ids.ts'
import type { FieldError } from '../../../schemas/problem.ts'
import { DEVICE_STATUSES } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import type { Member } from './subject.ts'

export type Target = RuleBody['target']
export type IsMember = (device: Member) => boolean

const QUERY_TEXTS = ['status', 'type', 'group', 'parent_id', 'q', 'firmware_version'] as const

/** A target that passed `checkTarget`, as a function. */
export function membership({ type, value }: Target): IsMember {
  switch (type) {
    case 'all':
    case 'fleet':
      return () => true
    case 'device':
      return ({ id }) => id === value
    case 'devices': {
      // A list of ids, by its check.
      const ids = new Set(value as readonly DeviceId[])
      return ({ id }) => ids.has(id)
    }
    case 'group':
      // A text, by its check; so are the next two.
      return ({ group }) => isWithin(group, value as string)
    case 'tag':
      return ({ tags }) => tags.includes(value as string)
    case 'type':
      return (device) => device.type === value
    case 'query':
      // An object, by its check.
      return matchesQuery(value as Query)
    default:
      return () => false
  }
}

/** True if the group is `subtree` or lies below it. */
export function isWithin(group: string | undefined, subtree: string): boolean {
  if (group === undefined || !group.startsWith(subtree)) return false
  return group.length === subtree.length || group[subtree.length] === '/'
}

/** True if every device that can be a member lies in these group subtrees, whatever its record becomes. */
export function isTargetWithin(target: Target, groups: readonly string[]): boolean {
  const group = namedGroup(target)
  return group !== undefined && groups.some((subtree) => isWithin(group, subtree))
}

/** The group subtree that the target names. */
export function namedGroup({ type, value }: Target): string | undefined {
  const group = type === 'group' ? value : type === 'query' ? (value as Query | undefined)?.group : undefined
  return typeof group === 'string' ? group : undefined
}

/** The devices that the target names one by one. */
export function namedDevices({ type, value }: Target): readonly DeviceId[] | undefined {
  // Ids, by the target's check.
  if (type === 'device') return [value as DeviceId]
  return type === 'devices' ? (value as readonly DeviceId[]) : undefined
}

export function checkTarget({ type, value }: Target): readonly FieldError[] {
  const path = '/target/value'
  const mistake = (message: string, code = 'WRONG_FORMAT') => [{ path, code, message }]
  if (type === 'all' || type === 'fleet') return []
  if (value === undefined || value === null) return mistake('is required', 'REQUIRED')
  if (type === 'device')
    return parseDeviceId(value) === undefined ? mistake('must be the id of a device') : []
  if (type === 'devices') {
    if (!Array.isArray(value) || value.length === 0) return mistake('must be a list of ids of devices')
    if (value.length > LIMITS.targetDevicesMax)
      return mistake(`must have at most ${LIMITS.targetDevicesMax} devices`, 'TOO_MANY')
    return value.every((id) => parseDeviceId(id) !== undefined) ? [] : mistake('must be ids of devices')
  }
  if (type === 'query') return checkQuery(value)
  if (type === 'group') return isGroup(value) ? [] : mistake(GROUP_EXPECTED)
  if (typeof value !== 'string' || value === '' || value.length > LIMITS.groupCharsMax)
    return mistake(`must be a text of 1 to ${LIMITS.groupCharsMax} characters`)
  return []
}

const GROUP = new RegExp(GROUP_PATTERN)
const GROUP_EXPECTED = 'must be the path of a group, such as warehouse/a'

/** Whether a device can have this group. */
function isGroup(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LIMITS.groupCharsMax && GROUP.test(value)
}

interface Query {
  readonly status?: string
  readonly type?: string
  readonly group?: string
  readonly group_exact?: boolean
  readonly tag?: string | readonly string[]
  readonly parent_id?: string
  readonly q?: string
  readonly firmware_version?: string
}

function matchesQuery(query: Query): IsMember {
  const tags = query.tag === undefined ? [] : [query.tag].flat()
  const prefix = query.q?.toLowerCase()
  const matches = (wanted: string | undefined, actual: string | undefined) =>
    wanted === undefined || wanted === actual
  return (device) =>
    matches(query.status, device.status) &&
    matches(query.type, device.type) &&
    matches(query.parent_id, device.parentId) &&
    // An empty text means that the version is unknown.
    matches(query.firmware_version, device.firmwareVersion ?? '') &&
    (query.group === undefined ||
      (query.group_exact === true ? device.group === query.group : isWithin(device.group, query.group))) &&
    tags.every((tag) => device.tags.includes(tag)) &&
    (prefix === undefined ||
      device.id.toLowerCase().startsWith(prefix) ||
      device.name.toLowerCase().startsWith(prefix))
}

function checkQuery(value: unknown): readonly FieldError[] {
  const path = '/target/value'
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ path, code: 'WRONG_TYPE', message: 'must be an object with the filters of GET /devices' }]
  const errors: FieldError[] = []
  const texts: readonly string[] = QUERY_TEXTS
  for (const [name, given] of Object.entries(value)) {
    const at = `${path}/${name}`
    if (name === 'group_exact') {
      if (typeof given !== 'boolean')
        errors.push({ path: at, code: 'WRONG_TYPE', message: 'must be true or false' })
    } else if (name === 'tag') {
      const tags: readonly unknown[] = [given].flat()
      if (!tags.every((tag) => typeof tag === 'string') || tags.length > LIMITS.tagsMax)
        errors.push({ path: at, code: 'WRONG_TYPE', message: 'must be a tag or a list of tags' })
    } else if (!texts.includes(name))
      errors.push({
        path: at,
        code: 'UNKNOWN_PARAMETER',
        message: `is not known; known are ${[...texts, 'group_exact', 'tag'].join(', ')}`,
      })
    else if (typeof given !== 'string' || given.length > LIMITS.nameCharsMax)
      errors.push({ path: at, code: 'WRONG_TYPE', message: 'must be a text' })
    else if (name === 'group' && !isGroup(given))
      errors.push({ path: at, code: 'WRONG_FORMAT', message: GROUP_EXPECTED })
    else if (name === 'parent_id' && parseDeviceId(given) === undefined)
      errors.push({ path: at, code: 'WRONG_FORMAT', message: 'must be the id of a device' })
    else if (name === 'status' && !DEVICE_STATUSES.some((status) => status === given))
      errors.push({ path: at, code: 'NOT_ALLOWED', message: `must be one of ${DEVICE_STATUSES.join(', ')}` })
  }
  return errors
}
