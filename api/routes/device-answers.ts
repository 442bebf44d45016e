// Answers of the device routes.
import type { DeviceView } from '../../engine/index.ts'
import { deviceBody, deviceEtag } from '../bodies/device-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { quoted } from '../http/etag.ts'
import type { Services } from '../http/services.ts'

export function deviceAnswer(services: Services, view: DeviceView, status: 200 | 202 = 200): Answer {
  return answer(status, deviceBody(view, services), { etag: quoted(deviceEtag(view)) })
}
