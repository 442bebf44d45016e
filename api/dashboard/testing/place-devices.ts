import type { Service } from '../../blackbox/testing/service.ts'
import { connectDevice, publish } from '../../blackbox/testing/service-clients.ts'
import type { Rest } from '../../blackbox/testing/service-rest.ts'

/** Each of these devices, which are registered, tells where on the plan it stands, and leaves. */
export async function placeDevices(
  { admin, service }: { readonly admin: Rest; readonly service: Service },
  places: readonly (readonly [id: string, x: number, y: number])[],
): Promise<void> {
  for (const [id, x, y] of places) {
    const { body } = await admin.post('/auth/devices/token', { device_id: id })
    const device = await connectDevice(service, id, String(body['mqtt_token']))
    await publish(device, id, { position: { x, y } })
    await device.endAsync()
  }
}
