// Changes of a device by an admin: replace, edit, decommission.
import type { Static } from 'typebox'
import type { DeviceView } from '../../engine/index.ts'
import type { EditDeviceBody } from '../../schemas/device.ts'
import { decommissionDevice, editDevice, replaceDevice } from '../../schemas/operations/devices.ts'
import { deviceNotFound, visibleDevice } from '../auth/visible-device.ts'
import { deviceEtag } from '../bodies/device-body.ts'
import type { Answer } from '../http/answer.ts'
import { parseIfMatch, quoted } from '../http/etag.ts'
import { type Route, route, type SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'
import { deviceAnswer } from './device-answers.ts'
import { refuseMetadata, unique } from './device-checks.ts'

export function deviceEditRoutes(services: Services): readonly Route[] {
  const { engine } = services
  return [
    route(replaceDevice, ({ params, body, user, header, sign }) =>
      edit(services, {
        text: params.device_id,
        body,
        replace: true,
        user,
        sign,
        ifMatch: header('if-match'),
      }),
    ),
    route(editDevice, ({ params, body, user, header, sign }) =>
      edit(services, {
        text: params.device_id,
        body,
        replace: false,
        user,
        sign,
        ifMatch: header('if-match'),
      }),
    ),
    route(decommissionDevice, async ({ params, query, user, header, sign }) => {
      const view = await visibleDevice(engine, params.device_id, user)
      if (view === undefined) return deviceNotFound()
      const { id, revision, createdAt } = view.device
      const condition = parseIfMatch(header('if-match'), revision)
      if (condition.kind === 'stale') return stale(view, header('if-match'))
      // The device's actor checks this again, because an edit may come first.
      const ifRevision = condition.kind === 'revision' ? condition.revision : undefined
      if (query.purge === true) {
        // Otherwise they would become sub-devices of any gateway that gets the id next.
        const children = engine.devices.subDevices(id).length
        if (children > 0) return refused('HAS_SUB_DEVICES', { sub_devices: children })
        const purged = await engine.purge(id, { createdAt, ifRevision }, sign({ detail: { purge: true } }))
        if (purged.kind === 'refused') return purged
        return deviceAnswer(services, purged.view, purged.isOver ? 200 : 202)
      }
      const submitted = await engine.submit(id, { kind: 'decommission', ifRevision }, sign())
      return submitted.kind === 'refused' ? submitted : deviceAnswer(services, submitted.view)
    }),
  ]
}

interface EditCall extends SignedCall {
  readonly text: string
  readonly body: Static<typeof EditDeviceBody>
  readonly replace: boolean
  readonly ifMatch: string | undefined
}

async function edit(
  services: Services,
  { text, body, replace, user, ifMatch, sign }: EditCall,
): Promise<Answer | Refusal> {
  const { engine } = services
  const view = await visibleDevice(engine, text, user)
  if (view === undefined) return deviceNotFound()
  const refusal = refuseMetadata(body.metadata)
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
      heartbeatTimeoutSec: body.heartbeat_timeout_sec,
      // [contract 2.5] Only PATCH moves the status.
      ...(replace ? {} : { status: body.status, statusReason: body.status_reason }),
      // The device's actor checks this again, because another edit may come first.
      ifRevision: condition.kind === 'revision' ? condition.revision : undefined,
    },
    sign(),
  )
  return submitted.kind === 'refused' ? submitted : deviceAnswer(services, submitted.view)
}

const stale = (view: DeviceView, got: string | undefined) =>
  refused('PRECONDITION_FAILED', { expected: quoted(deviceEtag(view)), got })
