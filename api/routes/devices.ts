// /devices: the fleet's records. Everyone may look, an admin may change.
import type { Static } from 'typebox'
import type { Device } from '../../engine/domain/device/record.ts'
import type { DeviceView, Engine } from '../../engine/index.ts'
import type { DeviceFilter, DeviceSort } from '../../engine/ports/store.ts'
import type { User } from '../../engine/ports/users.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import {
  DeviceBody,
  DeviceListQuery,
  DevicePage,
  DeviceParams,
  EditDeviceBody,
  RegisterDeviceBody,
  RegisteredDevice,
  ReplaceDeviceBody,
} from '../../schemas/device.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { ROLES } from '../../schemas/vocabulary.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { ownFilter } from '../auth/tokens.ts'
import { deviceBody, deviceEtag } from '../bodies/device-body.ts'
import { type Answer, answer, invalid, type Refusal, refused } from '../http/answer.ts'
import { isFresh, parseIfMatch, quoted } from '../http/etag.ts'
import { JSON_TYPES } from '../http/json-body.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { API, type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { immutableFields, metadataTooLarge } from './device-checks.ts'

const PATH = `${API}/devices`
const ONE = `${PATH}/{device_id}`
const tag = 'devices'

export function deviceRoutes(services: Services): readonly Route[] {
  return [...collectionRoutes(services), ...readRoutes(services), ...changeRoutes(services)]
}

function collectionRoutes(services: Services): readonly Route[] {
  const { engine, ids } = services
  return [
    route({
      method: 'GET',
      path: PATH,
      operationId: 'listDevices',
      summary: 'List devices',
      tag,
      access: ROLES,
      query: DeviceListQuery,
      replies: { 200: DevicePage },
      async handle({ query, user, url }) {
        const { type } = query
        if (type !== undefined && !services.deviceTypes.has(type)) return unknownType(services, 'query')
        const filter: DeviceFilter = {
          status: query.status,
          type,
          group: query.group,
          groupExact: query.group_exact,
          tags: query.tag,
          q: query.q,
          within: scopeOf(user),
        }
        const window = toWindow(query)
        const sorting = parseSort(query.sort)
        const found = engine.store.list(filter, { offset: window.offset, limit: window.perPage, ...sorting })
        const views = await viewsOf(engine, found.devices)
        return pageAnswer(
          views.map((view) => deviceBody(view, services)),
          found.total,
          window,
          url,
        )
      },
    }),
    route({
      method: 'POST',
      path: PATH,
      operationId: 'registerDevice',
      summary: 'Register a device',
      tag,
      access: ['admin'],
      body: RegisterDeviceBody,
      replies: { 201: RegisteredDevice },
      refusals: ['ALREADY_EXISTS'],
      async handle({ body, user }) {
        if (!services.deviceTypes.has(body.type)) return unknownType(services, 'body')
        const tooLarge = metadataTooLarge(body.metadata)
        if (tooLarge !== undefined) return tooLarge
        const deviceId = parseDeviceId(body.device_id ?? ids.next('dev_'))
        if (deviceId === undefined) return refused('VALIDATION_FAILED')
        const submitted = await engine.submit(
          deviceId,
          {
            kind: 'register',
            name: body.name,
            type: body.type,
            description: body.description ?? undefined,
            group: body.group ?? undefined,
            tags: unique(body.tags) ?? undefined,
            metadata: body.metadata ?? undefined,
            parentId: body.parent_id ?? undefined,
          },
          user.id,
        )
        return submitted.kind === 'refused' ? submitted : await registeredAnswer(services, submitted.view)
      },
    }),
  ]
}

function readRoutes(services: Services): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: ONE,
      operationId: 'getDevice',
      summary: 'Read a device',
      tag,
      access: ROLES,
      params: DeviceParams,
      replies: { 200: DeviceBody, 304: 'empty' },
      refusals: ['NOT_FOUND'],
      async handle({ params, user, header }) {
        const view = await visible(services.engine, params.device_id, user)
        if (view === undefined) return noSuchDevice()
        const etag = deviceEtag(view)
        if (isFresh(header('if-none-match'), etag)) return answer(304, undefined, { etag: quoted(etag) })
        return deviceAnswer(services, view)
      },
    }),
  ]
}

