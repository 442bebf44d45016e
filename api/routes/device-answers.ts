// Answers of the routes of a device.
import type { DeviceView } from '../../engine/index.ts'
import { deviceBody, deviceEtag } from '../bodies/device-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { quoted } from '../http/etag.ts'
import type { Services } from '../http/services.ts'

export function deviceAnswer(services: Services, view: DeviceView): Answer {
  return answer(200, deviceBody(view, services), { etag: quoted(deviceEtag(view)) })
}
