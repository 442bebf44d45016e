// /device-types: the types that a device may have, with their definitions from the type file.
import { listDeviceTypes } from '../../schemas/operations/devices.ts'
import { DEVICE_TYPES } from '../../schemas/vocabulary.ts'
import { builtInTypeBody, deviceTypeBody } from '../bodies/device-type-body.ts'
import { answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'

export function deviceTypeRoutes({ deviceTypes }: Services): readonly Route[] {
  const data = [
    ...DEVICE_TYPES.map(builtInTypeBody),
    ...Array.from(deviceTypes.defined.values(), deviceTypeBody),
  ]
  return [route(listDeviceTypes, () => answer(200, { data }))]
}
