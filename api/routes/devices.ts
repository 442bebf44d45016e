// /devices: the records of the fleet. Everyone may read them, and an admin may change them.
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import type { DeviceView, Engine, RequestOutcome } from '../../engine/index.ts'
import type { DeviceSort } from '../../engine/ports/store.ts'
import type { RegisterDeviceBody } from '../../schemas/device.ts'
import { getDevice, listDevices, registerDevice } from '../../schemas/operations/devices.ts'
import { ownFilter } from '../auth/tokens.ts'
import { deviceNotFound, visibleDevice } from '../auth/visible-device.ts'
import { deviceBody, deviceEtag } from '../bodies/device-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { isFresh, quoted } from '../http/etag.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { idFor } from '../http/repeats.ts'
import { type Route, route, type SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import type { Refusal } from '../refusal.ts'
import { deviceAnswer } from './device-answers.ts'
import { refuseParent } from './device-checks.ts'
import { deviceEditRoutes } from './device-edits.ts'
import { toFilter } from './device-filter.ts'
import { firstToken, toRegistration } from './registration.ts'

export function deviceRoutes(services: Services): readonly Route[] {
  return [...collectionRoutes(services), ...readRoutes(services), ...deviceEditRoutes(services)]
}

function collectionRoutes(services: Services): readonly Route[] {
  const { engine } = services
  return [
    route(listDevices, async ({ query, user, url }) => {
      const wanted = toFilter(services, query, user)
      if (wanted.kind === 'refused') return wanted
      const window = toWindow(query)
      const sorting = parseSort(query.sort)
      const found = engine.devices.list(wanted.filter, {
        offset: window.offset,
        limit: window.perPage,
        ...sorting,
      })
      const views = await viewsOf(engine, found.devices)
      return pageAnswer(
        views.map((view) => deviceBody(view, services)),
        found.total,
        window,
        url,
      )
    }),
    route(registerDevice, async ({ body, repeatKey, sign }) => {
      const made = { device_id: idFor(repeatKey, 'dev_', services.ids) }
      const call = { sign, idempotencyKey: repeatKey?.id }
      const first = await registerAs(services, { ...made, ...body }, call)
      // The key produced this id before, but longer ago than keys are remembered.
      const isOld =
        first.kind === 'refused' && first.code === 'ALREADY_EXISTS' && body.device_id === undefined
      const outcome = isOld ? await registerAs(services, body, call) : first
      return outcome.kind === 'refused' ? outcome : await registeredAnswer(services, outcome.view)
    }),
  ]
}

async function registerAs(
  services: Services,
  body: RegisterDeviceBody,
  { sign, idempotencyKey }: Pick<SignedCall, 'sign'> & { readonly idempotencyKey: string | undefined },
): Promise<RequestOutcome | Refusal> {
  const { engine } = services
  const registration = toRegistration(services, body)
  if (registration.kind === 'refused') return registration
  const { deviceId, request } = registration
  const unfit = refuseParent(engine.devices, deviceId, request.parentId)
  if (unfit !== undefined) return unfit
  return await engine.submit(
    deviceId,
    { ...request, idempotencyKey },
    sign({ target: `devices/${deviceId}` }),
  )
}

function readRoutes(services: Services): readonly Route[] {
  return [
    route(getDevice, async ({ params, user, header }) => {
      const view = await visibleDevice(services.engine, params.device_id, user)
      if (view === undefined) return deviceNotFound()
      const etag = deviceEtag(view)
      if (isFresh(header('if-none-match'), etag)) return answer(304, undefined, { etag: quoted(etag) })
      return deviceAnswer(services, view)
    }),
  ]
}

/** A device whose live state can no longer be read is shown by its record. */
async function viewsOf(engine: Engine, devices: readonly DeviceRecord[]): Promise<readonly DeviceView[]> {
  const views = await engine.views(devices.map(({ id }) => id))
  return devices.map((device, i) => views[i] ?? recordView(device))
}

function recordView(device: DeviceRecord): DeviceView {
  return {
    device,
    connected: false,
    connectedSince: undefined,
    connectionReason: undefined,
    sessionId: undefined,
    ip: undefined,
    flapping: false,
    lastSeenAt: device.seenAt,
    lastTelemetryAt: undefined,
  }
}

async function registeredAnswer(services: Services, view: DeviceView): Promise<Answer> {
  const { id } = view.device
  const body = {
    ...deviceBody(view, services),
    id,
    ...(await firstToken(services, view.device)),
    mqtt_topics: { publish: ownFilter(id), subscribe: ownFilter(id) },
    mqtt_endpoint: services.engine.mqttUrl(),
  }
  const headers = {
    location: `${listDevices.path}/${id}`,
    etag: quoted(body.etag),
    'cache-control': 'no-store',
  }
  return answer(201, body, headers)
}

/** Parses `sort=name:ASC`. A field without a direction sorts in ascending order. */
function parseSort(sort: string | undefined): { readonly sort?: DeviceSort; readonly descending?: boolean } {
  if (sort === undefined) return {}
  const [field, direction = 'asc'] = sort.split(':')
  // The query's schema accepts only valid field names.
  return { sort: field as DeviceSort, descending: direction.toLowerCase() === 'desc' }
}
