// /device-types: which types a device may have, and what the type file says of them.
import { DeviceTypeList } from '../../schemas/device-type.ts'
import { DEVICE_TYPES, ROLES } from '../../schemas/vocabulary.ts'
import { builtInTypeBody, deviceTypeBody } from '../bodies/device-type-body.ts'
import { answer } from '../http/answer.ts'
import { API, type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'

export function deviceTypeRoutes({ deviceTypes }: Services): readonly Route[] {
  const data = [
    ...DEVICE_TYPES.map(builtInTypeBody),
    ...Array.from(deviceTypes.defined.values(), deviceTypeBody),
  ]
  return [
    route({
      method: 'GET',
      path: `${API}/device-types`,
      operationId: 'listDeviceTypes',
      summary: 'The device types, built-in ones first',
      tag: 'devices',
      access: ROLES,
      replies: { 200: DeviceTypeList },
      handle: () => answer(200, { data }),
    }),
  ]
}