function changeRoutes(services: Services): readonly Route[] {
  const { engine } = services
  const shared = { tag, path: ONE, access: ['admin'], params: DeviceParams } as const
  const refusals = [
    'NOT_FOUND',
    'IMMUTABLE_FIELD',
    'PRECONDITION_FAILED',
    'DEVICE_DECOMMISSIONED',
    'INVALID_STATE_TRANSITION',
  ] as const
  return [
    route({
      ...shared,
      method: 'PUT',
      operationId: 'replaceDevice',
      summary: 'Replace what may be changed of a device',
      body: ReplaceDeviceBody,
      replies: { 200: DeviceBody },
      refusals,
      handle: ({ params, body, user, header }) =>
        edit(services, { text: params.device_id, body, replace: true, user, ifMatch: header('if-match') }),
    }),
    route({
      ...shared,
      method: 'PATCH',
      operationId: 'editDevice',
      summary: 'Change some of a device, or move its status by hand',
      body: EditDeviceBody,
      bodyTypes: JSON_TYPES,
      replies: { 200: DeviceBody },
      refusals,
      handle: ({ params, body, user, header }) =>
        edit(services, { text: params.device_id, body, replace: false, user, ifMatch: header('if-match') }),
    }),
    route({
      ...shared,
      method: 'DELETE',
      operationId: 'decommissionDevice',
      summary: 'Decommission a device',
      replies: { 200: DeviceBody },
      refusals: ['NOT_FOUND', 'PRECONDITION_FAILED'],
      async handle({ params, user, header }) {
        const view = await visible(engine, params.device_id, user)
        if (view === undefined) return noSuchDevice()
        const { id, revision } = view.device
        if (parseIfMatch(header('if-match'), revision).kind === 'stale')
          return stale(view, header('if-match'))
        const submitted = await engine.submit(id, { kind: 'decommission' }, user.id)
        return submitted.kind === 'refused' ? submitted : deviceAnswer(services, submitted.view)
      },
    }),
  ]
}

interface EditCall {
  readonly text: string
  readonly body: Static<typeof EditDeviceBody>
  readonly replace: boolean
  readonly user: User
  readonly ifMatch: string | undefined
}

async function edit(
  services: Services,
  { text, body, replace, user, ifMatch }: EditCall,
): Promise<Answer | Refusal> {
  const { engine } = services
  const view = await visible(engine, text, user)
  if (view === undefined) return noSuchDevice()
  const refusal = immutableFields(body) ?? metadataTooLarge(body.metadata)
  if (refusal !== undefined) return refusal
  const condition = parseIfMatch(ifMatch, view.device.revision)
  if (condition.kind === 'stale') return stale(view, ifMatch)
  const submitted = await engine.submit(
    view.device.id,
    {
      kind: 'edit',
      replace,
      name: body.name,
      description: body.description,
      group: body.group,
      tags: unique(body.tags),
      metadata: body.metadata,
      // [contract 2.5] Moving the status is what PATCH is for.
      ...(replace ? {} : { status: body.status, statusReason: body.status_reason }),
      // Checked again by the device's actor: another edit may be on its way.
      ifRevision: condition.kind === 'revision' ? condition.revision : undefined,
    },
    user.id,
  )
  return submitted.kind === 'refused' ? submitted : deviceAnswer(services, submitted.view)
}

/** The device, unless it is outside the user's groups: that looks the same as absent. */
async function visible(engine: Engine, text: string, user: User): Promise<DeviceView | undefined> {
  const deviceId = parseDeviceId(text)
  const view = deviceId === undefined ? undefined : await engine.view(deviceId)
  return view !== undefined && isInScope(view.device.group, scopeOf(user)) ? view : undefined
}

/** A device whose live side cannot be asked any more is shown by its record. */
async function viewsOf(engine: Engine, devices: readonly Device[]): Promise<readonly DeviceView[]> {
  const views = await engine.views(devices.map(({ id }) => id))
  return devices.map((device, i) => views[i] ?? recordView(device))
}

function recordView(device: Device): DeviceView {
  return {
    device,
    connected: false,
    connectedSince: undefined,
    connectionReason: undefined,
    sessionId: undefined,
    ip: undefined,
    lastSeenAt: device.seenAt,
    lastTelemetryAt: undefined,
  }
}

async function registeredAnswer(services: Services, view: DeviceView): Promise<Answer> {
  const { id, tokensValidFrom } = view.device
  const { token } = await services.tokens.issueDevice({
    deviceId: id,
    validFrom: tokensValidFrom,
    ttlHours: BODY_LIMITS.deviceTokenHoursMax,
  })
  const body = {
    ...deviceBody(view, services),
    id,
    access_token: token,
    mqtt_topics: { publish: ownFilter(id), subscribe: ownFilter(id) },
    mqtt_endpoint: services.engine.mqttUrl(),
  }
  const headers = { location: `${PATH}/${id}`, etag: quoted(body.etag), 'cache-control': 'no-store' }
  return answer(201, body, headers)
}

function deviceAnswer(services: Services, view: DeviceView): Answer {
  return answer(200, deviceBody(view, services), { etag: quoted(deviceEtag(view)) })
}

/** `sort=name:ASC`; a field alone sorts upwards. */
function parseSort(sort: string | undefined): { readonly sort?: DeviceSort; readonly descending?: boolean } {
  if (sort === undefined) return {}
  const [field, direction = 'asc'] = sort.split(':')
  // The query's schema lets only the names of fields through.
  return { sort: field as DeviceSort, descending: direction.toLowerCase() === 'desc' }
}

function unique<T extends readonly string[] | null | undefined>(tags: T) {
  return Array.isArray(tags) ? [...new Set(tags)] : tags
}

const noSuchDevice = () => refused('NOT_FOUND', { message: 'no such device' })

const stale = (view: DeviceView, got: string | undefined) =>
  refused('PRECONDITION_FAILED', { expected: quoted(deviceEtag(view)), got })

const unknownType = ({ deviceTypes }: Services, place: 'body' | 'query') =>
  invalid('/type', {
    code: 'NOT_ALLOWED',
    message: `must be one of ${[...deviceTypes].join(', ')}`,
    in: place,
  })
